//! From the one reader of the log to everyone who watches.
//!
//! Clients are kept by tenant: what happens to one costs the others nothing. What the unfiltered clients of a tenant see is
//! written once and shared. Nothing here waits: a client whose mailbox has no room is closed.
//!
//! Joining without a gap: under one lock stands how far the reader has come, and who has joined. A client that stands at or after
//! that position is let in, and is told every row after its own; one that stands before it reads a further page of the log
//! itself and asks again (`follow.rs`). The reader moves its position and hands out what it read under the same lock.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use foreman_core::TenantId;
use foreman_core::ports::{ChangeRow, Changes, Note, Position};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::Config;
use super::cursor::{Cursors, LogCursor};
use super::event::{Text, View, candidates};
use super::filter::{Rights, StreamFilter};
use super::mailbox::{Mailbox, MailboxEnd, MailboxPiece, PieceContent};

/// Where streams are open. Clones are the same hub.
#[derive(Clone)]
pub struct Hub {
    shared: Arc<HubCore>,
}

struct HubCore {
    config: Config,
    cursors: Cursors,
    inside: Mutex<HubState>,
    /// Whether the reader reads.
    reading: watch::Sender<bool>,
    /// Rung when somebody begins to watch.
    someone: Arc<Notify>,
    released: CancellationToken,
    events: AtomicU64,
    slow: AtomicU64,
}

#[derive(Default)]
struct HubState {
    /// How far the reader has come; none while it does not read.
    reader: Option<Position>,
    /// Streams that are open, whether or not they have caught up.
    open: usize,
    audiences: HashMap<TenantId, Audience>,
    next: u64,
}

/// One tenant's.
struct Audience {
    open: usize,
    /// One snapshot at a time: each reads pages of jobs.
    snapshots: Arc<Semaphore>,
    members: HashMap<u64, Arc<AudienceMember>>,
}

impl Default for Audience {
    fn default() -> Self {
        Self { open: 0, snapshots: Arc::new(Semaphore::new(1)), members: HashMap::new() }
    }
}

/// One client that has caught up.
struct AudienceMember {
    filter: Arc<StreamFilter>,
    rights: Rights,
    /// It has had everything up to here.
    after: Position,
    mailbox: Mailbox,
}

/// What has been served so far, for the metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// Streams open now.
    pub open: usize,
    /// Events sent.
    pub events: u64,
    /// Clients closed because they did not keep up.
    pub slow: u64,
}

/// Why no further stream is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Full {
    #[error("the tenant has {0} open streams on this server, which is the limit")]
    Tenant(usize),
    #[error("this server has reached its limit of open streams")]
    Process,
}

/// What became of an attempt to join.
pub(super) enum Joined {
    Member(Membership),
    /// The reader is further: read on.
    Behind,
    /// Nobody reads yet.
    NotYet,
}

impl Hub {
    pub(crate) fn new(config: Config, cursors: Cursors, someone: Arc<Notify>, released: CancellationToken) -> Self {
        Self {
            shared: Arc::new(HubCore {
                config,
                cursors,
                inside: Mutex::default(),
                reading: watch::Sender::new(false),
                someone,
                released,
                events: AtomicU64::new(0),
                slow: AtomicU64::new(0),
            }),
        }
    }

    pub fn counts(&self) -> StreamCounts {
        StreamCounts {
            open: self.lock().open,
            events: self.shared.events.load(Ordering::Relaxed),
            slow: self.shared.slow.load(Ordering::Relaxed),
        }
    }

    /// Whether anybody is read the log for.
    pub fn is_reading(&self) -> bool {
        self.lock().reader.is_some()
    }

    pub(super) fn config(&self) -> &Config {
        &self.shared.config
    }

    pub(super) fn cursors(&self) -> &Cursors {
        &self.shared.cursors
    }

    pub(super) fn sent(&self, events: u64) {
        self.shared.events.fetch_add(events, Ordering::Relaxed);
    }

    /// The server drains, or its reader is gone.
    pub(super) async fn released(&self) {
        self.shared.released.cancelled().await;
    }

    pub(super) fn is_released(&self) -> bool {
        self.shared.released.is_cancelled()
    }

