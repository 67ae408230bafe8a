//! Where the time of a pick-up goes, step by step, on the clock that all processes of one machine share.
//!
//! The server notes when the transaction began that accepted a job, and when the one began that claimed it. What lies between
//! those two and the moments that the client sees is all there is.

use anyhow::{Context as _, Result};
use foreman_core::Timestamp;
use foreman_runtime::clock;

use crate::http::{Answer, Connection};

/// The moments of each pick-up, in microseconds.
#[derive(Default)]
pub struct Steps(Vec<Moments>);

struct Moments {
    job: String,
    sent: i64,
    answered: i64,
    called: i64,
}

impl Steps {
    pub fn now() -> i64 {
        clock::now()
    }

    /// A job that was submitted, with its answer, and has been called.
    pub fn add(&mut self, answer: &Answer, sent: i64, answered: i64, called: i64) -> Result<()> {
        let document: serde_json::Value = serde_json::from_slice(&answer.body)?;
        let job = document["id"].as_str().context("an answer with an id")?.to_owned();
        self.0.push(Moments { job, sent, answered, called });
        Ok(())
    }

    /// The median of each step.
    pub async fn medians(self, connection: &mut Connection) -> Result<StepTimes> {
        let mut steps: [Vec<i64>; 4] = Default::default();
        for Moments { job, sent, answered, called } in self.0 {
            let answer = connection.get(&format!("/api/v1/jobs/{job}")).await?;
            let document: serde_json::Value = serde_json::from_slice(&answer.body)?;
            let moment = |value: &serde_json::Value| -> Result<i64> {
                Ok(value.as_str().context("a time")?.parse::<Timestamp>().map_err(anyhow::Error::msg)?.as_micros())
            };
            let (accepting, claiming) =
                (moment(&document["created_at"])?, moment(&document["attempts"][0]["started_at"])?);
            let took = [accepting - sent, claiming - accepting, called - claiming, answered - sent];
            steps.iter_mut().zip(took).for_each(|(step, took)| step.push(took));
        }
        let [until_written, until_claimed, until_called, answered] = steps.map(|mut took| {
            took.sort_unstable();
            took.get(took.len() / 2).map_or(f64::NAN, |micros| *micros as f64 / 1_000.0)
        });
        Ok(StepTimes { until_written, until_claimed, until_called, answered })
    }
}

/// In milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct StepTimes {
    until_written: f64,
    until_claimed: f64,
    until_called: f64,
    answered: f64,
}

impl StepTimes {
    pub fn lines(&self) -> impl Iterator<Item = (&'static str, f64)> {
        [
            ("request until the job is being written", self.until_written),
            ("then until it is being claimed (commit, wake-up)", self.until_claimed),
            ("then until its target is called (look, claim, commit, connect)", self.until_called),
            ("request until the client has its 202", self.answered),
        ]
        .into_iter()
    }
}
