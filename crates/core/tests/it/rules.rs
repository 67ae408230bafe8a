//! Every rule of the protocol is missed when it is taken away.
//!
//! For each rule there is at least one promise that breaks without it and holds with it. A promise that cannot break is
//! a defect, and so is a rule that nobody would miss.

use std::future::Future;
use std::pin::Pin;

use foreman_core::conformance::chaos::{self, Mood};
use foreman_core::conformance::{Subject, rules};
use foreman_core::memory::Rule;

use crate::subject::{Memory, memory};

type Promise = for<'a> fn(&'a dyn Subject) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

macro_rules! table {
    ($($rule:ident => $promise:ident,)+) => {
        [$((Rule::$rule, stringify!($promise), (|subject| Box::pin(rules::$promise(subject))) as Promise),)+]
    };
}

/// Which promise is written for which rule.
const TABLE: [(Rule, &str, Promise); 19] = table! {
    OpenJobs => a_sweep_returns_only_what_is_still_open,
    OpenJobs => a_settlement_of_a_closed_job_in_an_open_claim_is_not_recorded_twice,
    SessionChecked => a_claim_that_arrives_after_its_session_was_swept_takes_nothing,
    SweepLooksAgain => a_session_renewed_since_the_sweeper_looked_is_not_swept,
    Tokens => a_claim_whose_answer_is_on_its_way_is_not_released,
    GivenUpEachTime => a_claim_that_commits_after_the_look_is_released_at_the_next,
    SettleRemembers => a_settlement_sent_again_is_told_from_a_zombies,
    FenceChecksSession => a_settlement_names_the_claim_and_the_session,
    NumbersNeverReused => a_number_is_never_used_again,
    CancelSettles => a_cancelled_job_never_runs_again,
    AttemptNeverFalls => two_tries_never_carry_one_number,
    ByIdObeysDue => a_claim_by_id_obeys_the_delay,
    RedriveRemovesOutcome => a_redrive_takes_the_outcome_away,
    CountedAtClaim => a_try_is_spent_by_the_claim,
    FragileAlone => a_job_at_its_last_crash_runs_alone,
    KeysAreFair => a_burst_does_not_delay_a_newcomer,
    FiringCompares => a_tick_computed_before_an_edit_does_not_land_after_it,
    EditsCompare => an_edit_loses_no_tick_that_was_due_before_it,
    TickOnce => a_tick_makes_one_job_however_often_its_time_comes,
};

/// Whether a promise holds, told by a task of its own whose panic can be caught.
async fn holds(subject: Memory, promise: Promise) -> bool {
    #[expect(clippy::disallowed_methods, reason = "a task is what catches a panic; it is awaited at once")]
    let told = tokio::spawn(async move { promise(&subject).await }).await;
    match told {
        Ok(()) => true,
        Err(error) => {
            assert!(error.is_panic(), "{error}");
            false
        }
    }
}

#[tokio::test]
async fn a_store_with_every_rule_keeps_every_rules_promise() {
    for (rule, name, promise) in TABLE {
        assert!(holds(memory().await, promise).await, "{name}, written for {rule:?}");
    }
}

#[tokio::test]
async fn a_store_without_a_rule_breaks_the_promise_written_for_it() {
    for (rule, name, promise) in TABLE {
        assert!(!holds(memory().await.without(rule), promise).await, "nobody misses {rule:?}: {name} holds without it");
    }
}

/// Fair order between tenants, and schedules: not what histories are about.
const OTHER_SUBJECTS: [Rule; 4] = [Rule::KeysAreFair, Rule::FiringCompares, Rule::EditsCompare, Rule::TickOnce];

/// The histories of [`chaos`] would notice too, whatever the rule about jobs.
#[tokio::test]
async fn random_histories_notice_that_a_rule_is_missing() {
    let rules = TABLE.map(|(rule, ..)| rule);
    for rule in rules.into_iter().filter(|rule| !OTHER_SUBJECTS.contains(rule)) {
        let mut noticed = false;
        for seed in 0..40 {
            let subject = memory().await.without(rule);
            #[expect(clippy::disallowed_methods, reason = "a task is what catches a panic; it is awaited at once")]
            let told = tokio::spawn(async move { chaos::history(&subject, Mood::Everything, seed).await }).await;
            if told.is_err() {
                noticed = true;
                break;
            }
        }
        assert!(noticed, "forty histories passed without {rule:?}");
    }
}