    /// Until the reader reads.
    pub(super) async fn reading(&self) {
        // The sender lives in `self`, so this ends only with a `true`.
        let _ = self.shared.reading.subscribe().wait_for(|is_reading| *is_reading).await;
    }

    /// How far the reader has come, while it reads.
    pub(crate) fn position(&self) -> Option<Position> {
        self.lock().reader
    }

    /// Opens a stream; it is counted until the visit is dropped.
    pub(super) fn enter(&self, tenant: &TenantId) -> Result<StreamVisit, Full> {
        {
            let mut inside = self.lock();
            if inside.open >= self.shared.config.per_process {
                return Err(Full::Process);
            }
            let open = inside.audiences.get(tenant).map_or(0, |audience| audience.open);
            if open >= self.shared.config.per_tenant {
                return Err(Full::Tenant(open));
            }
            inside.open += 1;
            inside.audiences.entry(tenant.clone()).or_default().open += 1;
        }
        self.shared.someone.notify_one();
        Ok(StreamVisit { hub: self.clone(), tenant: tenant.clone() })
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.lock().open > 0
    }

    /// The reader begins, at this position.
    pub(crate) fn begin(&self, position: Position) {
        self.lock().reader = Some(position);
        self.shared.reading.send_replace(true);
    }

    /// The reader stops, unless somebody watches. Whoever comes later finds that nobody reads, and rings.
    pub(crate) fn rest(&self) -> bool {
        let mut inside = self.lock();
        if inside.open > 0 {
            return false;
        }
        inside.reader = None;
        self.shared.reading.send_replace(false);
        true
    }

    /// The reader cannot go on where it was: everyone comes back with their cursor, and learns it there.
    pub(crate) fn lose(&self) {
        let mut inside = self.lock();
        inside.reader = None;
        self.shared.reading.send_replace(false);
        for audience in inside.audiences.values_mut() {
            audience.members.drain().for_each(|(_, member)| member.mailbox.close(MailboxEnd::Lost));
        }
    }

