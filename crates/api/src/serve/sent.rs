//! An answer's body that is known to be on its way until the last of it has been sent.
//!
//! hyper takes a body as fast as it is given and, under HTTP/2, keeps what the client's window has no room for: the body is
//! gone long before it is sent. So it is handed over in pieces, and each piece knows when the last reference to its bytes
//! is dropped, which is when they have been written to the socket or the client has gone.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::guard::{Activity, InFlight, Unsent};

/// The payload of a frame of HTTP/2, unless the client asks for larger ones.
const PIECE: usize = 16 * 1024;

pub(super) struct Sent {
    inner: Body,
    activity: Activity,
    /// What was taken out of the body and not handed over yet.
    rest: Bytes,
    /// While the body has nothing to give, the server is answering still; it is not the client that takes its time.
    waiting: Option<InFlight>,
    _unsent: Unsent,
}

impl Sent {
    pub fn new(inner: Body, activity: Activity) -> Self {
        let unsent = activity.send();
        Self { inner, activity, rest: Bytes::new(), waiting: None, _unsent: unsent }
    }

    fn next_piece(&mut self) -> Frame<Bytes> {
        let bytes = self.rest.split_to(self.rest.len().min(PIECE));
        Frame::data(Bytes::from_owner(UnsentPiece { bytes, _unsent: self.activity.send() }))
    }
}

struct UnsentPiece {
    bytes: Bytes,
    _unsent: Unsent,
}

impl AsRef<[u8]> for UnsentPiece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl hyper::body::Body for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(self.next_piece())));
        }
        let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) else {
            if self.waiting.is_none() {
                self.waiting = Some(self.activity.begin());
            }
            return Poll::Pending;
        };
        self.waiting = None;
        Poll::Ready(match frame {
            Some(Ok(frame)) => Some(Ok(match frame.into_data() {
                Ok(data) => {
                    self.rest = data;
                    self.next_piece()
                }
                Err(trailers) => trailers,
            })),
            end => end,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let mut hint = self.inner.size_hint();
        // The upper bound first: the lower one must not pass it.
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(hint.lower() + rest);
        hint
    }
}
