//! Being one of the workers: joining, staying alive, running what was assigned, leaving.
//!
//! A worker whose registration is gone was taken for dead, and its consumers may be with others by now: it drops what it does, which
//! rolls its batches back, registers again and is given consumers again. So does one that could not say for too long that it is
//! alive.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use foreman_runtime::{Backoff, Lead, Shutdown, Stop, Task};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::types::Type;
use tracing::{debug, info, warn};

use super::assign::Unit;
use super::error::LogError;
use super::leader::unit_text;
use super::log::Frontier;
use super::options::Dispatcher;
use super::unit::{self, CheckpointWatch};
use super::worker::{Inner, WorkerError};
use crate::failure::chain;
use crate::observer::Standstill;

/// How often a worker that stops says so. After that its silence does.
const LEAVE_TRIES: u32 = 3;
/// How often a worker that is notified looks all the same.
const RECONCILE: Duration = Duration::from_secs(1);

/// Registers, when the database answers. `false`: stopped before that.
pub(crate) async fn join(inner: &Inner, shutdown: &Shutdown) -> Result<bool, WorkerError> {
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));
    loop {
        match enter(inner).await {
            Ok(()) => {
                info!(worker.id = %inner.id, consumers = inner.consumers.len(), "worker registered");
                return Ok(true);
            }
            Err(WorkerError::Log(error @ (LogError::Unavailable(_) | LogError::Database(_)))) => {
                warn!(worker.id = %inner.id, error = chain(&error), "the worker cannot register yet");
            }
            Err(error) => return Err(error),
        }
        tokio::select! {
            () = shutdown.draining() => return Ok(false),
            () = sleep(backoff.next()) => {}
        }
    }
}

async fn enter(inner: &Inner) -> Result<(), WorkerError> {
    let (control, sql) = (&inner.control, &inner.log.sql);
    match control.query(&sql.new_epoch, &[(&false, Type::BOOL)]).await {
        Ok(rows) if !rows.is_empty() => warn!("the log was restored in another cluster: a new epoch begins"),
        Ok(_) => {}
        Err(LogError::Database(error)) if error.code().is_some_and(|code| code.code() == "42501") => {
            debug!("this user may not see which cluster it is");
        }
        Err(error) => return Err(error.into()),
    }
    let row = control.query(&sql.epoch, &[]).await?;
    let epoch = row.first().map(|row| row.try_get(0)).transpose().map_err(LogError::from)?;
    inner.epoch.store(epoch.unwrap_or(1), Ordering::Release);

    let mut units: Vec<(&str, i32, i32)> = Vec::new();
    for consumer in &inner.consumers {
        units.extend((0..consumer.shards()).map(|shard| (consumer.name.as_str(), shard, consumer.shards())));
    }
    let names: Vec<&str> = units.iter().map(|unit| unit.0).collect();
    let shards: Vec<i32> = units.iter().map(|unit| unit.1).collect();
    let counts: Vec<i32> = units.iter().map(|unit| unit.2).collect();
    let of = [(&names as _, Type::TEXT_ARRAY), (&shards as _, Type::INT4_ARRAY), (&counts as _, Type::INT4_ARRAY)];
    control.execute(&sql.ensure_checkpoints, &of).await?;
    for row in control.query(&sql.shard_counts, &of[..1]).await? {
        let consumer: String = row.try_get(0).map_err(LogError::from)?;
        let stored: i32 = row.try_get(1).map_err(LogError::from)?;
        let configured =
            inner.consumers.iter().find(|known| known.name == consumer).map_or(stored, |known| known.shards());
        if stored != configured {
            return Err(WorkerError::ShardCount { consumer, stored, configured });
        }
    }
    control.execute(&sql.ensure_assignments, &of[..2]).await?;
    register(inner).await?;
    Ok(())
}