    /// The reader has come further, and this is what it read.
    pub(crate) fn tell(&self, changes: &Changes) {
        let mut inside = self.lock();
        inside.reader = Some(changes.position);
        if inside.open == 0 || changes.rows.is_empty() {
            return;
        }
        let page = ChangePage::new(changes, &inside.audiences);
        let mut slow = 0;
        for (tenant, audience) in &mut inside.audiences {
            slow += audience.tell(tenant, &page, &self.shared.config, &self.shared.cursors);
        }
        self.shared.slow.fetch_add(slow, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, HubState> {
        // Nothing in here can panic half way through a change.
        self.shared.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was read at once, sorted by whom it concerns.
struct ChangePage<'p> {
    by_tenant: HashMap<&'p TenantId, Vec<&'p ChangeRow>>,
    /// Rows that tell of workers: the operators', whatever tenant they look at.
    of_workers: Vec<&'p ChangeRow>,
    end: Position,
}

impl<'p> ChangePage<'p> {
    fn new(changes: &'p Changes, audiences: &HashMap<TenantId, Audience>) -> Self {
        let mut page = Self { by_tenant: HashMap::new(), of_workers: Vec::new(), end: changes.position };
        for row in &changes.rows {
            let tenants = row.moved.iter().map(|moved| &moved.tenant).chain(row.notes.iter().filter_map(Note::tenant));
            let mut last = None;
            for tenant in tenants {
                // The moves of one tenant mostly follow each other.
                if last.replace(tenant) != Some(tenant) && audiences.contains_key(tenant) {
                    page.add(tenant, row);
                }
            }
            if row.notes.iter().any(|note| matches!(note, Note::Worker { .. })) {
                page.of_workers.push(row);
            }
        }
        page
    }

    fn add(&mut self, tenant: &'p TenantId, row: &'p ChangeRow) {
        let rows = self.by_tenant.entry(tenant).or_default();
        if rows.last().is_none_or(|last| last.position != row.position) {
            rows.push(row);
        }
    }

    /// The rows that a tenant's clients look at, in order.
    fn rows(&self, tenant: &TenantId, with_workers: bool) -> Vec<&'p ChangeRow> {
        let mut rows = self.by_tenant.get(tenant).cloned().unwrap_or_default();
        if with_workers && !self.of_workers.is_empty() {
            rows.extend(&self.of_workers);
            rows.sort_unstable_by_key(|row| row.position);
            rows.dedup_by_key(|row| row.position);
        }
        rows
    }
}

impl Audience {
    /// Answers how many did not keep up.
    fn tell(&mut self, tenant: &TenantId, page: &ChangePage<'_>, config: &Config, cursors: &Cursors) -> u64 {
        let with_workers = self.members.values().any(|member| member.rights.workers);
        let rows = page.rows(tenant, with_workers);
        let Some(first) = rows.first().map(|row| row.position) else { return 0 };
        let mut shared: [Option<Option<MailboxPiece>>; Rights::COUNT] = Default::default();
        let before = self.members.len();
        self.members.retain(|_, member| {
            let view = View { tenant, filter: &member.filter, rights: member.rights };
            let piece = if member.filter.is_open() && member.after < first {
                shared[member.rights.index()].get_or_insert_with(|| text(&rows, view, page.end, cursors)).clone()
            } else {
                let unread = &rows[rows.partition_point(|row| row.position <= member.after)..];
                if member.filter.asks_for_labels() {
                    undecided(unread, view, page.end)
                } else {
                    text(unread, view, page.end, cursors)
                }
            };
            piece.is_none_or(|piece| member.mailbox.put(piece, config))
        });
        (before - self.members.len()) as u64
    }
}

fn text(rows: &[&ChangeRow], view: View<'_>, end: Position, cursors: &Cursors) -> Option<MailboxPiece> {
    let mut text = Text::new(cursors);
    for row in rows {
        text.row(row, view, 0);
    }
    let Text { bytes, events, .. } = text;
    (events > 0).then(|| MailboxPiece {
        what: PieceContent::Text(Bytes::from(bytes)),
        events,
        cursor: LogCursor::whole(end),
    })
}

fn undecided(rows: &[&ChangeRow], view: View<'_>, end: Position) -> Option<MailboxPiece> {
    let mut found = Vec::new();
    for row in rows {
        candidates(row, view, 0, &mut found);
    }
    (!found.is_empty()).then(|| MailboxPiece {
        what: PieceContent::Candidates(found),
        events: 0,
        cursor: LogCursor::whole(end),
    })
}

/// A stream that is open; it is counted until this is dropped.
pub(super) struct StreamVisit {
    hub: Hub,
    tenant: TenantId,
}

impl StreamVisit {
    /// Until no other stream of the tenant is shown its snapshot.
    pub(super) async fn snapshot_turn(&self) -> Option<OwnedSemaphorePermit> {
        let snapshots = self.hub.lock().audiences.get(&self.tenant).map(|audience| Arc::clone(&audience.snapshots))?;
        snapshots.acquire_owned().await.ok()
    }

    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// From now on told everything after `after`, if the reader is not further already.
    pub fn join(&self, after: Position, filter: &Arc<StreamFilter>, rights: Rights) -> Joined {
        let mut inside = self.hub.lock();
        match inside.reader {
            None => return Joined::NotYet,
            Some(reader) if reader > after => return Joined::Behind,
            Some(_) => {}
        }
        inside.next += 1;
        let number = inside.next;
        let (filter, mailbox) = (Arc::clone(filter), Mailbox::default());
        let member = Arc::new(AudienceMember { filter, rights, after, mailbox });
        let audience = inside.audiences.entry(self.tenant.clone()).or_default();
        audience.members.insert(number, Arc::clone(&member));
        Joined::Member(Membership { hub: self.hub.clone(), tenant: self.tenant.clone(), number, member })
    }
}

impl Drop for StreamVisit {
    fn drop(&mut self) {
        let mut inside = self.hub.lock();
        inside.open -= 1;
        if let Some(audience) = inside.audiences.get_mut(&self.tenant) {
            audience.open -= 1;
            if audience.open == 0 {
                inside.audiences.remove(&self.tenant);
            }
        }
    }
}

/// A client that has caught up; forgotten when dropped.
pub(super) struct Membership {
    hub: Hub,
    tenant: TenantId,
    number: u64,
    member: Arc<AudienceMember>,
}

impl Membership {
    pub async fn next(&self) -> Result<MailboxPiece, MailboxEnd> {
        self.member.mailbox.next().await
    }

    /// How far a client has come that has dealt with everything it was given, if nothing waits for it.
    pub fn cursor(&self) -> Option<LogCursor> {
        // In this order: what the reader had come to by then was in the mailbox by then.
        let position = self.hub.position()?;
        self.member.mailbox.is_empty().then(|| LogCursor::whole(position.max(self.member.after)))
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        if let Some(audience) = self.hub.lock().audiences.get_mut(&self.tenant) {
            audience.members.remove(&self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use foreman_core::job::QueueName;
    use foreman_core::ports::{Moved, SessionState, Step};
    use foreman_core::{JobId, SessionId, State, Timestamp};
    use futures_util::FutureExt as _;

    use super::*;

    const BOTH: Rights = Rights { schedules: true, workers: true };
    const NEITHER: Rights = Rights { schedules: false, workers: false };

    fn hub() -> Hub {
        Hub::new(Config::default(), cursors(), Arc::new(Notify::new()), CancellationToken::new())
    }

    fn cursors() -> Cursors {
        Cursors::new(None, &crate::gate::keys::KeyPolicy::None)
    }

    fn row(position: i64, tenants: &[&str]) -> ChangeRow {
        let (at, step) =
            (Timestamp::from_micros(1), Step { state: State::Pending, attempt: 0, sequence: 1, took: None });
        let moved = |tenant: &&str| Moved {
            id: JobId::fresh(),
            tenant: TenantId::new(*tenant),
            queue: QueueName::default(),
            at,
            step,
        };
        let moved = tenants.iter().map(moved).collect();
        ChangeRow { position: Position(position), at, moved, notes: Vec::new() }
    }

    fn page(rows: Vec<ChangeRow>) -> Changes {
        Changes { position: rows.last().expect("a row").position, rows, is_full: false }
    }

    fn joined(visit: &StreamVisit, after: i64, rights: Rights) -> Membership {
        match visit.join(Position(after), &Arc::new(StreamFilter::default()), rights) {
            Joined::Member(membership) => membership,
            Joined::Behind | Joined::NotYet => panic!("not let in"),
        }
    }

    /// The positions that a client was told of so far.
    fn told(membership: &Membership) -> Vec<i64> {
        let mut found = Vec::new();
        while let Some(Ok(piece)) = membership.next().now_or_never() {
            found.extend(positions(piece));
        }
        found
    }

    fn positions(piece: MailboxPiece) -> Vec<i64> {
        let PieceContent::Text(bytes) = piece.what else { panic!("undecided") };
        let text = std::str::from_utf8(&bytes).expect("text");
        let ids = text.lines().filter_map(|line| line.strip_prefix("id: "));
        ids.map(|id| cursors().decode(id).expect("a cursor").position.0).collect()
    }

    #[test]
    fn one_is_let_in_where_the_reader_stands_or_later_and_nowhere_else() {
        let hub = hub();
        let visit = hub.enter(&TenantId::new("a")).expect("room");
        let filter = Arc::new(StreamFilter::default());
        assert!(matches!(visit.join(Position(0), &filter, BOTH), Joined::NotYet));
        hub.begin(Position(5));
        assert!(matches!(visit.join(Position(4), &filter, BOTH), Joined::Behind));
        let (here, ahead) = (joined(&visit, 5, BOTH), joined(&visit, 7, BOTH));
        hub.tell(&page((6..=9).map(|position| row(position, &["a"])).collect()));
        assert_eq!((told(&here), told(&ahead)), (vec![6, 7, 8, 9], vec![8, 9]));
        assert_eq!(here.cursor(), Some(LogCursor::whole(Position(9))));
    }

    #[test]
    fn tenants_cost_each_other_nothing_and_the_same_is_written_once() {
        let hub = hub();
        hub.begin(Position(0));
        let (a, b) = (hub.enter(&TenantId::new("a")).expect("room"), hub.enter(&TenantId::new("b")).expect("room"));
        let members = [joined(&a, 0, BOTH), joined(&a, 0, BOTH), joined(&b, 0, BOTH), joined(&b, 0, NEITHER)];
        hub.tell(&page(vec![row(1, &["a", "c", "a"]), row(2, &["c"])]));
        let pieces: Vec<_> = members.iter().map(|member| member.next().now_or_never()).collect();
        let text = |index: usize| match &pieces[index] {
            Some(Ok(MailboxPiece { what: PieceContent::Text(bytes), events: 2, .. })) => bytes.as_ptr(),
            other => panic!("{other:?}"),
        };
        assert_eq!(text(0), text(1), "the very same bytes");
        assert!(pieces[2].is_none() && pieces[3].is_none());
        // Who sees nothing of it has come as far all the same.
        assert_eq!(members[2].cursor(), Some(LogCursor::whole(Position(2))));
        // Workers are the operators', whichever tenant they look at.
        let note = Note::Worker { session: SessionId::fresh(), worker: "w".into(), state: SessionState::Live };
        hub.tell(&page(vec![ChangeRow { notes: vec![note], ..row(3, &[]) }, row(4, &["b"])]));
        let all: Vec<_> = members.iter().map(told).collect();
        assert_eq!(all, [vec![3], vec![3], vec![3, 4], vec![4]]);
    }

    #[test]
    fn one_that_takes_nothing_is_counted_once_and_is_in_nobodys_way() {
        let hub = hub();
        hub.begin(Position(0));
        let visit = hub.enter(&TenantId::new("a")).expect("room");
        let (slow, quick) = (joined(&visit, 0, BOTH), joined(&visit, 0, BOTH));
        for position in 1..=400 {
            hub.tell(&page(vec![row(position, &["a"])]));
            assert_eq!(told(&quick), [position]);
        }
        assert!(matches!(slow.next().now_or_never(), Some(Err(MailboxEnd::Overfull))));
        assert_eq!((hub.counts().slow, slow.cursor()), (1, None));
        drop((slow, quick, visit));
        assert_eq!(hub.counts(), StreamCounts { open: 0, events: 0, slow: 1 });
        assert!(hub.lock().audiences.is_empty());
    }

    #[test]
    fn whoever_joins_while_the_reader_reads_misses_nothing_and_hears_nothing_twice() {
        const ROWS: i64 = 3_000;
        let hub = hub();
        hub.begin(Position(0));
        let log: Mutex<Vec<ChangeRow>> = Mutex::default();
        let read = |after: i64| -> Vec<ChangeRow> {
            let log = log.lock().expect("whole");
            log.iter().skip(usize::try_from(after).expect("a position")).take(7).cloned().collect()
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                for position in 1..=ROWS {
                    log.lock().expect("whole").push(row(position, &["a"]));
                    thread::yield_now();
                }
            });
            scope.spawn(|| {
                let mut position = 0;
                while position < ROWS {
                    let rows = read(position);
                    if let Some(last) = rows.last() {
                        position = last.position.0;
                        hub.tell(&page(rows));
                    }
                }
            });
            for _ in 0..3 {
                scope.spawn(|| {
                    let visit = hub.enter(&TenantId::new("a")).expect("room");
                    let mut seen: Vec<i64> = Vec::new();
                    while seen.last() != Some(&ROWS) {
                        let after = seen.last().copied().unwrap_or_default();
                        match visit.join(Position(after), &Arc::new(StreamFilter::default()), BOTH) {
                            // Leaves as soon as it has heard something, or was closed for being slow.
                            Joined::Member(membership) => loop {
                                match membership.next().now_or_never() {
                                    Some(Ok(piece)) => break seen.extend(positions(piece)),
                                    Some(Err(_)) => break,
                                    None => thread::yield_now(),
                                }
                            },
                            Joined::Behind => seen.extend(read(after).iter().map(|row| row.position.0)),
                            Joined::NotYet => panic!("it reads"),
                        }
                    }
                    assert!(seen.windows(2).all(|two| two[1] == two[0] + 1) && seen[0] == 1, "a gap or a repetition");
                });
            }
        });
    }
}
