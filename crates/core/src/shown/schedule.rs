//! Schedules and their ticks.

use crate::document::{ScheduleDocument, ScheduleState, TickDocument};
use crate::ports::{ScheduleView, TickView};

impl From<ScheduleView> for ScheduleDocument {
    fn from(view: ScheduleView) -> Self {
        let state = match (view.is_paused, view.is_finished()) {
            (true, _) => ScheduleState::Paused,
            (false, true) => ScheduleState::Finished,
            (false, false) => ScheduleState::Active,
        };
        let description = match view.schedule.rule() {
            Ok(rule) => rule.timing.describe(),
            Err(invalid) => format!("does not fire, because this version cannot read it: {invalid}"),
        };
        let spec = (*view.schedule.spec).clone();
        Self {
            id: view.schedule.id.to_string(),
            name: spec.name,
            version: view.seen.version,
            state,
            description,
            next_fire_at: view.seen.next,
            held_for: view.seen.held,
            last_tick: view.last_tick.map(TickDocument::from),
            created_at: view.created_at,
            updated_at: view.edited_at,
            cron: spec.cron,
            every: spec.every,
            at: spec.at,
            timezone: spec.timezone,
            job: spec.job,
            missed: spec.missed,
            missed_max: spec.missed_max,
            overlap: spec.overlap,
            dst_gap: spec.dst_gap,
            dst_overlap: spec.dst_overlap,
            jitter: spec.jitter,
            start_at: spec.start_at,
            end_at: spec.end_at,
            paused: spec.paused,
        }
    }
}

impl From<TickView> for TickDocument {
    fn from(view: TickView) -> Self {
        Self {
            nominal: view.nominal,
            state: view.state,
            reason: view.reason,
            at: view.at,
            job: view.job.map(|(id, _)| id.to_string()),
            job_state: view.job.and_then(|(_, state)| state),
            last: view.last,
            count: view.count,
        }
    }
}
