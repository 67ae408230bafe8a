//! What the charts show of the time before the demo was started: made up, by the same counting as what is real.
//!
//! A day of moves is drawn minute by minute, with a wave over the hours that ends where the demo begins, and one bad half hour, and booked in one transaction that
//! moves nobody's place in the log. It is left alone when there are numbers of that time already: of an earlier start, or
//! real ones.

use std::time::Duration;

use foreman_core::job::QueueName;
use foreman_core::ports::{
    Advance, Advanced, Begin, Depth, Effect, FollowerName, Moved, Range, Step, Store, StoreError, WaitingCounts,
};
use foreman_core::statistics::{Entry, Ledger, Slot};
use foreman_core::{JobId, State, TenantId, Timestamp};
use tracing::info;

use super::dice::Dice;

const MINUTE: Duration = Duration::from_mins(1);
const HOURS: u32 = 24;
/// Begins so long ago.
const INCIDENT: (u32, u32) = (172, 138);
/// Real ones of the last minutes do not count as a history.
const RECENT: Duration = Duration::from_hours(2);

/// A queue: its share of the jobs, how long they run in milliseconds, how many of a thousand fail.
const QUEUES: [(&str, u64, (u64, u64), u64); 5] = [
    ("mail", 46, (20, 900), 8),
    ("billing", 24, (80, 2_500), 30),
    ("media", 16, (1_000, 5_000), 12),
    ("reports", 11, (3_000, 6_000), 25),
    ("feeds", 3, (30, 700), 200),
];

pub async fn write(books: &dyn Store, now: Timestamp, dice: Dice) -> Result<(), StoreError> {
    let tenant = TenantId::default();
    let from = now.minus(Duration::from_hours(u64::from(HOURS)));
    let range = Range { slot: Slot::Hour, from, to: now.minus(RECENT), queue: None };
    if !books.statistics(&tenant, &range, 1).await?.is_empty() {
        return Ok(());
    }
    let entries = draw(&tenant, now, dice).await;
    // Somebody else may be booking what is real; a few tries are enough.
    for _ in 0..50 {
        let follower = FollowerName::BOOKKEEPER;
        let Some(at) = books.follow(None, &follower, Begin::Start).await? else { return Ok(()) };
        let advance = Advance { follower, from: at, to: at, effect: Effect::Counts(entries.clone()) };
        if books.advance(None, &advance).await? == Some(Advanced::Done) {
            info!("demo: invented {HOURS} hours of statistics");
            return Ok(());
        }
    }
    Ok(())
}

/// An hour at a time, for others want to run too.
async fn draw(tenant: &TenantId, now: Timestamp, mut dice: Dice) -> Vec<Entry> {
    let this_minute = Slot::Minute.of(now);
    let mut entries = Vec::new();
    for hour in (0..HOURS).rev() {
        let mut ledger = Ledger::default();
        for ago in (hour * 60 + 1..=hour * 60 + 60).rev() {
            draw_minute(&mut ledger, tenant, (this_minute.minus(MINUTE * ago), ago), &mut dice);
        }
        entries.extend(ledger.entries());
        tokio::task::yield_now().await;
    }
    entries
}

fn draw_minute(ledger: &mut Ledger, tenant: &TenantId, (at, ago): (Timestamp, u32), dice: &mut Dice) {
    let is_incident = (INCIDENT.1..INCIDENT.0).contains(&ago);
    let mut depths = Vec::new();
    for (name, share, run, failing) in QUEUES {
        let queue = QueueName::from_stored(name);
        let is_hit = is_incident && name == "billing";
        let count = (wave(ago) * 1.7 * share as f64 * (0.8 + 0.4 * dice.part())) as u64;
        for _ in 0..count {
            let run = Duration::from_millis(dice.between(run.0, run.1));
            let wait = Duration::from_millis(if is_hit { dice.between(2_000, 90_000) } else { dice.between(2, 60) });
            let fate = Fate::draw(dice, if is_hit { 300 } else { failing });
            tell(ledger, (tenant, &queue), at, (wait, run), fate);
        }
        let waiting = if is_hit { u64::from(INCIDENT.0 - ago) * 9 } else { dice.below(4 + share / 4) };
        let waiting = WaitingCounts { pending: waiting, ..WaitingCounts::default() };
        let running = dice.below(2 + share / 8);
        depths.push(Depth { tenant: tenant.clone(), queue, waiting, running, oldest_wait: None });
    }
    ledger.sample(&depths, at);
}

