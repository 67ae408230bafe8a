//! Schedules: jobs that come by themselves.
//!
//! A schedule is addressed by its name or its id. Where a version can be given, the call does something only if the schedule is at that
//! version, and is refused with status 412 otherwise; without one it does it whatever others did meanwhile.

use foreman_protocol::Timestamp;
use foreman_protocol::document::{
    JobDocument, ListDocument, PreviewDocument, ScheduleDocument, ScheduleFields, TickDocument,
};
use foreman_protocol::schedule::ScheduleSpec;
use reqwest::Method;
use serde::Serialize;

use crate::call::PageQuery;
use crate::{CALL_TIMEOUT, Client, Error};

#[derive(Serialize)]
struct PreviewQuery {
    n: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Timestamp>,
}

impl Client {
    /// Makes a schedule; refused with status 409 when its name is taken.
    pub async fn create_schedule(&self, schedule: &ScheduleSpec) -> Result<ScheduleDocument, Error> {
        self.post_json(&["schedules"], schedule, CALL_TIMEOUT).await
    }

    pub async fn schedule(&self, name: &str) -> Result<ScheduleDocument, Error> {
        self.get_json(&["schedules", name], &(), CALL_TIMEOUT).await
    }

    /// One page, by name; `after` is `next` of the page before.
    pub async fn schedules(&self, limit: usize, after: Option<&str>) -> Result<ListDocument<ScheduleDocument>, Error> {
        self.get_json(&["schedules"], &PageQuery { limit, cursor: after }, CALL_TIMEOUT).await
    }

    /// Makes the schedule what is given. Without a version it is made if it is not there.
    pub async fn replace_schedule(
        &self,
        schedule: &ScheduleSpec,
        version: Option<i64>,
    ) -> Result<ScheduleDocument, Error> {
        self.send_if(Method::PUT, &["schedules", &schedule.name], Some(schedule), version).await
    }

    /// Changes the fields that are given: a JSON object in which `null` removes a field, and so inside `job`.
    pub async fn update_schedule(
        &self,
        name: &str,
        patch: &impl Serialize,
        version: Option<i64>,
    ) -> Result<ScheduleDocument, Error> {
        self.send_if(Method::PATCH, &["schedules", name], Some(patch), version).await
    }

    /// Removes the schedule. Its jobs stay.
    pub async fn delete_schedule(&self, name: &str, version: Option<i64>) -> Result<(), Error> {
        self.call_blind_if(Method::DELETE, &["schedules", name], version).await
    }

    /// Nothing fires until it is resumed.
    pub async fn pause_schedule(&self, name: &str) -> Result<ScheduleDocument, Error> {
        self.post(&["schedules", name, "pause"]).await
    }

    pub async fn resume_schedule(&self, name: &str) -> Result<ScheduleDocument, Error> {
        self.post(&["schedules", name, "resume"]).await
    }

    /// Makes its job now, whatever the calendar says. Each call makes one.
    pub async fn run_schedule(&self, name: &str) -> Result<JobDocument, Error> {
        self.post(&["schedules", name, "run"]).await
    }

    /// Its next `n` fires, from now or from the given time on.
    pub async fn preview_schedule(
        &self,
        name: &str,
        n: usize,
        from: Option<Timestamp>,
    ) -> Result<PreviewDocument, Error> {
        self.get_json(&["schedules", name, "preview"], &PreviewQuery { n, from }, CALL_TIMEOUT).await
    }

    /// The same for a schedule that is not saved, of which only the time is needed.
    pub async fn preview(
        &self,
        schedule: &ScheduleFields,
        n: usize,
        from: Option<Timestamp>,
    ) -> Result<PreviewDocument, Error> {
        self.post_json_asking(&["schedules", "preview"], &PreviewQuery { n, from }, schedule).await
    }

    /// What became of its ticks, the latest first; `after` is `next` of the page before.
    pub async fn ticks(
        &self,
        name: &str,
        limit: usize,
        after: Option<&str>,
    ) -> Result<ListDocument<TickDocument>, Error> {
        self.get_json(&["schedules", name, "ticks"], &PageQuery { limit, cursor: after }, CALL_TIMEOUT).await
    }
}
