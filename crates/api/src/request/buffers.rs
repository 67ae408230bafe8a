//! How much of requests and answers one process has in memory at once, and how much of that one tenant may have.
//!
//! A body counts from its first byte until its request is answered: meanwhile it is there several times over, as it was sent, as
//! jobs, and as what is written down. An answer counts until the client has taken the last of it, which a slow one may put off for
//! minutes. What is [small](SMALL) does not count: connections are limited in number. A body that finds no room waits for a moment and
//! is then refused with a `Retry-After`; an answer to a question is refused at once. One tenant can take half, so that there is room
//! for another.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use foreman_core::TenantId;
use hyper::body::{Body as _, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::problem::{Kind, Problem};

/// Bodies and answers up to this do not count.
pub(crate) const SMALL: usize = 16 * 1024;

/// Room for bytes. Clones are the same room.
#[derive(Clone)]
pub(crate) struct Buffers(Arc<BufferPool>);

struct BufferPool {
    whole: usize,
    share: usize,
    used: Mutex<Used>,
    freed: Notify,
}

#[derive(Default)]
struct Used {
    bytes: usize,
    by_tenant: HashMap<TenantId, usize>,
}

impl Buffers {
    /// Room for `whole` bytes, of which one tenant may have half, or the `largest` that there may be.
    pub fn new(whole: usize, largest: usize) -> Self {
        let (whole, share) = (whole.max(largest), (whole / 2).max(largest));
        Self(Arc::new(BufferPool { whole, share, used: Mutex::default(), freed: Notify::new() }))
    }

    /// What one tenant may have.
    pub fn share(&self) -> usize {
        self.0.share
    }

    pub fn try_take(&self, tenant: &TenantId, bytes: usize) -> Option<BufferLoan> {
        let mut taken = BufferLoan { buffers: self.clone(), tenant: tenant.clone(), bytes: 0 };
        taken.grow(bytes).then_some(taken)
    }

    /// For what is in memory already, whether there is room or not.
    fn take_beyond(&self, tenant: &TenantId, bytes: usize) -> BufferLoan {
        let mut taken = BufferLoan { buffers: self.clone(), tenant: tenant.clone(), bytes: 0 };
        taken.add(&mut self.used(), bytes);
        taken
    }

    /// The same, waiting for `patience` for others to give theirs back.
    pub async fn take(&self, tenant: &TenantId, bytes: usize, patience: Duration) -> Option<BufferLoan> {
        let end = Instant::now() + patience;
        loop {
            // Listening before looking, so that what is given back in between is heard of.
            let mut freed = std::pin::pin!(self.0.freed.notified());
            freed.as_mut().enable();
            if let Some(taken) = self.try_take(tenant, bytes) {
                return Some(taken);
            }
            timeout_at(end, freed).await.ok()?;
        }
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        // Nothing in here can panic half way through a change.
        self.0.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that are in memory; given back when dropped.
pub(crate) struct BufferLoan {
    buffers: Buffers,
    tenant: TenantId,
    bytes: usize,
}

impl BufferLoan {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes so many more, if there is room.
    pub fn grow(&mut self, more: usize) -> bool {
        let buffers = self.buffers.clone();
        let BufferPool { whole, share, .. } = &*buffers.0;
        let mut used = buffers.used();
        let own = used.by_tenant.get(&self.tenant).copied().unwrap_or_default();
        if used.bytes + more > *whole || own + more > *share {
            return false;
        }
        self.add(&mut used, more);
        true
    }

    fn add(&mut self, used: &mut Used, more: usize) {
        if more > 0 {
            used.bytes += more;
            *used.by_tenant.entry(self.tenant.clone()).or_default() += more;
            self.bytes += more;
        }
    }
}

impl Drop for BufferLoan {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        {
            let mut used = self.buffers.used();
            used.bytes -= self.bytes;
            if let Some(own) = used.by_tenant.get_mut(&self.tenant) {
                *own -= self.bytes;
                if *own == 0 {
                    used.by_tenant.remove(&self.tenant);
                }
            }
        }
        self.buffers.0.freed.notify_waiters();
    }
}

/// Bytes with whatever they hold on to.
pub(crate) struct Holding<T> {
    bytes: Bytes,
    _held: T,
}

impl<T: Send + Sync + 'static> Holding<T> {
    pub fn bytes(bytes: Bytes, held: T) -> Bytes {
        Bytes::from_owner(Self { bytes, _held: held })
    }
}

impl<T> AsRef<[u8]> for Holding<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// What is answered instead where there is no room for the whole.
#[derive(Clone)]
pub(crate) struct Short(pub Bytes);

/// Room for an answer, taken before anything was done.
#[derive(Clone)]
pub(crate) struct AnswerRoom(Arc<BufferLoan>);

impl AnswerRoom {
    /// For an answer of about this size. A small one needs none.
    pub async fn make(buffers: &Buffers, tenant: &TenantId, bytes: usize) -> Result<Self, Problem> {
        let taken = match bytes {
            0..=SMALL => Some(buffers.take_beyond(tenant, 0)),
            _ => buffers.take(tenant, bytes.min(buffers.share()), PATIENCE).await,
        };
        taken.map(|taken| Self(Arc::new(taken))).ok_or_else(no_room)
    }
}

/// How long a change waits for room for its answer.
const PATIENCE: Duration = Duration::from_secs(5);

fn no_room() -> Problem {
    let refusal = "the responses that this tenant's clients have not read yet have reached the memory limit; read \
                   them, and send the request again";
    Problem::new(Kind::Overloaded, refusal)
}

/// An answer that counts until the client has taken the last of it, or has gone. With it goes whatever else ends then. Where there is no
/// room, a question is refused. A change is not, for it has been made: its answer is [`Short`], or has its [`AnswerRoom`], or is of a
/// kind that is never large, and counts beyond the limit.
pub(crate) fn counted<T: Send + Sync + 'static>(
    mut response: Response,
    is_change: bool,
    buffers: &Buffers,
    tenant: &TenantId,
    until_sent: T,
) -> Response {
    let size = response.body().size_hint().exact().and_then(|size| usize::try_from(size).ok()).unwrap_or_default();
    let (short, reserved) =
        (response.extensions_mut().remove::<Short>(), response.extensions_mut().remove::<AnswerRoom>());
    let mut taken = None;
    if size > SMALL {
        let more = size.saturating_sub(reserved.as_ref().map_or(0, |reserved| reserved.0.bytes()));
        taken = buffers.try_take(tenant, more);
        match (&taken, short) {
            (Some(_), _) => {}
            (None, _) if !is_change => return no_room().into_response(),
            (None, Some(Short(short))) => *response.body_mut() = Body::from(short),
            (None, None) => taken = Some(buffers.take_beyond(tenant, more)),
        }
    }
    response.map(|inner| Body::new(CountedBody { inner, held: Arc::new((taken, reserved, until_sent)) }))
}