async fn register(inner: &Inner) -> Result<(), LogError> {
    let mut units: Vec<String> = Vec::new();
    for consumer in &inner.consumers {
        units.extend((0..consumer.shards()).map(|shard| unit_text(&consumer.name, shard)));
    }
    let of = [(&inner.id as _, Type::UUID), (&units as _, Type::TEXT_ARRAY)];
    inner.control.execute(&inner.log.sql.register, &of).await.map(drop)
}

/// Says that the worker is alive, also while it stops.
pub(crate) async fn heartbeat(inner: Arc<Inner>, lead: OnceLock<Lead>, shutdown: Shutdown) {
    let mut heard = Instant::now();
    loop {
        tokio::select! {
            () = shutdown.draining() => return,
            () = sleep(inner.options.heartbeat_interval) => {}
        }
        let asked = Instant::now();
        match inner.control.execute(&inner.log.sql.heartbeat, &[(&inner.id, Type::UUID)]).await {
            Ok(1) => {
                heard = asked;
                let is_leader = lead.get().is_some_and(|lead| lead.term().is_some());
                inner.options.observer.heartbeat(inner.id, is_leader);
            }
            Ok(_) => {
                warn!(worker.id = %inner.id, "the worker is not registered any more: it drops its consumers and registers again");
                inner.options.observer.registration_lost(inner.id);
                inner.fence.send_modify(|count| *count += 1);
                match register(&inner).await {
                    Ok(()) => heard = asked,
                    Err(error) => warn!(worker.id = %inner.id, error = chain(&error), "the worker cannot register yet"),
                }
            }
            Err(error) => {
                warn!(worker.id = %inner.id, error = chain(&error), "the worker could not say that it is alive");
                if heard.elapsed() >= inner.options.heartbeat_timeout {
                    inner.fence.send_modify(|count| *count += 1);
                    heard = Instant::now();
                }
            }
        }
    }
}

/// Follows the frontier, for all consumers of the worker at once, and says who holds it.
pub(crate) async fn dispatch(inner: Arc<Inner>, shutdown: Shutdown) {
    let interval = match inner.options.dispatcher {
        Dispatcher::Poll => inner.options.dispatcher_interval,
        Dispatcher::Notify { .. } => RECONCILE,
    };
    let threshold = inner.options.standstill_threshold;
    let mut moved = Instant::now();
    let mut told = Instant::now();
    loop {
        match inner.control.ended(async |client| inner.log.frontier(client).await).await {
            Ok(found) => {
                let known = *inner.frontier.borrow();
                if found.position > known.position || found.position >= found.head {
                    moved = Instant::now();
                }
                // A frontier that was true stays true, so it never goes back.
                let next = Frontier { position: found.position.max(known.position), head: found.head };
                inner.frontier.send_if_modified(|kept| {
                    let has_grown = next.position > kept.position;
                    *kept = next;
                    has_grown
                });
                if moved.elapsed() >= threshold && told.elapsed() >= threshold {
                    told = Instant::now();
                    report_standstill(&inner, next, moved.elapsed()).await;
                }
            }
            Err(error) => warn!(worker.id = %inner.id, error = chain(&error), "the end of the log could not be read"),
        }
        tokio::select! {
            () = shutdown.draining() => return,
            () = inner.look_now.notified() => {}
            () = sleep(interval) => {}
        }
    }
}

async fn report_standstill(inner: &Inner, frontier: Frontier, lasts: Duration) {
    let holders = inner.control.ended(async |client| inner.log.holders(client).await).await.unwrap_or_default();
    let Some(first) = holders.first() else { return };
    warn!(
        holder.pid = first.pid,
        holder.application_name = first.application_name,
        holder.state = first.state,
        holder.open_secs = first.open_secs,
        "consumers have waited for {lasts:.0?} at position {} for a transaction that has appended and not ended",
        frontier.position,
    );
    let standstill = Standstill { frontier: frontier.position, head: frontier.head, lasts, holders };
    inner.options.observer.standstill(&standstill);
}

/// A consumer that runs here.
struct Running {
    epoch: i64,
    stop: Stop,
    look: Arc<CheckpointWatch>,
    task: Task<()>,
}

