//! The report of an attempt as it is kept: its JSON, and the group that its error belongs to.

use crate::error_group::ErrorGroup;
use crate::id::JobId;
use crate::outcome::{Report, Verdict};
use crate::ports::StoreError;

/// A report, ready to be written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReport {
    pub json: String,
    /// Of the error that a job ended with. An attempt that is followed by another belongs to no group.
    pub group: Option<ErrorGroup>,
}

impl StoredReport {
    /// There is nothing to say: of a job that was cancelled, or an attempt that was handed back.
    pub fn empty() -> Self {
        Self { json: "{}".into(), group: None }
    }

    /// What an attempt at this job reports.
    pub fn of(job: JobId, verdict: &Verdict) -> Result<Self, StoreError> {
        let Some(report) = verdict.report() else { return Ok(Self::empty()) };
        let error = report.error.as_deref().filter(|_| verdict.final_state().is_some());
        let json = json(report)
            .map_err(|error| StoreError::Broken(format!("the report on job {job} cannot be written down: {error}")))?;
        Ok(Self { json, group: error.map(ErrorGroup::of) })
    }

    /// What is said of a job that ended with this error and not by its own attempt.
    pub fn of_end(error: &str) -> Result<Self, StoreError> {
        Ok(Self { group: Some(ErrorGroup::of(error)), ..Self::of_lapse(error)? })
    }

    /// What is said of an attempt that did not report, and is followed by another.
    pub fn of_lapse(error: &str) -> Result<Self, StoreError> {
        let json = json(&Report::error(error))
            .map_err(|error| StoreError::Broken(format!("a report cannot be written down: {error}")))?;
        Ok(Self { json, group: None })
    }
}

fn json(report: &Report) -> Result<String, serde_json::Error> {
    serde_json::to_string(report)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_an_error_that_ends_a_job_belongs_to_a_group() {
        let (job, report) = (JobId::fresh(), Report::error("boom 3"));
        let dead = StoredReport::of(job, &Verdict::Dead(report.clone())).expect("a report is JSON");
        assert_eq!(dead.group, Some(ErrorGroup::of("boom 4")));
        let again = StoredReport::of(job, &Verdict::Retry { delay: Duration::ZERO, report }).expect("a report is JSON");
        assert_eq!(again, StoredReport { group: None, ..dead.clone() });
        assert_eq!(dead, StoredReport::of_end("boom 3").expect("a report is JSON"));
    }

    #[test]
    fn an_attempt_without_a_report_says_nothing() {
        assert_eq!(StoredReport::of(JobId::fresh(), &Verdict::Released).expect("there is none"), StoredReport::empty());
        assert_eq!(serde_json::from_str::<Report>("{}").expect("it is JSON"), Report::default());
    }
}