struct CountedBody<T> {
    inner: Body,
    held: Arc<T>,
}

impl<T: Send + Sync + 'static> hyper::body::Body for CountedBody<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let held = Arc::clone(&self.held);
        Pin::new(&mut self.inner).poll_frame(cx).map_ok(|frame| frame.map_data(|bytes| Holding::bytes(bytes, held)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_tenant_takes_half_and_leaves_room_for_another() {
        let (buffers, ours, theirs) = (Buffers::new(100, 10), TenantId::new("ours"), TenantId::new("theirs"));
        let mut first = buffers.try_take(&ours, 30).expect("room");
        assert!(first.grow(20) && !first.grow(1));
        assert!(buffers.try_take(&ours, 1).is_none());
        let second = buffers.try_take(&theirs, 50).expect("room");
        assert!(buffers.try_take(&TenantId::new("third"), 1).is_none(), "all is taken");
        drop(second);
        assert!(buffers.try_take(&theirs, 50).is_some(), "and given back");
    }

    #[tokio::test]
    async fn the_largest_that_there_may_be_always_fits() {
        let buffers = Buffers::new(10, 100);
        assert!(buffers.try_take(&TenantId::default(), 100).is_some());
    }

    #[tokio::test]
    async fn whoever_waits_gets_what_is_given_back() {
        let (buffers, ours) = (Buffers::new(100, 10), TenantId::default());
        let taken = buffers.try_take(&ours, 50).expect("room");
        assert!(buffers.take(&ours, 1, Duration::from_millis(1)).await.is_none(), "not for ever");
        let wait = buffers.take(&ours, 50, Duration::from_mins(1));
        let (got, ()) = tokio::join!(wait, async { drop(taken) });
        assert_eq!(got.map(|got| got.bytes()), Some(50));
    }

    #[tokio::test]
    async fn an_answer_counts_until_its_last_byte_is_dropped() {
        let (buffers, ours) = (Buffers::new(100_000, 10), TenantId::default());
        let answer = || counted(Response::new(Body::from(vec![0_u8; 40_000])), false, &buffers, &ours, ());
        let mut body = answer().into_body();
        let frame = http_body_util::BodyExt::frame(&mut body).await.expect("a frame").expect("no error");
        let bytes = frame.into_data().expect("data").slice(1..2);
        drop(body);
        assert_eq!(answer().status(), 503, "a piece of it is still there");
        drop(bytes);
        assert_eq!(answer().status(), 200);
    }

    #[tokio::test]
    async fn a_change_that_was_made_is_not_answered_with_a_refusal() {
        let (buffers, ours) = (Buffers::new(100_000, 10), TenantId::default());
        let large = || Response::new(Body::from(vec![0_u8; 40_000]));
        let untaken = counted(large(), false, &buffers, &ours, ());
        let mut with_short = large();
        with_short.extensions_mut().insert(Short(Bytes::from_static(b"{}")));
        let short = counted(with_short, true, &buffers, &ours, ());
        assert_eq!((short.status().as_u16(), short.body().size_hint().exact()), (200, Some(2)));
        let whole = counted(large(), true, &buffers, &ours, ());
        assert_eq!((whole.status().as_u16(), whole.body().size_hint().exact()), (200, Some(40_000)));
        assert!(AnswerRoom::make(&buffers, &ours, 40_000).await.is_err(), "before it is made, it can be refused");
        assert!(AnswerRoom::make(&buffers, &ours, SMALL).await.is_ok(), "a small one always has room");
        drop((untaken, whole));
        let mut reserved = large();
        reserved.extensions_mut().insert(AnswerRoom::make(&buffers, &ours, 40_000).await.expect("room"));
        let reserved = counted(reserved, true, &buffers, &ours, ());
        assert!(buffers.try_take(&ours, 10_001).is_none(), "it counts");
        drop(reserved);
        assert!(buffers.try_take(&ours, 50_000).is_some(), "until it is taken");
    }
}