/// Starts and stops consumers as they are assigned, until draining; then stops them all, inside the deadline.
pub(crate) async fn run_consumers(inner: &Arc<Inner>, shutdown: &Shutdown) {
    let mut running: BTreeMap<Unit, Running> = BTreeMap::new();
    let mut fence = inner.fence.subscribe();
    loop {
        if let Err(error) = sync(inner, &mut running).await {
            warn!(worker.id = %inner.id, error = chain(&error), "the worker could not look which consumers are its own");
        }
        tokio::select! {
                    biased;
                    () = shutdown.draining() => break,
                    changed = fence.changed() => if changed.is_ok() {
                        for unit in running.values() {
        unit.stop.abort();
        }
                        end(&mut running, Duration::from_secs(1)).await;
                    },
                    () = inner.sync_now.notified() => {}
                    () = sleep(inner.options.assignment_sync) => {}
                }
    }
    for unit in running.values() {
        unit.stop.drain();
    }
    tokio::select! {
        () = end(&mut running, inner.options.shutdown_timeout) => {}
        () = shutdown.aborting() => {}
    }
    if !running.is_empty() {
        let late: Vec<String> = running.keys().map(|(name, shard)| unit_text(name, *shard)).collect();
        warn!(worker.id = %inner.id, "batches of {} did not end in time and are rolled back", late.join(", "));
        for unit in running.values() {
            unit.stop.abort();
        }
        end(&mut running, Duration::from_secs(1)).await;
    }
}

/// Waits for tasks that were told to stop, and drops those that did.
async fn end(running: &mut BTreeMap<Unit, Running>, limit: Duration) {
    let deadline = Instant::now() + limit;
    for unit in running.values_mut() {
        let left = deadline.saturating_duration_since(Instant::now());
        let _ended = timeout(left, &mut unit.task).await;
    }
    running.retain(|_, unit| !unit.task.is_finished());
}

async fn sync(inner: &Arc<Inner>, running: &mut BTreeMap<Unit, Running>) -> Result<(), LogError> {
    let rows = inner.control.query(&inner.log.sql.assigned, &[(&inner.id, Type::UUID)]).await?;
    let mut ours: BTreeMap<Unit, (i64, i64)> = BTreeMap::new();
    for row in rows {
        ours.insert((row.try_get(0)?, row.try_get(1)?), (row.try_get(2)?, row.try_get(3)?));
    }
    running.retain(|_, unit| !unit.task.is_finished());
    for (unit, known) in running.iter() {
        match ours.get(unit) {
            Some((epoch, position)) if *epoch == known.epoch => known.look.compare(*position),
            _ => known.stop.drain(),
        }
    }
    for (unit, (epoch, _)) in ours {
        // One that is stopping under an older epoch ends first; the next look starts it again.
        if running.contains_key(&unit) {
            continue;
        }
        let Some(consumer) = inner.consumers.iter().find(|known| known.name == unit.0 && unit.1 < known.shards())
        else {
            continue;
        };
        let stop = Stop::new();
        let look = Arc::new(CheckpointWatch::default());
        let work =
            unit::run(Arc::clone(inner), Arc::clone(consumer), unit.1, epoch, Arc::clone(&look), stop.shutdown());
        let task = inner.tasks.spawn("eventlog consumer", work);
        running.insert(unit, Running { epoch, stop, look, task });
    }
    Ok(())
}

/// Gives everything back, so that nobody has to wait for this worker's silence.
pub(crate) async fn leave(inner: &Inner) {
    for nth in 1..=LEAVE_TRIES {
        match inner.control.execute(&inner.log.sql.release, &[(&inner.id, Type::UUID)]).await {
            Ok(_) => {
                info!(worker.id = %inner.id, "worker removed");
                return;
            }
            Err(error) => {
                warn!(worker.id = %inner.id, error = chain(&error), "the worker could not remove its registration ({nth})");
            }
        }
    }
}
