//! The list of all promises, and the macro that stamps them onto a store.
//!
//! A promise that is not in this list is not kept by anybody: `tests/it/list.rs` compares the list with the files.

/// Stamps every promise onto a store: `conformance_suite!(make_subject)`, where `make_subject` is an
/// `async fn() -> impl Subject` that makes a fresh, empty store. Each promise becomes a test of its own, such as
/// `conformance::settle::a_zombie_is_fenced`. The calling crate has tokio with `macros` and `rt-multi-thread` among its
/// dev-dependencies.
#[macro_export]
macro_rules! conformance_suite {
    ($make:ident) => {
        mod conformance {
            use super::$make as make_subject;
            $crate::for_every_promise!($crate::stamp_promises);

            mod chaos {
                $crate::stamp_histories! {
                    calm_histories_end_well: Calm,
                    lossy_histories_end_well: Lossy,
                    deadly_histories_end_well: Deadly,
                    histories_with_meddling_users_end_well: Meddling,
                    histories_with_everything_end_well: Everything,
                }
            }
        }
    };
}

/// One test for each promise, in a module for each file.
#[doc(hidden)]
#[macro_export]
macro_rules! stamp_promises {
    ($($file:ident { $($promise:ident,)+ })+) => {
        $(mod $file {
            $(#[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                let subject = super::make_subject().await;
                $crate::$file::$promise(&subject).await;
                $crate::audit::a_clean_end(&subject).await;
            })+
        })+
    };
}

/// One test for each mood; every history has a store of its own.
#[doc(hidden)]
#[macro_export]
macro_rules! stamp_histories {
    ($($name:ident: $mood:ident,)+) => {
        $(#[::tokio::test]
        async fn $name() {
            use $crate::{Subject as _, chaos};
            let histories = super::make_subject().await.histories().div_ceil(5);
            for seed in 0..histories {
                let subject = super::make_subject().await;
                chaos::history(&subject, chaos::Mood::$mood, seed).await;
            }
        })+
    };
}

