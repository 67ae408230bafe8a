//! The end of every test: when nothing moves any more, is everything as promised?
//!
//! Three witnesses must agree: the clients (what was accepted), the target (what was called, under which fence) and the
//! database (what is recorded). The database is asked through the API, by `foreman check --deep`, and by SQL of our own.

use std::collections::{BTreeMap, BTreeSet};

use foreman_client::{Client, FilterDocument, JobDocument, State};
use foreman_core::outcome::AttemptOutcome;

use super::database::Database;
use super::fleet::Fleet;
use super::load::Tally;
use super::process::Role;
use super::target::{Call, Target, per_claim};
use super::until;

/// What the faults of a test may leave behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Workers died: attempts were spent on it, and a job that was there three times is dead.
    Crashes,
    /// Nobody died: every job is completed, and no attempt was spent but by the target's own refusals.
    NoCrashes,
}

pub struct Checker<'a> {
    pub fleet: &'a Fleet,
    pub database: &'a Database,
    pub target: &'a Target,
}

impl Checker<'_> {
    /// Waits until every job is final, then looks at all of them.
    pub async fn check(&self, tally: &Tally, allowed: Allowed) -> BTreeMap<String, JobDocument> {
        let client = self.fleet.client();
        self.quiet(&client).await;
        let jobs = all(&client).await;
        let calls = self.target.calls();
        assert!(!tally.accepted.is_empty(), "there was no load");
        for (key, id) in &tally.accepted {
            let job = jobs.get(id).unwrap_or_else(|| panic!("{key} was accepted as {id} and is not there"));
            assert_eq!(job.asked.idempotency_key.as_ref(), Some(key));
        }
        assert_eq!(jobs.len(), tally.accepted.len(), "one key, one job, however often it was sent");
        let attempts: usize = jobs.values().map(|job| assert_explained(job, allowed)).sum();
        assert_calls(&jobs, &calls);
        self.database.assert_clean().await;
        self.assert_one_place(jobs.len()).await;
        if self.fleet.has_relays() {
            self.assert_travelled(jobs.len()).await;
        }
        println!(
            "checked {} jobs, {attempts} attempts and {} calls; refused {:?}, unknown {}; faults: {}",
            jobs.len(),
            calls.len(),
            tally.refused,
            tally.unknown,
            self.fleet.faults
        );
        assert!(self.fleet.faults.total() > 0, "nothing was done to this fleet");
        jobs
    }

    /// Nothing waits, nothing runs. Counted three times in a row: a count goes from state to state, and may miss a job that
    /// does so too.
    async fn quiet(&self, client: &Client) {
        let mut zeros = 0;
        until("nothing is left unfinished", async || {
            let left = client.bulk_cancel(FilterDocument::default(), true).await.ok()?.matched;
            zeros = if left == 0 { zeros + 1 } else { 0 };
            (zeros == 3).then_some(())
        })
        .await;
    }

    /// There are two relays, and a good part of these jobs were announced by them or named to workers by a message: one that was
    /// started again has forgotten what it did before.
    async fn assert_travelled(&self, jobs: usize) {
        let (mut announced, mut named) = (0.0, 0.0);
        for relay in self.fleet.of(Role::Relay) {
            announced += relay.metric("foreman_relay_acknowledged_total").await.unwrap_or_default();
        }
        for worker in self.fleet.of(Role::Worker) {
            named += worker.series("foreman_jobs_claimed_total{named_by=\"broker\"}").await.unwrap_or_default();
        }
        println!("{announced} of {jobs} jobs were announced; messages named {named} for the workers that are left");
        assert!(self.fleet.of(Role::Relay).count() >= 2, "there are two relays");
        assert!(f64::max(announced, named) > jobs as f64 * 0.25, "many jobs travel through Kafka");
    }

    /// By a statement of our own, for the program's may be blind.
    async fn assert_one_place(&self, expected: usize) {
        let sql = self.database.connect("checker").await;
        let row = sql
            .query_one(
                "SELECT (SELECT count(*) FROM jobs), (SELECT count(*) FROM ready), (SELECT count(*) FROM claims),
                        (SELECT count(*) FROM outcomes), (SELECT count(*) FROM outcomes JOIN jobs ON jobs.id = outcomes.job)",
                &[],
            )
            .await
            .unwrap();
        let counts: Vec<i64> = (0..5).map(|column| row.get(column)).collect();
        let expected = i64::try_from(expected).unwrap();
        assert_eq!(counts, [expected, 0, 0, expected, expected], "jobs, ready, claims, outcomes, outcomes of jobs");
    }
}

