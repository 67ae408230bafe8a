//! Counts and times what a store is called for: a hook around every call.
//!
//! It decides nothing and keeps nothing back; with it or without it the store does the same. A call that its caller gives
//! up is counted as such: what became of it is not known here either.

use std::sync::Arc;

use foreman_core::ports::intercept::{Call, Hook, Verb};
use foreman_core::ports::{
    Claim, ClaimAnswer, ClaimRequest, Due, Fired, Firing, Heartbeat, Leader, OpenJob, PruneKind, PruneStep, Pulse,
    Retention, SessionInfo, Settled, Settlement, StoreError, Submitted,
};
use foreman_core::{ClaimToken, NewJob, SessionId};
use tokio::time::Instant;

use super::Metrics;

/// `foreman_store_call_seconds` and `foreman_store_errors_total` of every verb, and what the answers of some say about jobs
/// and sessions.
pub struct StoreMeter(Arc<Metrics>);

impl StoreMeter {
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self(metrics)
    }
}

impl Hook for StoreMeter {
    async fn around<T: Send>(&self, verb: Verb, call: impl Call<T>) -> Result<T, StoreError> {
        let (metrics, verb) = (&self.0, verb.name());
        let mut given_up = GivenUp { metrics, verb, is_over: false };
        let start = Instant::now();
        let answer = call.await;
        given_up.is_over = true;
        metrics.store_calls.get_or_create(&[("verb", verb)]).observe(start.elapsed().as_secs_f64());
        if let Err(error) = &answer {
            metrics.store_errors.get_or_create(&[("verb", verb), ("kind", kind(error))]).inc();
        }
        answer
    }

    async fn submit(&self, _: &[NewJob], call: impl Call<Vec<Submitted>>) -> Result<Vec<Submitted>, StoreError> {
        let answers = self.around(Verb::Submit, call).await?;
        let words = answers.iter().map(|answer| match answer {
            Submitted::Accepted(_) => "accepted",
            Submitted::Duplicate(_) => "duplicate",
            Submitted::KeyReused(_) => "key_reused",
        });
        for (word, count) in tally(words) {
            self.0.submitted.get_or_create(&[("answer", word)]).inc_by(count);
        }
        Ok(answers)
    }

    async fn claim(&self, request: &ClaimRequest, call: impl Call<ClaimAnswer>) -> Result<ClaimAnswer, StoreError> {
        let answer = self.around(Verb::Claim, call).await?;
        if let ClaimAnswer::Claimed(Claim { refused, .. }) | ClaimAnswer::Nothing { refused, .. } = &answer {
            for (why, count) in tally(refused.iter().map(|one| one.why.as_str())) {
                self.0.claims_refused.get_or_create(&[("reason", why)]).inc_by(count);
            }
        }
        if let ClaimAnswer::Claimed(claim) = &answer {
            self.0.claims.inc();
            let named_by = if request.wanted.is_in_order() { "order" } else { "broker" };
            self.0.claimed.get_or_create(&[("named_by", named_by)]).inc_by(claim.jobs.len() as u64);
            self.0.held.claimed(claim.jobs.iter().map(|held| OpenJob { fence: held.fence, job: held.job.id }));
        }
        Ok(answer)
    }

    async fn settle(
        &self,
        _: SessionId,
        settlements: &[Settlement],
        call: impl Call<Vec<Settled>>,
    ) -> Result<Vec<Settled>, StoreError> {
        let answers = self.around(Verb::Settle, call).await?;
        let words = settlements.iter().zip(&answers).map(|(settlement, answer)| {
            let word = match answer {
                Settled::Now => "now",
                Settled::Before => "before",
                Settled::Fenced => "fenced",
            };
            (settlement.verdict.name().as_str(), word)
        });
        for ((outcome, word), count) in tally(words) {
            self.0.outcomes.get_or_create(&[("outcome", outcome), ("answer", word)]).inc_by(count);
            if word == "fenced" {
                self.0.outcomes_fenced.inc_by(count);
            }
        }
        self.0.held.settled(settlements.iter().map(|it| OpenJob { fence: it.fence, job: it.job }));
        Ok(answers)
    }

    async fn register(&self, _: &SessionInfo, call: impl Call<()>) -> Result<(), StoreError> {
        self.around(Verb::Register, call).await?;
        // A life that ends in good order says so; one that begins while another is open has lost that one.
        if self.0.begin_session() {
            self.0.sessions_lost.inc();
        }
        self.0.held.clear();
        Ok(())
    }

    async fn heartbeat(
        &self,
        _: SessionId,
        _: &[ClaimToken],
        call: impl Call<Heartbeat>,
    ) -> Result<Heartbeat, StoreError> {
        let look = self.0.held.look();
        let answer = self.around(Verb::Heartbeat, call).await?;
        if let Heartbeat::Renewed { held } = &answer {
            self.0.beat();
            self.0.held.found(look, held);
        }
        Ok(answer)
    }

    async fn held(&self, _: SessionId, call: impl Call<Vec<OpenJob>>) -> Result<Vec<OpenJob>, StoreError> {
        let look = self.0.held.look();
        let held = self.around(Verb::Held, call).await?;
        self.0.held.found(look, &held);
        Ok(held)
    }

    async fn end(&self, _: SessionId, call: impl Call<usize>) -> Result<usize, StoreError> {
        let returned = self.around(Verb::End, call).await?;
        self.0.end_session();
        Ok(returned)
    }