/// Between a third and one: as busy now as the demo is from now on, and quiet half a day ago.
fn wave(ago: u32) -> f64 {
    0.67 + 0.33 * (f64::from(ago) / f64::from(HOURS * 60) * std::f64::consts::TAU).cos()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Completed,
    Retried,
    Failed,
    Dead,
}

impl Fate {
    fn draw(dice: &mut Dice, failing: u64) -> Self {
        match dice.below(1_000) {
            throw if throw >= failing * 3 => Fate::Completed,
            throw if throw >= failing => Fate::Retried,
            throw if throw * 3 >= failing => Fate::Failed,
            _ => Fate::Dead,
        }
    }
}

/// The moves of one job, as a store would have written them.
fn tell(
    ledger: &mut Ledger,
    (tenant, queue): (&TenantId, &QueueName),
    at: Timestamp,
    (wait, run): (Duration, Duration),
    fate: Fate,
) {
    // Only when and where counts; whose id it was nobody will ask.
    let id = JobId::fresh();
    let mut sequence = 0;
    let mut step = |state: State, took: Option<Duration>| {
        sequence += 1;
        let step = Step { state, attempt: 1, sequence, took };
        ledger.count(&Moved { id, tenant: tenant.clone(), queue: queue.clone(), at, step });
    };
    step(State::Pending, None);
    step(State::Running, Some(wait));
    if matches!(fate, Fate::Retried | Fate::Dead) {
        step(State::Retrying, Some(run));
        step(State::Running, Some(wait));
    }
    let end = match fate {
        Fate::Completed | Fate::Retried => State::Completed,
        Fate::Failed => State::Failed,
        Fate::Dead => State::Dead,
    };
    step(end, Some(run));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use foreman_core::memory::{LocalWakeups, Store};

    use super::*;
    use foreman_core::ports::StatisticsStore;

    fn now() -> Timestamp {
        "2026-11-15T12:34:56Z".parse().expect("valid")
    }

    #[tokio::test]
    async fn a_day_is_written_once_and_has_its_ups_and_downs() {
        let store = Store::new(Arc::new(now), Arc::new(LocalWakeups::new()));
        for _ in 0..2 {
            write(&store, now(), Dice::new(3)).await.expect("written");
        }
        let tenant = TenantId::default();
        let range = Range { slot: Slot::Hour, from: now().minus(Duration::from_hours(25)), to: now(), queue: None };
        let hours = store.statistics(&tenant, &range, 100).await.expect("read");
        assert!((24..=25).contains(&hours.len()), "{}", hours.len());
        let mut drawn = draw(&tenant, now(), Dice::new(3)).await;
        drawn.retain(|entry| entry.slot == Slot::Hour && entry.queue.is_none());
        let (written, once): (u64, u64) =
            (hours.iter().map(|it| it.tally.submitted).sum(), drawn.iter().map(|it| it.tally.submitted).sum());
        assert_eq!(written, once, "the second start adds nothing");
        let busiest = hours.iter().map(|it| it.tally.completed).max();
        let quietest = hours[1..hours.len() - 1].iter().map(|it| it.tally.completed).min();
        assert!(busiest > quietest.map(|count| count * 2), "{busiest:?} {quietest:?}");
        assert!(hours.iter().all(|it| it.tally.failed > 0 && it.tally.wait.count > 0 && it.tally.waiting.is_some()));
        assert!(hours.iter().all(|it| it.at < now()), "nothing is known of the future");
    }
}
