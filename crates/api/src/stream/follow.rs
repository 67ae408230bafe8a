//! One client's stream, from its first event to its last.
//!
//! It goes through up to three phases: the snapshot, if it was asked for; catching up, page by page from the log itself; and
//! live, out of its mailbox at the hub. All of it runs in the task of the connection and only when that has room, so a client
//! that takes nothing makes no work. It ends when the client leaves, when the key would not be let in any more, when the
//! server drains, or when more waits for the client than may.
//!
//! While the store is away the stream stays open and heartbeats go on; what was missed meanwhile is told afterwards.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use foreman_core::TenantId;
use foreman_core::document::ResetReason;
use foreman_core::ports::{ChangeRow, StoreError};
use futures_util::Stream;
use rand::RngExt as _;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep};

use super::asked::StreamRequest;
use super::cursor::{LogCursor, RowProgress};
use super::event::{LabelCandidate, Text, View, candidates};
use super::filter::{Rights, StreamFilter};
use super::hub::{Full, Joined, Membership, StreamVisit};
use super::mailbox::{MailboxEnd, MailboxPiece, PieceContent};
use super::snapshot::{Snapshot, SnapshotScene};
use crate::app::App;
use crate::gate::caller::Caller;
use crate::problem::{Kind, Problem};

/// Rows of the log that a client which catches up reads at once.
const PAGE: usize = 100;
/// Before the store is asked again that did not answer.
const AGAIN: Duration = Duration::from_millis(500);
/// Before a page is read again that should have had something.
const MOMENT: Duration = Duration::from_millis(10);
/// How long a client is told to wait before it comes back, in milliseconds.
const RETRY: std::ops::RangeInclusive<u64> = 1_000..=3_000;
/// The same when all of them are sent away at once.
const RETRY_AFTER_DRAIN: std::ops::RangeInclusive<u64> = 1_000..=5_000;

pub(super) struct Following {
    app: App,
    visit: StreamVisit,
    tenant: TenantId,
    filter: Arc<StreamFilter>,
    rights: Rights,
    /// A reset is followed by a snapshot, if one was asked for.
    wants_snapshot: bool,
    /// What has been told.
    cursor: LogCursor,
    phase: Phase,
    /// To be sent before anything else.
    opening: Option<Bytes>,
    heartbeat: Interval,
    /// Ends when the caller would not be let in any more.
    gone: Pin<Box<dyn Future<Output = Problem> + Send>>,
    is_over: bool,
}

enum Phase {
    Snapshot(Snapshot),
    CatchingUp,
    Live {
        membership: Membership,
        /// Taken out of the mailbox, and not told yet: its labels are being asked for.
        undecided: Option<MailboxPiece>,
    },
}

/// What a step of a phase came to.
enum PhaseStep {
    Tell { bytes: Bytes, events: u64 },
    Over(MailboxEnd),
}

impl PhaseStep {
    /// There was nothing to tell.
    const NOTHING: Self = PhaseStep::Tell { bytes: Bytes::new(), events: 0 };
}

impl From<Text> for PhaseStep {
    fn from(text: Text) -> Self {
        PhaseStep::Tell { bytes: Bytes::from(text.bytes), events: text.events }
    }
}