    async fn lapse(&self, _: Pulse, call: impl Call<Option<usize>>) -> Result<Option<usize>, StoreError> {
        let lapsed = self.around(Verb::Lapse, call).await?;
        if let Some(jobs) = lapsed {
            self.0.sessions_lapsed.inc();
            self.0.jobs_lapsed.inc_by(jobs as u64);
        }
        Ok(lapsed)
    }

    async fn promote(&self, _: usize, call: impl Call<Due>) -> Result<Due, StoreError> {
        let due = self.around(Verb::Promote, call).await?;
        self.0.promoted.inc_by(due.promoted as u64);
        self.0.expired.inc_by(due.expired as u64);
        Ok(due)
    }

    async fn prune_kind(
        &self,
        _: Option<&Leader>,
        kind: PruneKind,
        _: &Retention,
        _: usize,
        call: impl Call<Option<PruneStep>>,
    ) -> Result<Option<PruneStep>, StoreError> {
        let step = self.around(Verb::Prune, call).await?;
        let removed = step.as_ref().map_or(0, |step| step.removed as u64);
        match kind {
            PruneKind::Jobs => drop(self.0.pruned.inc_by(removed)),
            PruneKind::Ticks => drop(self.0.ticks_pruned.inc_by(removed)),
            _ => {}
        }
        Ok(step)
    }

    async fn fire(
        &self,
        _: Option<&Leader>,
        _: &[Firing],
        call: impl Call<Option<Vec<Fired>>>,
    ) -> Result<Option<Vec<Fired>>, StoreError> {
        let fired = self.around(Verb::Fire, call).await?;
        let jobs = fired.iter().flatten().map(|fired| match fired {
            Fired::Done(jobs) => jobs.len() as u64,
            Fired::Stale | Fired::CancelFirst(_) => 0,
        });
        self.0.schedules_fired.inc_by(jobs.sum());
        Ok(fired)
    }
}

/// How often each of a few words comes up in a batch: its counter is then looked for once, and not for each job.
fn tally<Word: PartialEq>(words: impl Iterator<Item = Word>) -> Vec<(Word, u64)> {
    let mut counts: Vec<(Word, u64)> = Vec::new();
    for word in words {
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    counts
}

/// Notices a call that is dropped before its answer.
struct GivenUp<'a> {
    metrics: &'a Metrics,
    verb: &'static str,
    is_over: bool,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.metrics.store_errors.get_or_create(&[("verb", self.verb), ("kind", "given_up")]).inc();
        }
    }
}

fn kind(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unavailable(_) | StoreError::Internal(_) => "unavailable",
        StoreError::Full(_) => "full",
        StoreError::Damaged(_) => "damaged",
        StoreError::Broken(_) => "broken",
        StoreError::Closed => "closed",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use foreman_api::Meter as _;
    use foreman_core::key::KeyId;
    use foreman_core::memory::{self, LocalWakeups, ManualClock};
    use foreman_core::ports::intercept::Intercepted;
    use foreman_core::ports::{KeyStore as _, SessionStore as _};

    use super::*;
    use crate::role::Role;

    fn metered(metrics: &Arc<Metrics>) -> Intercepted<memory::Store, StoreMeter> {
        let inner = memory::Store::new(Arc::new(ManualClock::new()), Arc::new(LocalWakeups::new()));
        Intercepted::new(Arc::new(inner), StoreMeter::new(Arc::clone(metrics)))
    }

    fn info() -> SessionInfo {
        SessionInfo {
            id: SessionId::fresh(),
            worker: "w".into(),
            pid: 1,
            version: "0".into(),
            slots: 1,
            queues: Vec::new(),
            tasks: Vec::new(),
            consumes: None,
            ttl: Duration::from_secs(15),
        }
    }

    #[tokio::test]
    async fn a_session_that_is_followed_by_another_without_an_end_was_lost() {
        let metrics = Arc::new(Metrics::new(Role::Worker));
        let store = metered(&metrics);
        let (first, second, third) = (info(), info(), info());
        store.register(&first).await.expect("registered");
        store.end(first.id).await.expect("ended");
        store.register(&second).await.expect("registered");
        assert_eq!(metrics.sessions_lost.get(), 0);
        store.register(&third).await.expect("registered");
        assert_eq!(metrics.sessions_lost.get(), 1);
        let text = metrics.text();
        assert!(text.contains("foreman_store_call_seconds_count{verb=\"register\"} 3"), "{text}");
    }

    #[tokio::test]
    async fn a_call_that_is_given_up_is_counted() {
        let metrics = Arc::new(Metrics::new(Role::Worker));
        let store = metered(&metrics);
        let hanging = store.around(Verb::Submit, std::future::pending::<Result<(), StoreError>>());
        assert!(tokio::time::timeout(Duration::from_millis(5), hanging).await.is_err());
        let text = metrics.text();
        assert!(text.contains("foreman_store_errors_total{verb=\"submit\",kind=\"given_up\"} 1"), "{text}");
    }

    #[tokio::test]
    async fn questions_about_keys_are_timed_too() {
        let metrics = Arc::new(Metrics::new(Role::Api));
        let nobody = KeyId::from_stored("nobody");
        assert!(metered(&metrics).look_up_key(&nobody).await.expect("asked").is_none());
        let text = metrics.text();
        assert!(text.contains("foreman_store_call_seconds_count{verb=\"look_up_key\"} 1"), "{text}");
    }
}
