//! The promises about announcing, and the macro that stamps them onto a store that stands beside a broker.

/// Stamps them onto a store: `announcing_suite!(make_subject)`, where `make_subject` is an
/// `async fn() -> impl AnnounceSubject` that makes a fresh, empty store. Each becomes a test such as
/// `announcing::announce::due_jobs_are_announced_once`.
#[macro_export]
macro_rules! announcing_suite {
    ($make:ident) => {
        mod announcing {
            use super::$make as make_subject;
            $crate::for_every_announcing_promise!($crate::stamp_promises);
        }
    };
}

/// Hands the list to another macro, like `for_every_promise!`.
#[doc(hidden)]
#[macro_export]
macro_rules! for_every_announcing_promise {
    ($($callback:tt)+) => {
        $($callback)+! {
            announce {
                due_jobs_are_announced_once,
                an_announcement_says_what_its_message_carries,
                no_more_is_announced_than_was_asked_for,
                what_is_not_due_is_not_announced,
                what_is_paused_is_not_announced,
                nothing_of_a_disabled_tenant_is_announced,
                what_has_expired_is_not_announced,
                only_what_the_consumers_serve_is_announced,
                a_job_that_must_run_alone_is_not_announced,
                lanes_are_announced_as_the_plan_says,
                tenants_take_turns,
                a_newcomer_stands_right_behind_what_is_announced,
                a_heavier_tenant_is_announced_more_often,
                a_tenant_without_room_is_passed_over,
                what_is_announced_takes_of_its_tenants_room,
                an_announced_job_is_claimed_by_its_id,
                an_announced_job_is_claimed_by_order_too,
                a_claim_of_what_is_unannounced_leaves_the_rest_to_the_broker,
                a_claim_of_what_is_unannounced_is_fair_too,
                a_job_that_comes_back_is_announced_again,
                a_redriven_job_is_announced_again,
                a_cancelled_job_is_not_announced,
                relays_at_once_announce_every_job_once,
                relays_and_claims_at_once_lose_nothing,
            }
            announce_again {
                what_the_broker_did_not_accept_is_announced_again_after_a_pause,
                the_pause_grows_with_every_failure,
                an_acknowledgement_sent_again_changes_nothing,
                an_acknowledgement_of_an_unknown_batch_changes_nothing,
                a_batch_that_nobody_acknowledged_is_announced_again,
                what_nobody_claimed_for_too_long_is_announced_again,
                only_what_still_waits_is_announced_again,
                of_very_many_batches_some_are_forgotten_at_a_time,
                a_late_acknowledgement_touches_no_later_batch,
                a_refused_job_is_announced_again_after_a_pause,
                the_pause_grows_with_every_refusal,
                a_refusal_of_a_job_that_is_not_announced_costs_it_nothing,
                a_job_that_comes_back_has_no_pause,
                a_job_in_a_pause_is_claimed_all_the_same,
                a_broker_that_loses_everything_loses_no_job,
            }
            outstanding {
                what_is_announced_and_waits_is_outstanding,
                what_was_claimed_is_not_outstanding,
                what_ended_while_it_waited_is_not_outstanding,
                every_relay_sees_what_all_have_announced,
                the_count_of_very_many_is_about_right,
                what_waits_to_be_announced_is_counted,
                what_is_paused_or_disabled_or_must_run_alone_does_not_wait_to_be_announced,
                the_oldest_that_waits_to_be_announced_is_told,
                sessions_that_take_work_from_a_broker_are_told,
                a_session_that_is_not_live_consumes_nothing,
            }
            parked {
                a_parked_message_is_kept_as_it_came,
                a_message_parked_again_is_there_once,
                a_large_message_is_cut_and_its_size_kept,
                parked_messages_are_listed_the_newest_first_page_by_page,
                parked_messages_are_pruned_by_their_age,
            }
        }
    };
}
