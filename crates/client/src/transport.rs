//! Another way to a server than the network.

use std::pin::Pin;

use http::{Request, Response};

/// The response of a [`Transport`], or why there was none.
pub type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response<Vec<u8>>, String>> + Send>>;

/// Carries requests to a server that is reached without a connection, such as one inside this process.
pub trait Transport: Send + Sync {
    /// Sends a request with its whole body and returns the whole response.
    fn send(&self, request: Request<Vec<u8>>) -> ResponseFuture;
}
