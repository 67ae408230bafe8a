//! Every rule of the protocol is missed when it is taken away.
//!
//! For each rule there is at least one promise that breaks without it and holds with it. A promise that cannot break is
//! a defect, and so is a rule that nobody would miss.

use std::future::Future;
use std::pin::Pin;

use foreman_conformance::chaos::{self, Mood};
use foreman_conformance::{TenancySubject, couriers, rooms, rules, webhooks_health};
use foreman_core::memory::Rule;

use crate::subject::{Memory, memory};

type Promise = for<'a> fn(&'a dyn TenancySubject) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

macro_rules! table {
    ($($rule:ident => $file:ident::$promise:ident,)+) => {
        [$((Rule::$rule, stringify!($promise), (|subject| Box::pin($file::$promise(subject))) as Promise),)+]
    };
}

/// Which promise is written for which rule.
const TABLE: [(Rule, &str, Promise); 26] = table! {
    OpenJobs => rules::a_sweep_returns_only_what_is_still_open,
    OpenJobs => rules::a_settlement_of_a_closed_job_in_an_open_claim_is_not_recorded_twice,
    SessionChecked => rules::a_claim_that_arrives_after_its_session_was_swept_takes_nothing,
    SweepLooksAgain => rules::a_session_renewed_since_the_sweeper_looked_is_not_swept,
    Tokens => rules::a_claim_whose_answer_is_on_its_way_is_not_released,
    GivenUpEachTime => rules::a_claim_that_commits_after_the_look_is_released_at_the_next,
    SettleRemembers => rules::a_settlement_sent_again_is_told_from_a_zombies,
    FenceChecksSession => rules::a_settlement_names_the_claim_and_the_session,
    NumbersNeverReused => rules::a_number_is_never_used_again,
    CancelSettles => rules::a_cancelled_job_never_runs_again,
    AttemptNeverFalls => rules::two_tries_never_carry_one_number,
    ByIdObeysDue => rules::a_claim_by_id_obeys_the_delay,
    RedriveRemovesOutcome => rules::a_redrive_takes_the_outcome_away,
    CountedAtClaim => rules::a_try_is_spent_by_the_claim,
    FragileAlone => rules::a_job_at_its_last_crash_runs_alone,
    KeysAreFair => rules::a_burst_does_not_delay_a_newcomer,
    FiringCompares => rules::a_tick_computed_before_an_edit_does_not_land_after_it,
    EditsCompare => rules::an_edit_loses_no_tick_that_was_due_before_it,
    TickOnce => rules::a_tick_makes_one_job_however_often_its_time_comes,
    RoomsObeyed => rooms::a_tenant_without_room_is_passed_over_and_others_are_served,
    RoomsObeyed => rooms::a_claim_takes_no_more_of_a_tenant_than_there_is_room_for,
    AdvanceCompares => couriers::a_round_from_elsewhere_writes_nothing,
    AdvanceCompares => couriers::of_two_couriers_at_once_one_wins,
    PruneWaitsForFollowers => couriers::what_the_courier_has_not_read_is_not_pruned,
    OldNotesPass => webhooks_health::an_old_failure_told_after_a_newer_arrival_disables_nothing,
    OldNotesPass => webhooks_health::what_is_told_again_does_not_disable_what_was_enabled_since,
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

/// Shares between tenants, schedules and webhooks: not what histories are about.
const OTHER_SUBJECTS: [Rule; 8] = [
    Rule::KeysAreFair,
    Rule::FiringCompares,
    Rule::EditsCompare,
    Rule::TickOnce,
    Rule::RoomsObeyed,
    Rule::AdvanceCompares,
    Rule::PruneWaitsForFollowers,
    Rule::OldNotesPass,
];

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
