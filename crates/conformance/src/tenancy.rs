//! The promises about tenants, keys, webhooks and the audit log, and the macro that stamps them onto a store that keeps them.
//!
//! A list of their own until every store keeps tenants; then they move into `suite.rs`.

/// Stamps them onto a store: `tenancy_suite!(make_subject)`, where `make_subject` is an `async fn() -> impl TenancySubject`
/// that makes a fresh, empty store. Each becomes a test such as `tenancy::keys::a_key_is_replaced_once`.
#[macro_export]
macro_rules! tenancy_suite {
    ($make:ident) => {
        mod tenancy {
            use super::$make as make_subject;
            $crate::for_every_tenancy_promise!($crate::stamp_promises);
        }
    };
}

/// Hands the list to another macro, like `for_every_promise!`.
#[doc(hidden)]
#[macro_export]
macro_rules! for_every_tenancy_promise {
    ($($callback:tt)+) => {
        $($callback)+! {
            callbacks {
                the_jobs_that_asked_are_found,
                a_job_that_asked_is_found_wherever_it_is,
                jobs_made_by_a_schedule_ask_too,
                a_delivery_asks_for_no_callback,
                what_a_job_is_found_by_stands_in_no_document,
            }
            couriers {
                the_courier_begins_at_the_end_of_the_log_and_stays_there,
                in_an_empty_log_the_courier_begins_at_the_beginning,
                couriers_that_come_at_once_begin_at_one_place,
                a_round_moves_the_courier_and_makes_jobs_to_claim,
                a_round_without_a_delivery_moves_the_courier_too,
                what_a_round_makes_stands_in_the_log_like_any_submission,
                a_round_wakes_those_who_claim_and_those_who_watch,
                a_round_from_elsewhere_writes_nothing,
                a_round_sent_again_doubles_nothing,
                what_is_there_of_a_round_already_is_made_once,
                of_two_couriers_at_once_one_wins,
                couriers_that_follow_tell_every_ending_once,
                a_dismissed_courier_posts_nothing_and_the_next_begins_at_the_end,
                what_the_courier_has_not_read_is_not_pruned,
                what_is_read_is_kept_for_its_time_all_the_same,
                what_nobody_read_for_a_week_is_pruned,
                a_dismissed_courier_keeps_nothing,
                a_round_of_many_is_written_whole,
            }
            deliveries_posted {
                a_delivery_survives_the_store_to_the_letter,
                deliveries_are_listed_the_newest_first_page_by_page,
                deliveries_are_listed_for_their_tenant_and_endpoint,
                a_callback_is_a_job_and_listed_nowhere,
                a_round_to_an_endpoint_that_is_gone_is_posted_all_the_same,
                a_delivery_beside_the_courier_is_made_once,
                a_delivery_can_be_made_where_there_is_no_courier,
                what_is_listed_outlives_the_job,
                deliveries_are_pruned_by_their_age,
                a_deleted_endpoint_takes_its_list_along_and_leaves_the_jobs,
                a_delivery_is_sent_again_by_a_redrive,
            }
            fairness_weights {
                three_times_the_weight_is_three_times_the_jobs,
                weights_count_over_queues_too,
                weights_count_for_retries_and_what_falls_due,
                a_changed_weight_counts_for_what_comes_after_it,
                the_burst_of_the_heaviest_tenant_delays_no_single_job,
            }
            keys {
                a_key_reads_back_as_it_was_made,
                a_key_sent_again_is_made_once,
                an_id_is_taken_once_whoever_asks,
                a_key_needs_a_tenant,
                another_tenants_key_is_not_there,
                a_key_nobody_made_is_not_there,
                the_door_finds_key_and_tenant_of_one_moment,
                the_door_sees_at_once_what_an_administrator_did,
                a_revoked_key_stays_revoked_since_the_first_time,
                keys_are_listed_by_id_page_by_page,
                a_use_is_noted_and_never_taken_back,
                a_replaced_key_goes_on_for_its_grace,
                a_key_gains_no_time_by_being_replaced,
                a_replacement_sent_again_is_made_once,
                a_key_is_replaced_once,
                what_opens_nothing_is_not_replaced,
                a_replacement_needs_an_id_of_its_own,
                of_many_replacements_at_once_one_takes_place,
                one_key_sent_twice_at_once_is_made_once,
            }
            passes {
                a_pass_reads_back_as_it_was_issued,
                a_pass_is_good_until_its_time_is_over,
                a_ticket_is_spent_once,
                of_many_who_show_one_ticket_at_once_one_is_let_in,
                a_session_is_not_spent,
                a_pass_sent_again_is_as_it_was,
                a_revoked_pass_opens_nothing,
                a_pass_that_is_over_was_not_revoked,
                what_is_good_for_nothing_is_pruned,
            }
            tenants_disabled {
                nothing_of_a_disabled_tenant_is_claimed,
                its_backlog_holds_nobody_up,
                a_job_that_must_run_alone_waits_too,
                what_runs_may_be_recorded_and_is_not_run_again,
                its_schedules_are_not_due_until_it_is_enabled,
                a_held_tick_waits_too,
                its_deliveries_wait,
                enabling_it_wakes_those_who_claim_and_fire,
            }
            tenants_kept {
                the_default_tenant_is_always_there,
                a_tenant_reads_back_as_it_was_made,
                a_tenant_nobody_made_is_not_there,
                a_tenant_sent_again_is_made_once,
                an_id_is_taken_once,
                of_many_made_with_one_id_at_once_one_is_made,
                tenants_are_listed_by_id_page_by_page,
                a_change_raises_the_version,
                a_change_of_what_was_not_seen_is_stale,
                a_change_sent_again_is_done_once,
                of_many_changes_at_once_one_takes_place,
                the_default_tenant_can_be_changed_and_not_deleted,
                a_tenant_is_deleted_when_it_is_disabled_and_owns_nothing,
                a_tenant_with_a_schedule_is_not_deleted,
                a_deleted_tenant_is_gone_with_its_keys,
                a_deletion_sent_again_is_answered_the_same,
                the_id_of_a_deleted_tenant_is_never_given_again,
            }
            terms {
                a_write_under_a_term_that_is_over_does_nothing,
            }
            trail {
                an_act_reads_back_as_it_was_told,
                an_act_told_again_is_kept_once,
                acts_of_one_tenant_can_be_asked_for,
                the_trail_is_read_page_by_page,
                the_trail_is_pruned_by_age,
                a_deleted_tenant_stays_in_the_trail,
            }
            webhooks_health {
                an_endpoint_is_failing_since_the_first_failure,
                an_arrival_ends_the_failing,
                five_days_of_failures_disable_by_the_times_of_the_tries,
                a_410_disables_at_once,
                an_edit_of_what_was_disabled_meanwhile_is_stale,
                health_raises_no_version,
                a_disabled_endpoint_is_answered_once,
                of_many_who_tell_at_once_one_disables,
                enabling_begins_the_health_anew,
                what_is_told_again_does_not_disable_what_was_enabled_since,
                an_old_failure_told_after_a_newer_arrival_disables_nothing,
                an_old_arrival_told_after_a_newer_failure_does_not_end_it,
                an_older_failure_moves_the_beginning_back,
                notes_told_twice_say_what_they_said_once,
                notes_of_another_tenant_pass_by,
            }
            webhooks_kept {
                an_endpoint_reads_back_as_it_was_made,
                an_endpoint_sent_again_is_made_once,
                one_endpoint_sent_twice_at_once_is_made_once,
                a_tenant_has_no_more_than_so_many,
                of_many_made_at_once_no_more_are_made_than_there_is_room_for,
                another_tenants_endpoint_is_not_there,
                an_endpoint_nobody_made_is_not_there,
                endpoints_are_listed_by_id_page_by_page,
                the_courier_is_told_of_those_that_are_enabled,
                a_change_of_an_endpoint_raises_its_version,
                a_change_of_an_endpoint_that_was_not_seen_is_stale,
                a_change_of_an_endpoint_sent_again_is_done_once,
                of_many_changes_of_an_endpoint_at_once_one_takes_place,
                a_deleted_endpoint_is_gone,
                a_deleted_tenant_takes_its_endpoints_along,
            }
        }
    };
}
