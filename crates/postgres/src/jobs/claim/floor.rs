//! Where claims begin to look: what this process remembers of the lines from one look to the next.
//!
//! What has been claimed leaves dead entries at the beginning of the index until the vacuum takes them away, and that may be
//! long after if somebody keeps a transaction open: 100,000 of them cost a claim 9 ms instead of 0.2. So a scan begins where the
//! first of its line stood a moment ago, or a little below V. Anything further back (left by a pause, by a tenant that had no
//! room, or by workers that could not run it) is found by the scans from the very beginning: one a second, or as seldom as one
//! in [`SELDOM`] where they have become dear, and one more when there seems to be nothing at all. A line in which one of these
//! finds something further back is then looked into from there by every claim, until there is nothing left: otherwise a tenant
//! that was resumed with a backlog would be served with one claim a second.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreman_core::TenantId;
use foreman_core::fair::UNIT;
use foreman_core::job::QueueName;
use foreman_core::target::Route;
use tokio::time::Instant;
use tokio_postgres::Row;

use super::among::Among;
use super::look::{MOST_LINES, SeenLine};
use crate::value::bound;

/// How far below V a scan begins that trusts it: more than are ever on their way at once.
pub(crate) const SLACK: i64 = 4_096 * UNIT;

/// So often a scan begins at the very beginning, or, where that has become dear, so seldom that it takes a small part of the
/// time: with 150,000 dead entries in front it took 109 ms, twice a second, which was a fifth of what a worker did.
const FULL_SCAN: Duration = Duration::from_secs(1);
const SMALL_PART: u32 = 16;

/// So long it may be put off for the sake of a job that somebody waits for.
const PUT_OFF: Duration = Duration::from_secs(4);
const SELDOM: Duration = Duration::from_secs(15);

/// A scan that found nothing is believed, if one from the very beginning was made so shortly before.
const JUST_NOW: Duration = Duration::from_millis(100);

/// Where the first of a line stood is used after so long: until then a job may come that was given its key before. One that takes
/// longer is found by the next scan from the very beginning.
const A_MOMENT: Duration = Duration::from_millis(500);

/// Where the first stood is remembered of so many lines: more than a look goes into. Beyond it, those are forgotten that were
/// seen the longest ago, a quarter at a time.
const FIRSTS: usize = 1_024;

/// So many lines are looked into further back; beyond it, a line waits until another has nothing left there.
const FURTHER: usize = 256;

/// Where one tenant has more lines than a look goes into, a claim takes so many jobs of each rather than a few of very many: a
/// line costs each of its statements as much as several jobs do. With claims of 512 from 1,000 lines it is the difference
/// between 32 lines and 256. Which lines those are goes on from claim to claim. Where tenants compete looks stay broad: one
/// whose lines are seen more often would be served more often.
const JOBS_OF_A_LINE: usize = 16;
/// But into so many at least.
pub(super) const FEWEST_LINES: usize = 32;

/// After so many claims in a row that were full and for one tenant.
const NARROW_AFTER: u32 = 8;

/// After a claim that wanted more of a line than it had looked at, claims look at more for so long.
const LOOK_DEEPER: Duration = Duration::from_secs(1);

/// So often idle lines are marked: where there are many of them, and otherwise.
const MARK_MANY: Duration = Duration::from_secs(5);
const MARK_FEW: Duration = Duration::from_mins(1);

/// How far from V a scan stays that passes somebody over, and so many jobs more as are wanted, up to [`SLACK`].
const NEAR: i64 = 512 * UNIT;

/// A line by its names.
pub(crate) type LineName = (i16, Route, QueueName);

/// Keys of lines, column by column.
#[derive(Default)]
pub(crate) struct LineKeys {
    pub lanes: Vec<i16>,
    pub routes: Vec<String>,
    pub queues: Vec<String>,
    pub keys: Vec<i64>,
}

impl LineKeys {
    fn push(&mut self, (lane, route, queue): &LineName, key: i64) {
        self.lanes.push(*lane);
        self.routes.push(route.as_str().into());
        self.queues.push(queue.as_str().into());
        self.keys.push(key);
    }
}

