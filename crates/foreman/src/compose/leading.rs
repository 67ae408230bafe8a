//! What one of many does: whoever leads fires schedules, prunes, tells those who asked how jobs ended, and counts. Every scheduler
//! watches the horizon, for each has its own `/metrics`.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::duration::format;
use foreman_core::ports::{FollowerName, Followers, JobQuery, JobStore, Leader, ScheduleStore, Topic, Upkeep};
use foreman_engine::follower::Follow;
use foreman_engine::pruner::{self, Behind};
use foreman_engine::worker::Drained;
use foreman_engine::{Bookkeeper, Courier, Follower, Pruner, Scheduler};
use foreman_runtime::{Backoff, Lead, Leadership, leadership};
use tokio::time::sleep;
use uuid::Uuid;

use super::{OpenStore, ServerPart, StorePorts, Wiring, nothing, part};
use crate::horizon::HorizonWatch;

/// What the schedulers of one database contend for.
const OFFICE: &str = "scheduler";

pub(super) fn parts(wiring: &Wiring<'_>, shared: &StorePorts, open: &OpenStore) -> Vec<ServerPart> {
    let settings = wiring.settings;
    let config = leadership::Config {
        // Fresh for every start: a former life of this process is somebody else.
        holder: Uuid::new_v4().to_string(),
        ..leadership::Config::with_ttl(settings.leader_ttl)
    };
    let leadership =
        Leadership::new(Arc::clone(&shared.lease), OFFICE, config).woken_by(shared.wakeups.listen(Topic::Resigned));
    let lead = leadership.lead();
    wiring.metrics.set_lead(lead.clone());
    let pruner =
        Pruner::new(Arc::clone(&shared.store) as Arc<dyn Upkeep>, settings.pruner.clone()).led_by(OFFICE, lead.clone());
    report_pruning(wiring, pruner.progress());
    let scheduler = scheduler(wiring, shared).led_by(OFFICE, lead.clone());
    let mut parts = vec![
        part("leadership", |shutdown| async move {
            leadership.run(shutdown).await;
            Ok(Drained::default())
        }),
        part("scheduler", |shutdown| async move { Ok(scheduler.run(shutdown).await.map(nothing)?) }),
        part("pruner", |shutdown| async move { Ok(pruner.run(shutdown).await.map(nothing)?) }),
        courier(wiring, shared, lead.clone()),
        bookkeeper(wiring, shared, lead.clone()),
    ];
    if let OpenStore::Postgres(database) = open {
        wiring.vitals.set_lead(move || match lead.term() {
            Some(term) => format!("leads in term {term}"),
            None => "follows".into(),
        });
        let watch = HorizonWatch::new(database.config.clone(), Arc::clone(&wiring.metrics), settings.horizon.clone());
        parts.push(part("horizon watch", |shutdown| async move {
            watch.run(shutdown).await;
            Ok(Drained::default())
        }));
    }
    parts
}

/// Says which kinds of pruning are behind to whoever scrapes, and beside the probes. That is no reason to send this process no work.
fn report_pruning(wiring: &Wiring<'_>, progress: pruner::Progress) {
    wiring.metrics.set_pruning(progress.clone());
    wiring.vitals.set_pruning(move || {
        let behind = progress.far_behind();
        let kinds = behind.iter().map(|Behind { kind, since, why }| {
            let why = why.as_ref().map_or_else(|| "rows expire faster than they are deleted".into(), Clone::clone);
            format!("{kind} for {} ({why})", format(Duration::from_secs(since.as_secs())))
        });
        let late = (!behind.is_empty()).then(|| format!("behind: {}", kinds.collect::<Vec<_>>().join(", ")));
        let held =
            progress.held_by().map(|follower| format!("the change log is kept for the {follower}, which is behind"));
        [late, held].into_iter().flatten().reduce(|late, held| format!("{late}; {held}"))
    });
}

/// Whoever leads and tells nobody anything says so once, so that nothing is kept for a courier that does not come.
fn courier(wiring: &Wiring<'_>, shared: &StorePorts, lead: Lead) -> ServerPart {
    if wiring.settings.webhooks.enabled {
        let (jobs, tenancy) = (Arc::clone(&shared.store) as Arc<dyn JobQuery>, Arc::clone(&shared.tenancy));
        let courier = Courier::new(jobs, tenancy, wiring.settings.courier.clone());
        wiring.metrics.set_deliveries(courier.tally());
        return follower(wiring, shared, courier, lead);
    }
    let followers = Arc::clone(&shared.store) as Arc<dyn Followers>;
    part("courier", |shutdown| async move {
        tokio::select! {
            () = shutdown.draining() => {}
            () = dismiss(followers, lead) => {}
        }
        shutdown.draining().await;
        Ok(Drained::default())
    })
}

fn bookkeeper(wiring: &Wiring<'_>, shared: &StorePorts, lead: Lead) -> ServerPart {
    let bookkeeper = Bookkeeper::new(Arc::clone(&shared.store), wiring.settings.bookkeeper.clone());
    wiring.metrics.set_readings(bookkeeper.readings());
    follower(wiring, shared, bookkeeper, lead)
}

/// Reads the change log while this process leads, and says how far behind it is to whoever scrapes.
fn follower(wiring: &Wiring<'_>, shared: &StorePorts, follow: impl Follow + 'static, lead: Lead) -> ServerPart {
    let name = follow.name();
    let follower = Follower::new(follow, Arc::clone(&shared.store), Arc::clone(&shared.wakeups)).led_by(OFFICE, lead);
    wiring.metrics.add_follower(name, follower.lag());
    part(name, |shutdown| async move { Ok(follower.run(shutdown).await.map(nothing)?) })
}

async fn dismiss(followers: Arc<dyn Followers>, lead: Lead) {
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
    loop {
        let leader = Leader { office: OFFICE.into(), term: lead.elected().await.0 };
        match followers.dismiss(Some(&leader), &FollowerName::COURIER).await {
            Ok(Some(())) => break,
            Ok(None) => tracing::debug!("no longer the leader: another scheduler records that webhooks are turned off"),
            Err(error) => {
                tracing::warn!("webhooks are turned off, but this could not be recorded in the store: {error}");
            }
        }
        sleep(backoff.next()).await;
    }
    tracing::info!("webhooks are turned off: no deliveries are sent");
}

/// Says how far behind it is to whoever scrapes, and to whoever asks whether this process is well.
fn scheduler(wiring: &Wiring<'_>, shared: &StorePorts) -> Scheduler {
    let config = wiring.settings.scheduler.clone();
    let most = config.missed_after;
    let scheduler = Scheduler::new(
        Arc::clone(&shared.store) as Arc<dyn ScheduleStore>,
        Arc::clone(&shared.store) as Arc<dyn JobStore>,
        Arc::clone(&shared.wakeups),
        config,
    )
    .limited_by(wiring.tenants(shared), Arc::clone(&shared.store) as Arc<dyn JobQuery>);
    let lag = scheduler.lag();
    wiring.metrics.set_lag(lag.clone());
    wiring.vitals.set_punctuality(move || {
        let behind = lag.get();
        if behind <= most {
            return Ok(());
        }
        Err(format!("a tick is {} late, more than scheduler.missed_after ({})", format(behind), format(most)))
    });
    scheduler
}
