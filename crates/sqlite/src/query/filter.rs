//! Which jobs a list is about, as SQL.
//!
//! The state decides where to look: a final one is a stretch of `outcomes_of_users`, a waiting one is `ready`, a running one
//! `held`; for any state it is `jobs_of_users`, or the tag's or correlation's own index. A group of errors has indexes of its
//! own, one for those that failed or died, by time, and one for whatever is in it by id. These indexes leave out Foreman's own
//! jobs; a list of those, which names their queue, goes by the indexes that have everything. Every part of a filter that is
//! absent leaves no trace in the statement, so each shape gets its own plan and its own place in the statement cache.

use foreman_core::error_group::ErrorGroup;
use foreman_core::ports::{Cursor, JobFilter};
use foreman_core::{State, TenantId, Timestamp};
use rusqlite::types::Value;

/// Not one of Foreman's own jobs, as the indexes of users have it. `place` is the table with the queue.
pub(super) fn of_users(place: &str) -> String {
    format!("substr({place}.queue, 1, 8) <> 'foreman.'")
}

/// A statement under construction and the values it is bound to.
pub(super) struct Selection {
    /// From the table that leads to `jobs`.
    pub from: &'static str,
    pub conditions: Vec<String>,
    pub values: Vec<Value>,
    /// By the time a final state was reached, or by id.
    pub is_by_time: bool,
    /// The id in the leading table.
    pub id: &'static str,
}

impl Selection {
    pub fn new(tenant: &TenantId, filter: &JobFilter, now: Timestamp) -> Self {
        let JobFilter { state, queue, kind, tag, correlation_id, error_group, created_after, created_before } = filter;
        let is_of_users = filter.leaves_out_internal();
        let mut selection = if is_of_users && tag.is_none() && correlation_id.is_none() {
            Self::leading_to_users(*state, error_group.as_ref())
        } else {
            Self::leading(*state, tag.as_deref(), error_group.as_ref())
        };
        let lead = selection.id.split('.').next().unwrap_or("jobs");
        selection.holds(&format!("{lead}.tenant ="), text(tenant.as_str()));
        if let Some(group) = error_group {
            selection.in_group(*state, group);
        } else {
            selection.in_state(*state, now);
        }
        let is_copied = matches!(lead, "outcomes" | "ready" | "held");
        let place = if is_copied { lead } else { "jobs" };
        if is_of_users {
            selection.conditions.push(of_users(place));
        }
        if let Some(queue) = queue {
            selection.holds(&format!("{place}.queue ="), text(queue.as_str()));
        }
        if let Some(kind) = kind {
            selection.holds(&format!("{place}.kind ="), text(kind));
        }
        if let Some(tag) = tag {
            selection.tagged(lead, tenant, tag);
        }
        if let Some(id) = correlation_id {
            selection.holds("jobs.correlation_id =", text(id));
        }
        if let Some(time) = created_after {
            selection.holds("jobs.created_at >=", Value::Integer(time.as_micros()));
        }
        if let Some(time) = created_before {
            selection.holds("jobs.created_at <", Value::Integer(time.as_micros()));
        }
        selection
    }

    /// As below, by the indexes that leave out Foreman's own jobs.
    fn leading_to_users(state: Option<State>, group: Option<&ErrorGroup>) -> Self {
        let from = match (state, group) {
            (Some(State::Failed | State::Dead), Some(_)) => {
                "outcomes INDEXED BY failures_of_users CROSS JOIN jobs ON jobs.id = outcomes.job"
            }
            (Some(state), None) if state.is_final() => {
                "outcomes INDEXED BY outcomes_of_users CROSS JOIN jobs ON jobs.id = outcomes.job"
            }
            (None, None) => "jobs INDEXED BY jobs_of_users",
            _ => return Self::leading(state, None, group),
        };
        Self { from, ..Self::leading(state, None, group) }
    }