/// Where looks stopped that could not see every line, column by column.
#[derive(Default)]
pub(crate) struct StopColumns {
    pub lanes: Vec<i16>,
    pub routes: Vec<String>,
    pub queues: Vec<String>,
    pub tenants: Vec<String>,
}

/// After which queue, and after which tenant, the next look goes on.
#[derive(Clone, Default)]
pub(crate) struct StopPlace {
    pub queue: Option<QueueName>,
    pub tenant: Option<TenantId>,
}

/// What is remembered of each kind of look: the first of a line that one of them may take is not another's.
#[derive(Default)]
pub(crate) struct Floors {
    all: Floor,
    unannounced: Floor,
    announceable: Floor,
}

impl Floors {
    pub fn of(&self, among: Among) -> &Floor {
        match among {
            Among::All => &self.all,
            Among::Unannounced => &self.unannounced,
            Among::Announceable => &self.announceable,
        }
    }
}

#[derive(Default)]
pub(crate) struct Floor {
    scanned: Mutex<FullScan>,
    firsts: Mutex<HashMap<LineName, FirstSeen>>,
    further: Mutex<HashMap<LineName, i64>>,
    stops: Mutex<HashMap<(i16, Route), StopPlace>>,
    /// The same for scans from the very beginning.
    full_stops: Mutex<HashMap<(i16, Route), StopPlace>>,
    deeper_until: Mutex<Option<Instant>>,
    /// So many claims in a row found enough, of one tenant, in many lines.
    of_one_tenant: AtomicU32,
    marking: Mutex<Marking>,
    /// A disabled tenant has something waiting, as the last scan from the very beginning saw it.
    passes_disabled: AtomicBool,
}

/// The last scan from the very beginning.
#[derive(Default)]
struct FullScan {
    at: Option<Instant>,
    took: Duration,
}

/// The search for idle lines.
#[derive(Default)]
struct Marking {
    at: Option<Instant>,
    after: Share,
}

/// A tenant's share of a line: lane, route, queue and tenant.
type Share = (i16, String, String, String);

/// Where nothing came before: as it was seen a moment ago, and as it was seen since.
struct FirstSeen {
    trusted: Option<i64>,
    latest: i64,
    at: Instant,
    last_seen: Instant,
}

fn forget_oldest(firsts: &mut HashMap<LineName, FirstSeen>) {
    let mut seen: Vec<Instant> = firsts.values().map(|first| first.last_seen).collect();
    let (_, oldest, _) = seen.select_nth_unstable(FIRSTS / 4);
    let oldest = *oldest;
    firsts.retain(|_, first| first.last_seen > oldest);
}

impl Floor {
    /// Where scans of known lines may begin.
    pub(super) fn firsts(&self) -> LineKeys {
        let mut keys = LineKeys::default();
        for (line, seen) in lock(&self.firsts).iter() {
            let trusted = if seen.at.elapsed() >= A_MOMENT { Some(seen.latest) } else { seen.trusted };
            if let Some(key) = trusted {
                keys.push(line, key);
            }
        }
        keys
    }

    /// The lines that begin further back.
    pub(super) fn further(&self) -> LineKeys {
        let mut keys = LineKeys::default();
        lock(&self.further).iter().for_each(|(line, key)| keys.push(line, *key));
        keys
    }

    /// What a look saw of the lines that have something. Those that it was asked to look into further back, and that are not
    /// among them, have nothing there any more.
    pub(super) fn saw(&self, asked: &LineKeys, lines: &[SeenLine]) {
        let now = Instant::now();
        let mut further = lock(&self.further);
        for ((lane, route), queue) in asked.lanes.iter().zip(&asked.routes).zip(&asked.queues) {
            further.remove(&(*lane, Route::from_stored(route), QueueName::from_stored(queue)));
        }
        let mut firsts = lock(&self.firsts);
        for line in lines {
            let name = line.name();
            if line.first < line.v.saturating_sub(NEAR) {
                firsts.remove(&name);
                if further.len() < FURTHER {
                    further.insert(name, line.first);
                }
                continue;
            }
            // Whoever is passed over now stays where it is, and may be served again at any moment.
            if !line.passes_nobody {
                continue;
            }
            let latest = line.first.min(line.v);
            if firsts.len() >= FIRSTS && !firsts.contains_key(&name) {
                forget_oldest(&mut firsts);
            }
            let seen = firsts.entry(name).or_insert(FirstSeen { trusted: None, latest, at: now, last_seen: now });
            seen.last_seen = now;
            if now.duration_since(seen.at) >= A_MOMENT {
                *seen = FirstSeen { trusted: Some(seen.latest), latest, at: now, last_seen: now };
            }
            // V of a line that was forgotten begins anew.
            seen.trusted = seen.trusted.map(|trusted| trusted.min(latest));
            seen.latest = seen.latest.min(latest);
        }
    }

