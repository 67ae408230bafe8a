//! What one of many does: whoever leads fires schedules and prunes. Every scheduler watches the horizon, for each has its own `/metrics`.

use std::sync::Arc;

use foreman_core::duration::format;
use foreman_core::ports::{JobStore, ScheduleStore, Upkeep};
use foreman_engine::worker::Drained;
use foreman_engine::{Pruner, Scheduler};
use foreman_runtime::{Leadership, leadership};
use uuid::Uuid;

use super::{Ground, OpenStore, Part, Shared, nothing, part};
use crate::horizon::Watch;

/// What the schedulers of one database contend for.
const OFFICE: &str = "scheduler";

pub(super) fn parts(ground: &Ground<'_>, shared: &Shared, open: &OpenStore) -> Vec<Part> {
    let settings = ground.settings;
    let config = leadership::Config {
        // Fresh for every start: a former life of this process is somebody else.
        holder: Uuid::new_v4().to_string(),
        ..leadership::Config::with_ttl(settings.leader_ttl)
    };
    let leadership = Leadership::new(Arc::clone(&shared.lease), OFFICE, config);
    let lead = leadership.lead();
    ground.metrics.set_lead(lead.clone());
    let pruner =
        Pruner::new(Arc::clone(&shared.store) as Arc<dyn Upkeep>, settings.pruner.clone()).led_by(OFFICE, lead.clone());
    let scheduler = scheduler(ground, shared).led_by(OFFICE, lead.clone());
    let mut parts = vec![
        part("leadership", |shutdown| async move {
            leadership.run(shutdown).await;
            Ok(Drained::default())
        }),
        part("scheduler", |shutdown| async move { Ok(scheduler.run(shutdown).await.map(nothing)?) }),
        part("pruner", |shutdown| async move { Ok(pruner.run(shutdown).await.map(nothing)?) }),
    ];
    if let OpenStore::Postgres(database) = open {
        ground.vitals.set_lead(move || match lead.term() {
            Some(term) => format!("leads in term {term}"),
            None => "follows".into(),
        });
        let watch = Watch::new(database.config.clone(), Arc::clone(&ground.metrics), settings.horizon.clone());
        parts.push(part("horizon watch", |shutdown| async move {
            watch.run(shutdown).await;
            Ok(Drained::default())
        }));
    }
    parts
}

/// Says how far behind it is to whoever scrapes, and to whoever asks whether this process is well.
fn scheduler(ground: &Ground<'_>, shared: &Shared) -> Scheduler {
    let config = ground.settings.scheduler.clone();
    let most = config.missed_after;
    let scheduler = Scheduler::new(
        Arc::clone(&shared.store) as Arc<dyn ScheduleStore>,
        Arc::clone(&shared.store) as Arc<dyn JobStore>,
        Arc::clone(&shared.wakeups),
        config,
    );
    let lag = scheduler.lag();
    ground.metrics.set_lag(lag.clone());
    ground.vitals.set_punctuality(move || {
        let behind = lag.get();
        if behind <= most {
            return Ok(());
        }
        Err(format!("a tick is {} late, more than scheduler.missed_after ({})", format(behind), format(most)))
    });
    scheduler
}