    fn leading(state: Option<State>, tag: Option<&str>, group: Option<&ErrorGroup>) -> Self {
        // CROSS JOIN keeps the order: first the table that narrows, then the job.
        let (from, id) = match (state, tag) {
            (Some(State::Dead), _) if group.is_some() => {
                ("outcomes INDEXED BY outcomes_dead_groups CROSS JOIN jobs ON jobs.id = outcomes.job", "outcomes.job")
            }
            _ if group.is_some() => {
                ("outcomes INDEXED BY outcomes_of_group CROSS JOIN jobs ON jobs.id = outcomes.job", "outcomes.job")
            }
            (Some(state), _) if state.is_final() => {
                ("outcomes CROSS JOIN jobs ON jobs.id = outcomes.job", "outcomes.job")
            }
            (Some(State::Running), _) => ("held CROSS JOIN jobs ON jobs.id = held.job", "held.job"),
            (Some(_), _) => ("ready CROSS JOIN jobs ON jobs.id = ready.job", "ready.job"),
            (None, Some(_)) => ("job_tags CROSS JOIN jobs ON jobs.id = job_tags.job", "job_tags.job"),
            (None, None) => ("jobs", "jobs.id"),
        };
        let is_by_time = state.is_some_and(State::is_final);
        Self { from, conditions: Vec::new(), values: Vec::new(), is_by_time, id }
    }

    fn in_state(&mut self, state: Option<State>, now: Timestamp) {
        let now = Value::Integer(now.as_micros());
        match state {
            None | Some(State::Running) => {}
            Some(State::Pending) => self.holds("ready.run_at <=", now),
            Some(State::Scheduled) => {
                self.conditions.push("ready.attempt = 0".into());
                self.holds("ready.run_at >", now);
            }
            Some(State::Retrying) => {
                self.conditions.push("ready.attempt > 0".into());
                self.holds("ready.run_at >", now);
            }
            Some(state @ (State::Completed | State::Failed | State::Dead | State::Cancelled)) => {
                self.holds("outcomes.state =", text(state.as_str()));
            }
        }
    }

    /// Only what is final is in one.
    fn in_group(&mut self, state: Option<State>, group: &ErrorGroup) {
        self.holds("outcomes.error_group =", text(group.as_str()));
        match state {
            None => {}
            // Said in the statement itself, for the indexes have only these.
            Some(State::Dead) => {
                self.conditions.push("outcomes.state = 'dead' AND outcomes.state IN ('failed', 'dead')".into());
            }
            Some(State::Failed) => {
                self.conditions.push("outcomes.state = 'failed' AND outcomes.state IN ('failed', 'dead')".into());
            }
            Some(state) => self.holds("outcomes.state =", text(state.as_str())),
        }
    }

    fn tagged(&mut self, lead: &str, tenant: &TenantId, tag: &str) {
        if lead == "job_tags" {
            self.holds("job_tags.tag =", text(tag));
        } else {
            self.values.push(text(tenant.as_str()));
            self.values.push(text(tag));
            let (first, second) = (self.values.len() - 1, self.values.len());
            self.conditions.push(format!(
                "EXISTS (SELECT 1 FROM job_tags WHERE tenant = ?{first} AND tag = ?{second} AND job = {})",
                self.id
            ));
        }
    }

    /// Only what comes after the end of the page before.
    pub fn after(&mut self, cursor: Cursor) {
        let id = Value::Blob(cursor.id.0.as_bytes().to_vec());
        if self.is_by_time {
            self.values.push(Value::Integer(cursor.at.as_micros()));
            self.values.push(id);
            let (at, id) = (self.values.len() - 1, self.values.len());
            self.conditions.push(format!("(outcomes.finished_at, outcomes.job) < (?{at}, ?{id})"));
        } else {
            self.holds(&format!("{} <", self.id), id);
        }
    }

    fn holds(&mut self, comparison: &str, value: Value) {
        self.values.push(value);
        self.conditions.push(format!("{comparison} ?{}", self.values.len()));
    }