/// Hands the list of promises to another macro: `file { promise, promise, } file { … }`.
#[doc(hidden)]
#[macro_export]
macro_rules! for_every_promise {
    ($($callback:tt)+) => {
        $($callback)+! {
            attempts {
                an_attempt_is_counted_when_it_is_claimed,
                the_attempt_number_never_falls,
                only_refunded_tries_do_not_count_against_the_limit,
                a_try_is_refunded_once_however_often_it_is_said,
                a_given_up_claim_is_refunded_once,
                a_lapse_keeps_the_try_spent_and_adds_a_crash,
                every_try_is_on_record_in_order,
                a_cancelled_try_is_on_record,
                a_job_that_ended_while_it_waited_shows_how_without_a_try,
                counters_of_neighbours_in_one_claim_are_their_own,
                attempts_go_on_counting_after_a_redrive,
                attempts_come_page_by_page,
                jobs_that_ended_at_once_are_read_together_as_each_would_be_alone,
                a_page_of_attempts_has_so_many_bytes,
                of_very_many_attempts_the_first_and_the_latest_are_kept,
                a_job_cancelled_and_run_again_very_often_keeps_so_many_endings,
            }
            audit {
                an_empty_store_is_clean,
                every_job_is_counted_in_its_place,
                a_claim_partly_settled_is_clean,
                a_busy_store_is_clean_at_every_moment,
            }
            cancel {
                a_waiting_job_is_cancelled_at_once,
                a_held_job_is_cancelled_at_once_and_its_holder_named,
                what_the_worker_reports_after_a_cancel_is_refused,
                a_final_job_is_not_cancelled,
                a_job_nobody_submitted_is_not_found,
                many_are_cancelled_in_one_call_and_answered_in_order,
                cancelling_one_leaves_its_neighbours_held,
                a_cancelled_job_does_not_come_back_with_its_session,
                of_a_cancel_and_a_settlement_at_once_exactly_one_wins,
                of_many_cancels_at_once_one_ends_the_job,
                a_job_on_the_move_is_found,
                of_a_cancel_and_a_lapse_at_once_the_job_ends_cancelled,
                of_a_cancel_and_a_claim_at_once_nothing_cancelled_runs_on,
            }
            changes {
                a_job_leaves_one_entry_for_every_move,
                every_way_to_end_is_in_the_log,
                what_changed_nothing_leaves_no_entry,
                a_batch_names_each_of_its_jobs,
                a_reader_at_the_end_sees_nothing_until_something_moves,
                pages_of_any_size_read_the_same_log,
                a_page_that_is_not_full_is_the_last,
                the_log_can_be_read_from_the_beginning,
                a_reader_that_follows_misses_nothing,
                every_move_is_one_that_the_states_allow,
            }
            claim {
                thirty_claimers_never_share_a_job,
                one_job_wanted_by_many_goes_to_one,
                a_claim_is_a_copy,
                a_held_job_says_everything_needed_to_run_it,
                a_claimed_job_is_running_and_shows_who_runs_it,
                an_empty_store_has_nothing_to_take,
                a_claim_takes_no_more_than_its_limit,
                the_jobs_of_one_claim_share_one_number,
                only_what_the_worker_can_run_is_taken,
                only_the_named_queues_are_taken,
                a_paused_queue_is_left_alone_until_it_is_resumed,
                pausing_and_resuming_tell_whether_they_changed_anything,
                one_tenants_pause_leaves_another_tenants_queue_running,
                what_runs_in_a_paused_queue_goes_on,
                a_claim_by_ids_takes_just_those,
                a_claim_by_ids_drops_what_is_not_waiting,
                a_claim_by_ids_takes_a_job_named_twice_once,
                a_claim_by_ids_obeys_pause_queue_and_route,
                a_job_is_not_claimed_before_its_time,
                a_retry_is_not_claimed_before_its_delay,
                a_draining_session_claims_nothing,
                an_ended_session_claims_nothing,
                a_lapsed_session_claims_nothing,
                a_session_nobody_registered_claims_nothing,
                a_claim_sent_again_answers_the_same_claim,
                a_claim_sent_again_shows_what_is_still_open,
                the_token_of_one_session_says_nothing_to_another,
                one_claim_sent_twice_at_once_takes_one_batch,
                jobs_of_all_tenants_are_served_by_one_session,
            }
            counts {
                what_is_held_is_counted_for_each_tenant,
                what_is_settled_runs_no_more,
                what_is_cancelled_runs_no_more,
                what_a_session_held_runs_no_more_when_it_is_over,
                what_waits_is_counted_whatever_it_waits_for,
                what_waits_is_counted_no_further_than_enough,
                queues_are_counted_while_jobs_wait_in_them,
                queues_are_counted_no_further_than_enough,
                it_is_known_in_which_queues_jobs_wait,
            }
            crashes {
                three_crashes_make_a_job_dead_by_poison,
                a_dead_session_crashes_only_what_it_held,
                a_job_whose_attempts_run_out_by_lapses_is_dead,
                a_fragile_job_is_passed_over_in_company,
                a_claim_in_company_tells_that_a_fragile_job_waits,
                a_fragile_job_is_claimed_alone,
                a_fragile_job_is_claimed_alone_by_id_too,
                two_fragile_jobs_are_claimed_one_at_a_time,
                a_fragile_job_the_worker_cannot_run_is_not_waited_for,
                being_handed_back_is_no_crash,
                a_redrive_forgives_crashes,
                poison_takes_no_neighbours_along,
            }
            expiry {
                a_job_that_did_not_start_in_time_fails_as_expired,
                a_job_is_not_expired_before_its_time,
                an_expired_job_is_not_claimed_even_before_anyone_noticed,
                a_running_job_does_not_expire,
                a_retry_expires_too,
                a_scheduled_job_that_is_due_and_expired_does_not_run,
                at_most_so_many_expire_in_one_step,
            }
            failure_groups {
                a_store_without_failures_has_no_groups,
                errors_that_differ_in_numbers_are_one_group,
                the_largest_group_comes_first_then_the_latest,
                what_is_left_out_is_said,
                a_group_is_counted_no_further_than_enough,
                each_tenant_has_its_own_groups,
                jobs_that_the_store_gave_up_are_grouped_too,
                lists_and_counts_can_ask_for_a_group,
                a_group_combines_with_other_filters,
                a_group_is_redriven_and_the_others_stay,
                a_group_goes_with_its_last_job,
                a_job_that_expired_is_in_a_group_of_failures,
                failed_and_dead_jobs_are_grouped_apart,
                deliveries_that_failed_are_in_no_group,
            }
            followers {
                a_new_follower_begins_where_it_says,
                each_follower_has_its_own_position,
                a_follower_that_was_never_added_writes_nothing,
                of_followers_of_one_name_at_once_one_writes,
                what_any_follower_has_not_read_is_kept_and_it_is_named,
                a_follower_holds_the_log_back_for_a_week,
                a_follower_that_never_asked_holds_nothing_back,
            }
            fairness {
                a_single_job_is_in_one_of_the_next_two_claims,
                a_single_job_in_another_queue_is_as_soon,
                single_jobs_one_after_another_are_each_as_soon,
                single_jobs_one_after_another_leave_the_burst_its_half,
                a_single_retry_is_as_soon,
                a_single_job_that_fell_due_is_as_soon,
                a_job_that_many_promoters_see_is_charged_once,
                a_burst_over_many_queues_delays_no_more,
                a_burst_over_very_many_queues_delays_no_more,
                a_burst_of_many_batches_at_once_delays_no_more,
                a_tenant_that_was_idle_for_long_is_as_soon,
                what_is_claimed_by_other_workers_pushes_no_newcomer_back,
                what_is_claimed_by_its_id_pushes_no_newcomer_back,
                what_runs_alone_pushes_no_newcomer_back,
                workers_of_one_queue_do_not_make_another_unfair,
                a_burst_in_one_lane_leaves_the_others_alone,
                a_hundred_tenants_each_get_their_share,
                a_hundred_tenants_in_queues_of_their_own_each_get_their_share,
            }
            held_by {
                what_is_held_is_shown_with_whose_it_is_and_since_when,
                the_longest_held_comes_first_and_no_more_than_asked_for,
                only_what_is_still_open_is_shown,
            }
            idempotency {
                a_key_stands_for_content_that_was_kept_under_a_former_fingerprint,
                a_key_sent_again_names_the_first_job,
                a_key_with_other_content_is_refused,
                what_a_key_refuses_writes_nothing,
                keys_of_two_tenants_never_meet,
                inside_one_batch_keys_are_judged_in_order,
                the_owner_of_a_key_sent_again_is_accepted_again,
                a_key_stands_for_its_job_after_the_job_is_final,
                a_key_is_forgotten_when_its_time_is_over,
                a_pruned_key_can_be_used_again,
                removing_a_job_frees_its_key,
                removing_a_job_leaves_a_key_that_was_taken_over,
                of_many_submissions_with_one_key_one_is_accepted,
            }
            labels {
                jobs_are_labelled_by_kind_and_tags,
                a_job_is_labelled_wherever_it_is_until_it_is_gone,
                a_wish_to_be_called_back_is_no_label,
            }
            listing {
                an_empty_store_lists_nothing,
                jobs_are_listed_newest_first,
                a_listed_job_says_where_it_stands,
                a_list_leaves_out_what_may_be_large,
                every_state_can_be_asked_for,
                each_filter_finds_its_own,
                the_time_of_creation_can_be_bounded,
                filters_combine,
                a_final_state_is_listed_by_when_it_was_reached,
                jobs_that_ended_in_one_moment_are_paged_without_loss,
                a_page_as_long_as_the_list_is_the_last,
                a_cursor_survives_its_text,
                walking_the_pages_while_jobs_come_in_finds_each_old_one_once,
                walking_the_pages_while_jobs_end_finds_each_once,
                the_store_answers_a_ping,
                a_job_nobody_submitted_is_not_there,
                deliveries_are_listed_only_where_their_queue_is_named,
            }
            log_start {
                an_empty_log_starts_where_it_ends,
                while_nothing_is_pruned_the_whole_log_can_be_read_from_its_start,
                what_is_left_after_pruning_can_be_read_from_the_start,
                who_stood_before_what_was_pruned_is_known,
                who_has_read_everything_can_read_on_whatever_was_pruned,
                the_start_goes_along_with_pruning_in_steps,
                no_place_that_was_told_lies_beyond_the_last,
            }
            machine {
                falling_due_follows_the_table,
                claiming_follows_the_table,
                completing_follows_the_table,
                failing_follows_the_table,
                giving_up_follows_the_table,
                planning_a_retry_follows_the_table,
                returning_follows_the_table,
                cancelling_follows_the_table,
                expiring_follows_the_table,
                redriving_follows_the_table,
            }
            notes {
                a_worker_that_comes_drains_and_goes_is_told_of,
                a_worker_that_dies_is_told_of_with_what_it_held,
                what_a_worker_does_again_or_in_vain_is_not_told,
                a_pulse_that_did_not_lapse_is_not_told,
                a_queue_that_is_paused_or_resumed_is_told_of_once,
                what_is_done_to_a_schedule_is_told,
                what_is_refused_or_sent_again_of_a_schedule_is_not_told,
                a_tick_that_fires_is_told_with_its_job,
                a_tick_by_hand_is_told_once,
                every_tick_that_was_decided_is_told,
                a_firing_that_does_nothing_is_not_told,
                a_tick_that_must_wait_for_a_cancel_is_not_told_yet,
                a_note_says_whose_it_is,
                a_name_of_any_letters_is_told_to_the_letter,
                a_note_wakes_those_who_watch,
                ticks_by_hand_in_one_moment_are_told_apart,
            }
            order {
                jobs_of_one_tenant_run_in_the_order_they_came,
                high_goes_before_normal_goes_before_low,
                one_claim_over_several_lanes_fills_up_from_the_highest,
                a_plan_gives_a_lower_lane_its_pick,
                a_favoured_lane_that_is_empty_costs_nothing,
                a_plan_that_asks_one_lane_takes_from_no_other,
                the_low_lane_is_not_starved_by_a_flood_of_high,
                a_single_job_goes_ahead_of_another_tenants_burst,
                a_burst_in_the_same_batch_does_not_delay_a_neighbour,
                tenants_share_a_lane_evenly,
                a_tenant_that_was_idle_saves_nothing_up,
                parked_jobs_do_not_jump_the_line_when_they_fall_due,
                service_in_one_queue_is_not_held_against_a_tenant_in_another,
                a_busy_queue_does_not_push_a_newcomer_back_in_another,
                a_new_queue_does_not_go_ahead_of_one_that_has_served_much,
                jobs_that_do_different_things_keep_their_order,
                a_retry_queues_behind_what_was_waiting,
                a_tenant_whose_jobs_all_fail_does_not_starve_the_others,
                an_interrupted_job_goes_to_the_front,
                a_lapsed_job_goes_to_the_front,
                what_a_paused_tenant_left_waiting_does_not_block_the_lane,
                a_job_in_any_of_many_queues_has_its_turn,
                high_goes_first_however_many_queues_have_jobs,
            }
            overdue {
                what_is_not_due_is_not_overdue,
                the_longest_overdue_says_for_how_long,
                what_was_fired_is_not_overdue,
                overdue_ones_are_counted_no_further_than_enough,
                another_tenants_ticks_are_its_own_to_wait_for,
            }
            promote {
                with_nothing_waiting_there_is_nothing_to_do,
                what_has_fallen_due_is_promoted_once,
                a_retry_is_promoted_like_any_other,
                it_tells_when_the_next_falls_due,
                it_tells_when_the_next_expires,
                what_is_left_over_is_due_already,
                many_promoters_at_once_promote_each_job_once,
                a_job_of_a_paused_queue_falls_due_and_waits,
            }
            prune {
                each_final_state_has_its_own_retention,
                dead_jobs_are_kept_unless_someone_says_otherwise,
                a_job_that_is_not_final_is_never_pruned,
                retention_counts_from_the_end_not_from_the_beginning,
                at_most_so_many_are_pruned_in_one_step,
                an_old_store_with_nothing_to_prune_is_left_alone,
                old_changes_are_pruned_and_the_log_goes_on,
                old_sessions_are_pruned_and_living_ones_kept,
                pruning_a_session_keeps_the_record_of_its_attempts,
                a_pruned_job_leaves_no_key_behind,
                a_queue_that_nobody_uses_goes,
                a_queue_that_is_used_stays,
                a_queue_with_something_in_it_stays,
                a_paused_queue_stays_paused,
                one_tenants_queue_goes_and_anothers_of_that_name_stays,
                a_queue_that_comes_back_starts_its_order_anew,
                a_job_of_a_queue_that_went_can_be_redriven,
                at_most_so_many_queues_are_pruned_in_one_step,
                the_order_of_a_task_that_nobody_uses_goes_and_that_of_others_stays,
            }
            queues {
                a_queue_counts_its_jobs_by_state,
                a_queue_tells_how_long_its_oldest_due_job_has_waited,
                a_job_for_later_waits_from_when_it_is_due,
                a_queue_tells_what_finished_in_the_last_minute,
                a_paused_queue_says_so,
                each_queue_is_shown_once,
                a_queue_counts_one_tenants_jobs_only,
            }
            redrive {
                every_final_job_can_be_redriven,
                a_job_that_is_not_final_is_left_alone,
                the_old_outcome_is_kept_as_an_attempt,
                a_job_cancelled_while_it_waited_shows_that_after_a_redrive,
                attempts_are_counted_anew_against_the_limit,
                of_many_redrives_at_once_one_counts,
                many_are_redriven_in_one_call_and_answered_in_order,
                a_settlement_sent_again_after_a_redrive_does_not_end_the_new_life,
                a_zombie_of_the_first_life_is_fenced_in_the_second,
                a_redriven_job_leaves_the_list_of_the_dead,
                a_redriven_job_no_longer_expires,
            }
            refusals {
                what_was_taken_is_not_refused,
                each_job_that_was_not_taken_is_refused_once,
                a_final_job_and_an_unknown_one_are_gone,
                a_job_that_an_attempt_has_is_held,
                beside_a_job_that_is_taken_a_held_one_is_held_and_a_final_one_gone,
                a_job_before_its_time_waits_for_it,
                a_job_past_its_start_by_waits_for_its_end,
                a_job_that_this_worker_does_not_serve_waits_for_another,
                a_job_in_a_paused_queue_waits_for_it,
                a_job_of_a_tenant_at_its_limit_waits_for_room,
                a_job_that_must_run_alone_waits_for_solitude,
                beside_one_that_runs_alone_the_others_wait_for_its_end,
                of_several_reasons_the_first_is_said,
                a_claim_sent_again_says_nothing_of_the_others,
                a_claim_by_order_refuses_nothing,
                hundreds_are_answered_in_one_call,
            }
            remove {
                a_final_job_is_removed_with_all_that_is_known_of_it,
                a_job_that_is_not_final_stays,
                many_are_removed_in_one_call_and_answered_in_order,
                removing_one_leaves_the_others,
                a_worker_that_reports_on_a_removed_job_harms_nothing,
                an_id_submitted_anew_after_its_removal_has_no_past,
            }
            rooms {
                a_tenant_without_room_is_passed_over_and_others_are_served,
                a_claim_takes_no_more_of_a_tenant_than_there_is_room_for,
                whoever_asks_again_gets_what_others_left,
                rooms_count_over_lanes_queues_and_routes,
                a_tenant_without_room_frees_no_lane_for_itself,
                rooms_are_obeyed_by_ids_too,
                a_job_that_must_run_alone_waits_for_room_too,
                of_two_that_must_run_alone_the_one_with_room_runs,
                a_paused_queue_stays_paused_beside_a_full_tenant,
                a_claim_sent_again_is_the_same_claim_whatever_room_there_is,
                room_for_tenants_with_nothing_waiting_changes_nothing,
                a_single_job_is_found_behind_very_many_full_tenants,
                claims_at_once_each_keep_to_their_own_room,
            }
            rules {
                a_sweep_returns_only_what_is_still_open,
                a_settlement_of_a_closed_job_in_an_open_claim_is_not_recorded_twice,
                a_sweep_that_waited_for_a_settlement_sees_it,
                a_claim_that_arrives_after_its_session_was_swept_takes_nothing,
                a_claim_racing_the_sweep_of_its_session_leaves_no_job_behind,
                a_session_renewed_since_the_sweeper_looked_is_not_swept,
                a_claim_whose_answer_is_on_its_way_is_not_released,
                a_claim_that_commits_after_the_look_is_released_at_the_next,
                a_settlement_sent_again_is_told_from_a_zombies,
                a_settlement_that_never_arrived_is_recorded_when_sent_again,
                a_cancelled_job_never_runs_again,
                cancel_has_an_answer_while_the_job_moves,
                two_tries_never_carry_one_number,
                a_claim_by_id_obeys_the_delay,
                a_redrive_takes_the_outcome_away,
                a_number_is_never_used_again,
                a_settlement_names_the_claim_and_the_session,
                a_try_is_spent_by_the_claim,
                a_job_at_its_last_crash_runs_alone,
                a_burst_does_not_delay_a_newcomer,
                a_tick_computed_before_an_edit_does_not_land_after_it,
                an_edit_loses_no_tick_that_was_due_before_it,
                a_tick_makes_one_job_however_often_its_time_comes,
            }
            schedule_due {
                with_no_schedules_nothing_is_due,
                the_store_tells_its_time,
                a_schedule_is_due_at_its_time_and_not_before,
                the_most_overdue_comes_first_and_no_more_than_asked_for,
                a_due_schedule_says_everything_needed_to_fire_it,
                what_is_paused_or_finished_is_never_due,
                many_that_are_due_at_once_are_fired_in_steps,
            }
            schedule_edits {
                an_edit_changes_all_that_it_says_and_no_more,
                an_edit_of_what_it_no_longer_is_is_stale,
                nothing_is_edited_or_deleted_while_a_tick_is_due,
                an_edit_sent_again_is_done_once,
                what_is_gone_is_neither_edited_nor_deleted,
                pausing_takes_the_next_tick_away_and_resuming_gives_another,
                a_held_tick_stays_held_through_an_edit,
                a_deleted_schedule_leaves_its_jobs_and_its_ticks,
                the_held_tick_of_a_deleted_schedule_is_recorded_as_skipped,
                a_name_is_free_again_after_its_schedule_was_deleted,
                of_many_edits_at_once_one_takes_place,
                running_it_by_hand_makes_no_edit_stale,
            }
            schedule_fire {
                a_tick_makes_its_job_and_moves_on,
                a_job_for_later_waits_for_its_time,
                a_fired_tick_wakes_those_who_claim_and_those_who_watch,
                a_schedule_that_is_made_or_edited_wakes_the_scheduler,
                several_ticks_of_one_firing_each_make_their_job,
                a_firing_that_is_stale_holds_up_no_other,
                nothing_to_fire_is_nothing,
                a_firing_sent_again_is_done_once,
                a_tick_that_is_there_already_is_passed_by_without_a_job,
                a_run_of_missed_ticks_is_recorded_as_one,
                a_tick_that_is_refused_is_recorded_with_the_reason,
                the_last_tick_finishes_a_schedule,
                a_firing_without_ticks_only_moves_on,
                a_job_belongs_to_its_schedules_tenant,
                one_asked_for_by_hand_is_fired_whatever_else_is,
                one_asked_for_by_hand_and_sent_again_is_fired_once,
                two_asked_for_by_hand_in_one_moment_are_both_fired,
                one_asked_for_by_hand_never_takes_a_ticks_place,
                a_firing_may_hold_a_tick_and_one_asked_for_by_hand,
                of_many_who_fire_one_tick_at_once_one_does,
                schedules_fired_at_once_in_any_order_are_all_fired,
            }
            schedule_overlap {
                allowed_to_overlap_every_tick_fires,
                a_tick_is_skipped_while_a_job_is_not_final,
                one_tick_is_held_and_the_others_are_skipped,
                a_held_tick_is_fired_when_nothing_is_open,
                a_held_tick_that_has_to_wait_is_not_released,
                a_released_tick_goes_before_the_one_that_is_due,
                a_paused_schedule_keeps_its_held_tick_to_itself,
                no_more_freed_ones_than_asked_for_are_listed,
                open_jobs_are_cancelled_before_the_tick_fires,
                one_that_is_to_cancel_first_holds_up_no_other,
                of_many_ticks_that_would_cancel_each_other_the_last_fires,
                of_many_ticks_at_once_one_fires_and_one_is_held,
                a_job_that_was_redriven_is_open_again,
                a_job_that_was_removed_is_not_open,
                a_job_asked_for_by_hand_is_open_like_any_other,
                only_the_schedules_own_jobs_are_in_its_way,
                many_who_fire_at_once_never_start_two_that_must_not_overlap,
                many_who_release_at_once_release_one,
            }
            schedule_races {
                a_change_and_a_tick_at_the_same_moment_are_one_after_the_other,
                a_schedule_edited_all_the_time_loses_no_tick,
            }
            schedule_ticks {
                ticks_are_listed_the_latest_first_page_by_page,
                a_tick_tells_the_state_of_its_job,
                ticks_are_kept_for_their_retention,
                a_ticks_age_counts_from_when_it_was_decided,
                a_tick_whose_job_is_not_final_stays,
                a_tick_whose_job_was_removed_goes,
                a_held_tick_stays,
                the_ticks_of_a_deleted_schedule_go_with_their_retention,
                at_most_so_many_ticks_are_pruned_in_one_step,
                a_latest_tick_made_by_hand_keeps_its_place_too,
            }
            schedules {
                a_schedule_reads_back_as_it_was_made,
                a_paused_schedule_is_made_without_a_next_tick,
                a_schedule_sent_again_is_made_once,
                a_name_is_taken_once_for_each_tenant,
                of_many_made_with_one_name_at_once_one_is_made,
                one_sent_twice_at_once_is_made_once,
                another_tenants_schedule_is_not_there,
                a_schedule_nobody_made_is_not_there,
                schedules_are_listed_by_name_page_by_page,
                a_schedule_shows_its_latest_tick,
            }
            sequences {
                the_moves_of_a_job_are_counted_without_a_gap,
                a_job_that_expires_or_wears_out_counts_that_too,
                every_state_shows_how_often_its_job_has_moved,
                jobs_of_one_batch_each_count_for_themselves,
                what_moves_nothing_counts_nothing,
                an_id_submitted_anew_after_its_removal_counts_from_one,
                moves_made_at_once_are_counted_one_after_the_other,
                a_start_tells_how_long_the_job_had_been_due,
                an_end_tells_how_long_the_attempt_ran,
                an_end_that_the_store_decides_tells_it_too,
                a_move_without_an_attempt_tells_no_time,
            }
            sessions {
                a_registered_session_is_live_and_may_claim,
                registering_again_changes_nothing,
                a_heartbeat_tells_what_is_still_held,
                a_session_nobody_registered_is_gone,
                a_given_up_claim_is_released_and_refunded,
                giving_up_a_call_that_took_nothing_harms_nothing,
                one_session_cannot_give_up_anothers_claim,
                asking_what_is_held_does_not_renew,
                every_heartbeat_is_a_beat,
                a_draining_session_keeps_what_it_holds,
                an_ended_session_hands_back_at_once_and_refunded,
                a_draining_session_can_end,
                an_ended_session_is_over_for_ever,
                a_session_in_time_is_not_lapsed,
                a_heartbeat_buys_a_whole_ttl,
                a_late_heartbeat_is_in_time_until_someone_lapses_the_session,
                an_overdue_session_records_its_outcomes_and_ends_without_a_crash,
                a_lapsed_session_is_over_for_ever,
                a_session_that_ended_is_not_lapsed,
                a_draining_session_can_lapse,
                a_lapse_returns_everything_over_all_claims,
                a_session_without_jobs_lapses_to_nothing,
                of_many_sweepers_at_once_one_lapses_a_session,
                a_heartbeat_racing_a_lapse_is_either_in_time_or_gone,
            }
            settle {
                a_completed_job_is_final_with_what_it_left_behind,
                a_failed_job_is_final_with_its_error,
                a_dead_job_is_kept_with_its_error,
                a_retry_waits_for_its_delay,
                an_interrupted_job_is_pending_at_once_and_the_try_is_not_spent,
                a_released_job_is_pending_at_once_and_nothing_says_it_ran,
                another_session_cannot_settle_what_is_held,
                a_wrong_number_settles_nothing,
                a_job_that_is_not_in_the_claim_is_not_settled_by_it,
                a_lost_answer_is_resolved_by_sending_the_same_settlement_again,
                a_second_opinion_of_the_same_attempt_is_not_recorded,
                a_late_repeat_does_not_touch_the_next_attempt,
                a_zombie_is_fenced,
                a_zombie_whose_lapse_ended_the_job_is_fenced,
                a_session_that_ended_settles_nothing,
                a_worker_that_gave_its_claim_up_settles_nothing,
                a_draining_session_settles_what_it_holds,
                a_batch_is_answered_one_by_one_in_order,
                settling_part_of_a_claim_leaves_the_rest_held,
                one_job_of_a_claim_is_released_under_its_fence_and_the_rest_stays_held,
                of_many_settlements_at_once_one_is_recorded,
            }
            states {
                an_empty_store_has_none_in_any_state,
                each_job_is_counted_in_its_state,
                a_state_is_counted_no_further_than_enough,
                another_tenants_crowd_does_not_fill_the_count,
                a_job_is_counted_where_it_is_now,
                deliveries_are_not_counted_among_the_jobs,
                what_ended_lately_is_counted_while_it_stays_so,
                tasks_that_jobs_wait_for_are_told_with_their_queues,
            }
            statistics {
                the_bookkeeper_begins_at_the_start_of_the_log,
                a_life_is_counted_from_the_log,
                what_is_booked_is_added_to_what_is_there,
                a_bucket_named_twice_in_one_stretch_gets_both,
                a_stretch_moves_the_bookkeeper,
                a_stretch_from_elsewhere_adds_nothing,
                a_stretch_sent_again_is_counted_once,
                of_bookkeepers_at_once_one_counts,
                bookkeepers_that_follow_count_every_move_once,
                a_time_is_read_from_its_beginning_to_before_its_end,
                minutes_and_hours_queues_and_tenants_are_kept_apart,
                queues_are_summed_apart_the_busiest_first,
                the_deepest_that_was_seen_is_kept,
                depths_count_what_waits_and_what_runs,
                numbers_are_kept_for_their_retention,
                at_most_so_many_numbers_are_pruned_in_one_step,
                an_idle_queue_is_as_deep_as_it_was_when_last_sampled,
                a_queue_that_was_emptied_is_not_deep_any_more,
                minutes_are_kept_for_two_days_and_hours_for_their_retention,
                internal_queues_are_not_among_the_busiest,
            }
            submit {
                an_accepted_job_reads_back_as_it_was_asked,
                a_large_body_survives,
                a_job_without_a_time_is_pending_at_once,
                a_job_for_later_is_scheduled,
                a_delay_counts_from_acceptance,
                a_time_in_the_past_means_now,
                a_thousand_jobs_are_accepted_in_one_call,
                an_empty_batch_is_nothing,
                answers_come_in_the_order_given,
                the_answer_tells_the_jobs_own_time_also_when_it_is_sent_again,
                the_same_jobs_sent_again_change_nothing,
                a_batch_sent_again_with_one_more_adds_just_that_one,
                a_finished_job_sent_again_is_not_revived,
                a_running_job_sent_again_stays_held,
                submissions_at_once_are_all_kept,
                one_job_sent_by_many_at_once_is_there_once,
            }
            tenants {
                another_tenants_job_is_not_found_by_any_verb,
                lists_and_counts_show_only_ones_own,
                each_tenants_verbs_work_on_its_own,
                one_batch_may_mix_tenants_and_keeps_them_apart,
                every_change_names_its_tenant,
            }
            wakeups {
                a_due_job_wakes_those_who_claim,
                a_returned_job_wakes_those_who_claim,
                a_resumed_queue_wakes_those_who_claim,
                a_job_for_later_wakes_the_promoter,
                a_cancelled_held_job_wakes_its_worker,
                every_move_wakes_those_who_watch,
                what_the_bell_announces_can_be_seen,
            }
            workers {
                a_session_shows_what_it_registered_with,
                a_session_shows_how_much_it_runs,
                the_slots_of_the_fleet_are_those_of_sessions_that_are_alive,
                a_session_shows_its_state_and_last_renewal,
                the_living_come_first_then_the_newest,
                how_a_session_went_is_not_rewritten,
            }
        }
    };
}