impl Following {
    /// Nothing has been sent yet: what goes wrong here is a problem.
    pub async fn begin(app: App, caller: Caller, asked: StreamRequest, rights: Rights) -> Result<Self, Problem> {
        if app.streams.is_released() {
            return Err(Problem::new(Kind::Stopping, "the server is stopping; connect again in a moment"));
        }
        let visit = app.streams.enter(&caller.tenant).map_err(refused)?;
        let (cursor, reset) = start(&app, asked.after.as_deref()).await?;
        let shows = asked.snapshot && (asked.after.is_none() || reset.is_some() || cursor.told == RowProgress::Unshown);
        let period = app.streams.config().heartbeat;
        let mut heartbeat = interval_at(Instant::now() + period, period);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut following = Self {
            tenant: caller.tenant.clone(),
            gone: Box::pin({
                let app = app.clone();
                async move { app.authenticator().gone(&caller).await }
            }),
            app,
            visit,
            filter: Arc::new(asked.filter),
            rights,
            wants_snapshot: asked.snapshot,
            cursor: if cursor.told == RowProgress::Unshown { LogCursor::whole(cursor.position) } else { cursor },
            phase: if shows { Phase::Snapshot(Snapshot::default()) } else { Phase::CatchingUp },
            opening: None,
            heartbeat,
            is_over: false,
        };
        let mut opening = Text::new(following.visit.hub().cursors());
        opening.retry(rand::rng().random_range(RETRY));
        opening.heartbeat(following.app.clock.now(), following.told());
        if let Some(reason) = reset {
            opening.reset(reason, following.app.clock.now(), following.told());
        }
        following.opening = Some(following.sent(opening));
        Ok(following)
    }

    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        futures_util::stream::unfold(self, async |mut following| {
            let bytes = following.next().await?;
            Some((Ok(bytes), following))
        })
    }

    /// `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(opening) = self.opening.take() {
            return Some(opening);
        }
        let hub = self.visit.hub().clone();
        while !self.is_over {
            let context = PhaseContext {
                app: &self.app,
                visit: &self.visit,
                tenant: &self.tenant,
                filter: &self.filter,
                rights: self.rights,
                wants_snapshot: self.wants_snapshot,
            };
            // First whatever ends it: a client whose key was revoked is told nothing more.
            tokio::select! {
                biased;
                () = hub.released() => {
                    self.is_over = true;
                    let mut farewell = Text::new(hub.cursors());
                    farewell.retry(rand::rng().random_range(RETRY_AFTER_DRAIN));
                    return Some(self.sent(farewell));
                }
                problem = &mut self.gone => {
                    tracing::debug!(target: "foreman::http", "closed a stream: {}", problem.detail);
                    self.is_over = true;
                }
                _ = self.heartbeat.tick() => {
                    if let Some(cursor) = self.phase.cursor() {
                        self.cursor = cursor;
                    }
                    let mut text = Text::new(hub.cursors());
                    text.heartbeat(self.app.clock.now(), self.told());
                    return Some(self.sent(text));
                }
                step = self.phase.step(&mut self.cursor, context) => match step {
                    PhaseStep::Tell { events: 0, .. } => {}
                    PhaseStep::Tell { bytes, events } => {
                        hub.sent(events);
                        return Some(bytes);
                    }
                    PhaseStep::Over(end) => {
                        tracing::debug!(target: "foreman::http", "closed a stream: {end:?}");
                        self.is_over = true;
                    }
                },
            }
        }
        None
    }

    /// The cursor to put on what is no entry of the log.
    fn told(&self) -> LogCursor {
        match self.phase {
            Phase::Snapshot(_) => LogCursor::unshown(self.cursor.position),
            Phase::CatchingUp | Phase::Live { .. } => self.cursor,
        }
    }

    fn sent(&self, text: Text) -> Bytes {
        self.visit.hub().sent(text.events);
        Bytes::from(text.bytes)
    }
}

/// Where to begin, and why not where the client asked for.
async fn start(app: &App, after: Option<&str>) -> Result<(LogCursor, Option<ResetReason>), Problem> {
    let Some(text) = after else { return Ok((now(app).await?, None)) };
    let reason = match app.streams.cursors().decode(text) {
        Err(_) => ResetReason::Unknown,
        Ok(cursor) if cursor.read_after() < app.store.start().await? => ResetReason::Expired,
        Ok(cursor) => {
            // The reader of another process may have been ahead of ours; the log itself knows. By its last row: how far it can be
            // read may have fallen back since the client was told.
            let is_read = app.streams.position().is_some_and(|reader| cursor.position <= reader);
            if is_read || cursor.position <= app.store.last().await? {
                return Ok((cursor, None));
            }
            ResetReason::Unknown
        }
    };
    Ok((now(app).await?, Some(reason)))
}

async fn now(app: &App) -> Result<LogCursor, StoreError> {
    Ok(LogCursor::whole(match app.streams.position() {
        Some(position) => position,
        None => app.store.head().await?,
    }))
}

fn refused(full: Full) -> Problem {
    match full {
        Full::Tenant(_) => Problem::new(Kind::TooManyStreams, format!("{full}; close one you no longer need")),
        Full::Process => Problem::new(Kind::Overloaded, format!("{full}; connect again in a moment")),
    }
}

/// What a phase works with.
struct PhaseContext<'c> {
    app: &'c App,
    visit: &'c StreamVisit,
    tenant: &'c TenantId,
    filter: &'c Arc<StreamFilter>,
    rights: Rights,
    wants_snapshot: bool,
}

