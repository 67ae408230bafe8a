//! The one door in, as the API sees it: the engine's coalescer stands behind it.

use async_trait::async_trait;

use super::StoreError;
use super::jobs::Submitted;
use crate::job::NewJob;

#[async_trait]
pub trait Submit: Send + Sync {
    /// Accepts jobs durably; answers after their own commit, in the order given. The jobs stay accepted when the caller
    /// goes away before the answer.
    async fn submit(&self, jobs: Vec<NewJob>) -> Result<Vec<Submitted>, SubmitError>;
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum SubmitError {
    /// Nothing was accepted: intake is closed.
    #[error("the server is stopping and accepts no more jobs")]
    Closed,
    /// Nothing was accepted: more is waiting to be written than the store can take.
    #[error("too many submissions are waiting to be written")]
    Overloaded,
    #[error(transparent)]
    Store(#[from] StoreError),
}