    pub fn conditions(&self) -> String {
        self.conditions.join(" AND ")
    }

    pub fn order(&self) -> String {
        if self.is_by_time {
            "outcomes.finished_at DESC, outcomes.job DESC".into()
        } else {
            format!("{} DESC", self.id)
        }
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

#[cfg(test)]
mod tests {
    use foreman_core::webhook::{QUEUE, RESERVED};
    use rusqlite::Connection;

    use super::super::list;
    use super::*;
    use crate::bare::{bare, ended_in, plan, steps};
    use crate::readers::ReadSnapshot;

    fn plan_of(filter: &JobFilter) -> Vec<String> {
        let selection = Selection::new(&TenantId::default(), filter, Timestamp::from_micros(1));
        let (id, from) = (selection.id, selection.from);
        let question =
            format!("SELECT {id} FROM {from} WHERE {} ORDER BY {} LIMIT 50", selection.conditions(), selection.order());
        plan(&bare(), &question)
    }

    #[test]
    fn a_group_of_errors_is_a_stretch_of_its_own_index() {
        let of_group = |state| JobFilter { state, error_group: Some(ErrorGroup::of("boom")), ..JobFilter::default() };
        let dead = plan_of(&of_group(Some(State::Dead)));
        let failed = plan_of(&of_group(Some(State::Failed)));
        for plan in [&dead, &failed] {
            assert!(plan[0].contains("failures_of_users (tenant=? AND state=? AND error_group=?"), "{plan:?}");
        }
        let any = plan_of(&of_group(None));
        assert!(any[0].contains("outcomes_of_group (tenant=? AND error_group=?"), "{any:?}");
        for plan in [&dead, &failed, &any] {
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "already in order: {plan:?}");
        }
        let internal = |state| JobFilter { queue: Some(QUEUE.parse().expect("a queue's name")), ..of_group(state) };
        let dead = plan_of(&internal(Some(State::Dead)));
        assert!(dead[0].contains("outcomes_dead_groups (tenant=? AND error_group=?"), "{dead:?}");
        let failed = plan_of(&internal(Some(State::Failed)));
        assert!(failed[0].contains("outcomes_of_group (tenant=? AND error_group=?"), "{failed:?}");
    }

    #[test]
    fn the_indexes_of_users_leave_out_what_is_reserved() {
        assert_eq!(of_users("jobs"), format!("substr(jobs.queue, 1, {}) <> '{RESERVED}'", RESERVED.len()));
    }

    /// A page of five jobs costs the same beside a hundred deliveries and beside three thousand.
    #[test]
    fn deliveries_are_not_walked_over_to_find_the_users_jobs() {
        let group = "0123456789abcdef";
        let cost = |deliveries: u32, filter: &JobFilter| {
            let mut sql = bare();
            for (queue, count) in [("default", 5), (QUEUE, deliveries)] {
                for state in State::FINAL {
                    ended_in(&sql, queue, state.as_str(), Some(group), count);
                }
            }
            let page = |sql: &Connection| {
                let read = ReadSnapshot { sql, now: Timestamp::from_micros(1) };
                list::found(&read, &TenantId::default(), filter, None, 50).expect("the store answers").len()
            };
            steps(&mut sql, page)
        };
        let in_state = |state| JobFilter { state, ..JobFilter::default() };
        let of_group = |state| JobFilter { error_group: group.parse().ok(), ..in_state(Some(state)) };
        for (filter, expected) in [
            (in_state(None), 20),
            (in_state(Some(State::Completed)), 5),
            (in_state(Some(State::Dead)), 5),
            (of_group(State::Failed), 5),
            (of_group(State::Dead), 5),
        ] {
            let ((few, small), (many, large)) = (cost(100, &filter), cost(3_000, &filter));
            assert_eq!((few, many), (expected, expected), "{filter:?}");
            assert!(large <= small + small / 10, "{filter:?}: {large} steps beside 3000, {small} beside 100");
        }
    }
}