/// What the target saw is what is recorded.
fn assert_calls(jobs: &BTreeMap<String, JobDocument>, calls: &[Call]) {
    let seen = per_claim(calls);
    let doubled: Vec<_> = seen.iter().filter(|(_, count)| **count > 1).collect();
    assert!(doubled.is_empty(), "called twice under one claim: {doubled:?}");
    for call in calls {
        let job = jobs.get(&call.job).unwrap_or_else(|| panic!("{} was called and is not there", call.job));
        let recorded = attempts_of(job).iter().find(|attempt| attempt.fence == Some(call.fence));
        let recorded = recorded.unwrap_or_else(|| panic!("{call:?} is not recorded: {job:#?}"));
        assert_eq!(recorded.number, call.attempt, "{job:#?}");
    }
    for job in jobs.values().filter(|job| job.asked.url.is_some()) {
        for attempt in attempts_of(job).iter().filter(|it| it.outcome == Some(AttemptOutcome::Completed)) {
            let fence = attempt.fence.expect("a try has its claim");
            assert!(seen.contains_key(&(job.id.as_str(), fence)), "{} is completed and was never called", job.id);
        }
    }
}

fn attempts_of(job: &JobDocument) -> &[foreman_client::AttemptDocument] {
    job.attempts.as_deref().expect("read one by one")
}

/// Each with its attempts.
async fn all(client: &Client) -> BTreeMap<String, JobDocument> {
    let mut pages = client.pages(FilterDocument::default());
    let mut jobs = BTreeMap::new();
    while let Some(page) = pages.next().await.unwrap() {
        for job in page {
            let job = client.get(&job.id).await.unwrap();
            jobs.insert(job.id.clone(), job);
        }
    }
    jobs
}

/// One outcome, by the last attempt; every attempt that was spent has a reason. Answers how many there were.
fn assert_explained(job: &JobDocument, allowed: Allowed) -> usize {
    let attempts = attempts_of(job);
    let id = &job.id;
    let count = |wanted: AttemptOutcome| attempts.iter().filter(|it| it.outcome == Some(wanted)).count() as u32;
    assert!(job.state.is_final(), "{id} is {}", job.state);
    assert_eq!(count(AttemptOutcome::Completed), u32::from(job.state == State::Completed), "{id}: {attempts:#?}");
    let last = attempts.last().unwrap_or_else(|| panic!("{id} ended without a try: {job:#?}"));
    if job.state == State::Completed {
        assert_eq!(last.outcome, Some(AttemptOutcome::Completed), "{id} went on after its end: {attempts:#?}");
    }
    let fences: BTreeSet<_> = attempts.iter().filter_map(|attempt| attempt.fence).collect();
    assert_eq!(fences.len(), attempts.len(), "{id}: an attempt was recorded twice: {attempts:#?}");
    let refunded = count(AttemptOutcome::Interrupted) + count(AttemptOutcome::Released);
    let crashed = count(AttemptOutcome::Lapsed) + u32::from(job.state == State::Dead);
    assert_eq!(job.crashes, crashed, "{id} has crashes that its attempts do not explain: {attempts:#?}");
    assert_eq!(
        job.spent,
        attempts.len() as u32 - refunded,
        "{id}: {} attempts, {refunded} of them given back: {job:#?}",
        attempts.len()
    );
    match allowed {
        Allowed::Crashes => {
            let has_reason = job.state == State::Completed || (job.state == State::Dead && job.crashes >= 3);
            assert!(has_reason, "{id} is {}, and nothing explains it: {job:#?}", job.state);
        }
        Allowed::NoCrashes => {
            assert_eq!(job.state, State::Completed, "{job:#?}");
            assert_eq!(job.crashes, 0, "{id}: a worker was taken for dead: {job:#?}");
            assert_eq!(job.spent, 1 + count(AttemptOutcome::Retry), "{id}: an attempt was spent: {job:#?}");
        }
    }
    attempts.len()
}