    fn stops_of(&self, is_full: bool) -> &Mutex<HashMap<(i16, Route), StopPlace>> {
        if is_full { &self.full_stops } else { &self.stops }
    }

    pub(super) fn stops(&self, is_full: bool) -> StopColumns {
        let mut columns = StopColumns::default();
        for ((lane, route), stop) in lock(self.stops_of(is_full)).iter() {
            columns.lanes.push(*lane);
            columns.routes.push(route.as_str().into());
            columns.queues.push(stop.queue.as_ref().map_or_else(String::new, ToString::to_string));
            columns.tenants.push(stop.tenant.as_ref().map_or_else(String::new, ToString::to_string));
        }
        columns
    }

    /// Where a look stopped, of each lane and route; whether there are lines that it has not seen.
    pub(super) fn stopped(&self, at: Vec<((i16, Route), StopPlace)>, is_full: bool) -> bool {
        let mut stops = lock(self.stops_of(is_full));
        let mut has_more = false;
        for (direction, stop) in at {
            has_more |= stop.queue.is_some();
            if stop.queue.is_some() || stop.tenant.is_some() {
                stops.insert(direction, stop);
            } else {
                stops.remove(&direction);
            }
        }
        has_more
    }

    pub(super) fn looks_deeper(&self) -> bool {
        lock(&self.deeper_until).is_some_and(|until| Instant::now() < until)
    }

    /// A claim took all that it had looked at of a line that has more.
    pub(super) fn fell_short(&self) {
        *lock(&self.deeper_until) = Some(Instant::now() + LOOK_DEEPER);
    }

    /// How many lines of each lane and route a look for so many jobs goes into.
    pub(super) fn breadth(&self, wanted: usize) -> i64 {
        let may_be_narrow = self.of_one_tenant.load(Ordering::Relaxed) >= NARROW_AFTER;
        bound(if may_be_narrow { (wanted / JOBS_OF_A_LINE).clamp(FEWEST_LINES, MOST_LINES) } else { MOST_LINES })
    }

    /// What came of a claim among many lines: whether it was full, and all that was seen of one tenant.
    pub(super) fn saw_many(&self, may_be_narrow: bool) {
        if may_be_narrow {
            self.of_one_tenant.fetch_add(1, Ordering::Relaxed);
        } else {
            self.of_one_tenant.store(0, Ordering::Relaxed);
        }
    }

    /// Whether lines are to be marked now; the caller then does.
    pub(crate) fn is_marking_due(&self) -> bool {
        let every = if lock(&self.stops).is_empty() { MARK_FEW } else { MARK_MANY };
        let mut marking = lock(&self.marking);
        // Not with the first claim of all: nothing is known yet, and somebody waits for it.
        let is_due = marking.at.is_some_and(|at| at.elapsed() >= every);
        if is_due || marking.at.is_none() {
            marking.at = Some(Instant::now());
        }
        is_due
    }

    /// After which share the search for idle lines goes on.
    pub(super) fn mark_after(&self) -> Share {
        lock(&self.marking).after.clone()
    }