impl PhaseContext<'_> {
    fn view(&self) -> View<'_> {
        View { tenant: self.tenant, filter: self.filter, rights: self.rights }
    }

    /// Those whose labels fit.
    async fn decided(&self, candidates: &[LabelCandidate]) -> Result<Text, StoreError> {
        let jobs: Vec<_> = candidates.iter().map(|one| one.moved.id).collect();
        let labels = self.app.labels().of(&jobs).await?;
        let mut text = Text::new(self.visit.hub().cursors());
        for LabelCandidate { moved, cursor } in candidates {
            // A job that is gone matches nothing.
            let known = labels.get(&moved.id);
            if known.is_some_and(|labels| self.filter.takes_labels(labels.kind.as_deref(), &labels.tags)) {
                text.job(moved, *cursor);
            }
        }
        Ok(text)
    }

    async fn rows(&self, rows: &[ChangeRow], cursor: LogCursor) -> Result<Text, StoreError> {
        if self.filter.asks_for_labels() {
            let mut found = Vec::new();
            for row in rows {
                candidates(row, self.view(), cursor.told_of(row), &mut found);
            }
            return self.decided(&found).await;
        }
        let mut text = Text::new(self.visit.hub().cursors());
        for row in rows {
            text.row(row, self.view(), cursor.told_of(row));
        }
        Ok(text)
    }
}

impl Phase {
    /// One step; one that is dropped half way is begun again.
    async fn step(&mut self, cursor: &mut LogCursor, context: PhaseContext<'_>) -> PhaseStep {
        match self.try_step(cursor, context).await {
            Ok(step) => step,
            Err(error) => {
                // The reader of the log says so aloud, once for everyone.
                tracing::debug!("a stream is waiting for the store: {error}");
                sleep(AGAIN).await;
                PhaseStep::NOTHING
            }
        }
    }

    async fn try_step(&mut self, cursor: &mut LogCursor, context: PhaseContext<'_>) -> Result<PhaseStep, StoreError> {
        match self {
            Phase::Snapshot(snapshot) => {
                let scene = SnapshotScene {
                    visit: context.visit,
                    store: context.app.store.as_ref(),
                    cursors: context.visit.hub().cursors(),
                    tenant: context.tenant,
                    filter: context.filter,
                    cursor: *cursor,
                    now: context.app.clock.now(),
                };
                let (text, is_last) = snapshot.next(scene).await?;
                if is_last {
                    *self = Phase::CatchingUp;
                }
                Ok(text.into())
            }
            Phase::CatchingUp => self.catch_up(cursor, context).await,
            Phase::Live { membership, undecided } => {
                if undecided.is_none() {
                    match membership.next().await {
                        Ok(MailboxPiece { what: PieceContent::Text(bytes), events, cursor: after }) => {
                            *cursor = after;
                            return Ok(PhaseStep::Tell { bytes, events });
                        }
                        Ok(piece) => *undecided = Some(piece),
                        Err(end) => return Ok(PhaseStep::Over(end)),
                    }
                }
                let Some(MailboxPiece { what: PieceContent::Candidates(candidates), cursor: after, .. }) = undecided
                else {
                    return Ok(PhaseStep::NOTHING);
                };
                let text = context.decided(candidates).await?;
                *cursor = *after;
                *undecided = None;
                Ok(text.into())
            }
        }
    }

    /// Joins the others, or reads one page of the log.
    async fn catch_up(&mut self, cursor: &mut LogCursor, context: PhaseContext<'_>) -> Result<PhaseStep, StoreError> {
        if !matches!(cursor.told, RowProgress::Entries(_)) {
            match context.visit.join(cursor.position, context.filter, context.rights) {
                Joined::Member(membership) => {
                    *self = Phase::Live { membership, undecided: None };
                    return Ok(PhaseStep::NOTHING);
                }
                Joined::NotYet => {
                    context.visit.hub().reading().await;
                    return Ok(PhaseStep::NOTHING);
                }
                Joined::Behind => {}
            }
        }
        let store = &context.app.store;
        let after = cursor.read_after();
        let page = store.changes(after, PAGE).await?;
        // Asked afterwards: what was there then was not pruned before the page was read.
        if store.start().await? > after {
            return self.reset(cursor, context).await;
        }
        let text = context.rows(&page.rows, *cursor).await?;
        if page.rows.is_empty() {
            sleep(MOMENT).await;
        }
        *cursor = LogCursor::whole(page.position.max(cursor.position));
        Ok(text.into())
    }

    /// What came next has been pruned meanwhile.
    async fn reset(&mut self, cursor: &mut LogCursor, context: PhaseContext<'_>) -> Result<PhaseStep, StoreError> {
        let fresh = now(context.app).await?;
        *cursor = fresh;
        let mut shown = fresh;
        if context.wants_snapshot {
            *self = Phase::Snapshot(Snapshot::default());
            shown = LogCursor::unshown(fresh.position);
        }
        let mut text = Text::new(context.visit.hub().cursors());
        text.reset(ResetReason::Expired, context.app.clock.now(), shown);
        Ok(text.into())
    }

    /// How far a client has come to which nothing is owed, which may be further than the last event it saw.
    fn cursor(&self) -> Option<LogCursor> {
        match self {
            Phase::Live { membership, undecided: None } => membership.cursor(),
            _ => None,
        }
    }
}
