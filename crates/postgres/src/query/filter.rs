//! Which jobs a list is about, as SQL.
//!
//! The state decides where to look: a final one is a stretch of `ended_of_users`, a waiting one is `ready`, a running one
//! `held`; for any state it is `jobs_of_users`, or the tag's or correlation's own index. A group of errors is a stretch of
//! `failures_of_users`, for one state or for each that is final. These indexes leave out Foreman's own jobs; a list of those, which
//! names their queue, goes by indexes that have nothing else (src/indexes.rs). Every part of a filter that is
//! absent leaves no trace in the statement, so each shape gets its own plan. Values never become text.

use foreman_core::ports::{Cursor, JobFilter};
use foreman_core::{State, TenantId};

use crate::value::{Arg, Time};

/// A statement under construction and the values it is bound to.
pub(super) struct Selection {
    /// From the table that leads to `jobs`.
    from: &'static str,
    conditions: Vec<String>,
    pub values: Vec<Box<dyn Arg>>,
    /// By the time a final state was reached, or by id.
    is_by_time: bool,
    /// The id in the leading table.
    id: &'static str,
    /// What only `jobs` knows is asked for.
    needs_jobs: bool,
}

impl Selection {
    pub fn new(tenant: &TenantId, filter: &JobFilter) -> Self {
        let JobFilter { state, queue, kind, tag, correlation_id, error_group, created_after, created_before } = filter;
        let mut selection = Self::leading(*state, tag.as_deref(), error_group.is_some());
        let lead = selection.from;
        selection.holds(&format!("{lead}.tenant ="), "text", tenant.as_str().to_owned());
        selection.in_state(*state);
        if let Some(group) = error_group {
            selection.holds("outcomes.error_group =", "text", group.as_str().to_owned());
        }
        let is_copied = matches!(lead, "outcomes" | "ready" | "held");
        let place = if is_copied { lead } else { "jobs" };
        // Foreman's own jobs have no tags: a list by tag alone is spared the look at each job.
        if lead != "job_tags" {
            let comparison = if filter.leaves_out_internal() { "<>" } else { "=" };
            selection.conditions.push(format!("left({place}.queue, 8) {comparison} 'foreman.'"));
        }
        if let Some(queue) = queue {
            selection.holds(&format!("{place}.queue ="), "text", queue.as_str().to_owned());
        }
        if let Some(kind) = kind {
            selection.holds(&format!("{place}.kind ="), "text", kind.clone());
        }
        selection.needs_jobs |= !is_copied && (queue.is_some() || kind.is_some());
        if let Some(tag) = tag {
            selection.tagged(tenant, tag);
        }
        if let Some(id) = correlation_id {
            selection.of_jobs("jobs.correlation_id =", "text", id.clone());
        }
        if let Some(time) = created_after {
            selection.of_jobs("jobs.created_at >=", "timestamptz", Time(*time));
        }
        if let Some(time) = created_before {
            selection.of_jobs("jobs.created_at <", "timestamptz", Time(*time));
        }
        selection
    }

    fn leading(state: Option<State>, tag: Option<&str>, has_group: bool) -> Self {
        let (from, id) = match (state, tag) {
            (Some(state), _) if state.is_final() => ("outcomes", "outcomes.job"),
            (None, _) if has_group => ("outcomes", "outcomes.job"),
            (Some(State::Running), _) => ("held", "held.job"),
            (Some(_), _) => ("ready", "ready.job"),
            (None, Some(_)) => ("job_tags", "job_tags.job"),
            (None, None) => ("jobs", "jobs.id"),
        };
        let is_by_time = state.is_some_and(State::is_final);
        Self { from, conditions: Vec::new(), values: Vec::new(), is_by_time, id, needs_jobs: false }
    }

    fn in_state(&mut self, state: Option<State>) {
        let conditions: &[&str] = match state {
            // Of a group of errors, which is found state by state.
            None if self.from == "outcomes" => &["outcomes.state IN ('completed', 'failed', 'dead', 'cancelled')"],
            None | Some(State::Running) => &[],
            Some(State::Pending) => &["ready.run_at <= foreman_now()"],
            Some(State::Scheduled) => &["ready.attempt = 0", "ready.run_at > foreman_now()"],
            Some(State::Retrying) => &["ready.attempt > 0", "ready.run_at > foreman_now()"],
            Some(State::Completed) => &["outcomes.state = 'completed'"],
            Some(State::Failed) => &["outcomes.state = 'failed'"],
            Some(State::Dead) => &["outcomes.state = 'dead'"],
            Some(State::Cancelled) => &["outcomes.state = 'cancelled'"],
        };
        self.conditions.extend(conditions.iter().map(|condition| (*condition).to_owned()));
    }

    fn tagged(&mut self, tenant: &TenantId, tag: &str) {
        if self.from == "job_tags" {
            self.holds("job_tags.tag =", "text", tag.to_owned());
        } else {
            let (owner, tag) = (self.value(tenant.as_str().to_owned()), self.value(tag.to_owned()));
            self.conditions.push(format!(
                "EXISTS (SELECT FROM job_tags WHERE job_tags.tenant = {owner}::text AND job_tags.tag = {tag}::text
                 AND job_tags.job = {})",
                self.id
            ));
        }
    }

    /// Only what comes after the end of the page before.
    pub fn after(&mut self, cursor: Cursor) {
        if self.is_by_time {
            let (at, id) = (self.value(Time(cursor.at)), self.value(cursor.id.0));
            self.conditions.push(format!("(outcomes.finished_at, outcomes.job) < ({at}::timestamptz, {id}::uuid)"));
        } else {
            self.holds(&format!("{} <", self.id), "uuid", cursor.id.0);
        }
    }

    fn of_jobs(&mut self, comparison: &str, kind: &str, value: impl Arg + 'static) {
        self.needs_jobs = true;
        self.holds(comparison, kind, value);
    }

    fn holds(&mut self, comparison: &str, kind: &str, value: impl Arg + 'static) {
        let value = self.value(value);
        self.conditions.push(format!("{comparison} {value}::{kind}"));
    }

    /// Binds a value; its name in the statement.
    pub fn value(&mut self, value: impl Arg + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    fn source(&self) -> String {
        if self.needs_jobs && self.from != "jobs" {
            format!("{} JOIN jobs ON jobs.id = {}", self.from, self.id)
        } else {
            self.from.to_owned()
        }
    }

    pub fn page(&self, limit: &str) -> String {
        let (time, order) = if self.is_by_time {
            ("outcomes.finished_at", "outcomes.finished_at DESC, outcomes.job DESC".to_owned())
        } else if self.from == "outcomes" {
            // As a row, which no index has: the group is sorted. By the index of the ids all that ever ended would be walked over.
            ("NULL::timestamptz", "ROW(outcomes.job) DESC".to_owned())
        } else {
            ("NULL::timestamptz", format!("{} DESC", self.id))
        };
        let (id, source, conditions) = (self.id, self.source(), self.conditions.join(" AND "));
        format!("SELECT {time}, {id} FROM {source} WHERE {conditions} ORDER BY {order} LIMIT {limit}::bigint")
    }

    pub fn count(&self) -> String {
        format!("SELECT count(*) FROM {} WHERE {}", self.source(), self.conditions.join(" AND "))
    }
}