    /// One step of that search is done; from the end it begins anew.
    pub(super) fn marked(&self, last: Option<&Row>, most: usize) {
        let read = |row: &Row| -> Result<(Share, i64), tokio_postgres::Error> {
            let share = (row.try_get("lane")?, row.try_get("route")?, row.try_get("queue")?, row.try_get("tenant")?);
            Ok((share, row.try_get("looked")?))
        };
        lock(&self.marking).after = match last.map(read) {
            Some(Ok((share, looked))) if looked >= bound(most) => share,
            _ => Share::default(),
        };
    }

    pub(super) fn passes_disabled(&self) -> bool {
        self.passes_disabled.load(Ordering::Relaxed)
    }

    /// What a scan from the very beginning has found out.
    pub(crate) fn scanned(&self, took: Duration, passes_disabled: bool) {
        lock(&self.scanned).took = took;
        self.passes_disabled.store(passes_disabled, Ordering::Relaxed);
    }

    /// The distance below V, or none for the very beginning.
    pub(crate) fn slack(&self) -> Option<i64> {
        if self.is_due(FULL_SCAN) { None } else { Some(SLACK) }
    }

    /// The same for a claim that is likely to need no look, and is then followed by one that does: that one may as well begin at
    /// the very beginning, with nobody waiting for it.
    pub(crate) fn slack_if_expected(&self) -> Option<i64> {
        if self.is_due(PUT_OFF) { None } else { Some(SLACK) }
    }

    /// Whether nothing is to be believed only after another scan, from the very beginning.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.is_due(JUST_NOW)
    }

    /// Whether it is so long since a scan from the very beginning; the caller then makes one.
    fn is_due(&self, after: Duration) -> bool {
        let mut scanned = lock(&self.scanned);
        let after = after.max((scanned.took * SMALL_PART).min(SELDOM));
        let is_due = scanned.at.is_none_or(|time| time.elapsed() >= after);
        if is_due {
            scanned.at = Some(Instant::now());
        }
        is_due
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The part of a line that is scanned, as seen from V; without an end it goes on to the very end of the line.
///
/// A tenant that has no room for another running job, or is disabled, may have a million waiting, and to walk over them takes
/// 280 ms. But whoever else waits has its first job within a job of V, for that is where newcomers are let in, and V moves with
/// those who are served. So where somebody is passed over, a scan stays near V; what lies further off (behind jobs that were
/// cancelled, say) is found by the scans from the very beginning, as [`Floor`] has them made.
pub(super) struct ScanRange {
    pub below: Option<i64>,
    pub beyond: Option<i64>,
}

impl ScanRange {
    pub fn of(slack: Option<i64>, passes_over: bool, wanted: usize) -> Self {
        match slack {
            Some(slack) if passes_over => {
                let wanted = bound(wanted).saturating_mul(UNIT).min(SLACK);
                Self { below: Some(slack.min(NEAR)), beyond: Some(NEAR + wanted) }
            }
            below => Self { below, beyond: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use foreman_core::Lane;
    use tokio::time::advance;

    use super::*;

    fn line(number: usize) -> SeenLine {
        SeenLine {
            lane: Lane::Normal,
            route: Route::http(),
            queue: QueueName::from_stored(&format!("q{number}")),
            v: 0,
            first: 1,
            jobs: Vec::new(),
            is_whole: false,
            passes_nobody: true,
        }
    }

    /// Looks into these lines, as one look after the other would: 256 at a time.
    async fn look(floor: &Floor, lines: std::ops::Range<usize>) {
        for part in lines.collect::<Vec<_>>().chunks(256) {
            floor.saw(&LineKeys::default(), &part.iter().map(|number| line(*number)).collect::<Vec<_>>());
            advance(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn where_the_first_stood_is_remembered_of_more_lines_than_a_look_goes_into() {
        let floor = Floor::default();
        look(&floor, 0..300).await;
        advance(A_MOMENT).await;
        look(&floor, 0..300).await;
        assert_eq!(floor.firsts().queues.len(), 300);
        look(&floor, 300..20_000).await;
        advance(A_MOMENT).await;
        let kept = floor.firsts().queues;
        assert!((FIRSTS / 2..=FIRSTS).contains(&kept.len()), "{} are kept", kept.len());
        assert!(kept.contains(&"q19999".into()) && !kept.contains(&"q299".into()), "the latest");
    }
}
