//! Behind PgBouncer in transaction mode, where nothing stays on a connection: neither settings nor prepared statements.

use std::sync::Arc;

use foreman_conformance::Subject;
use foreman_conformance::chaos::{self, Mood};
use foreman_core::memory::{LocalWakeups, ManualClock};
use foreman_postgres::{Config, PostgresStore};

use crate::given::{Database, Team, setting};

async fn pooled() -> Team {
    let pooler = setting("FOREMAN_TEST_PGBOUNCER").expect(
        "FOREMAN_TEST_PGBOUNCER is not set: run make test, or scripts/with-services cargo test -p foreman-postgres",
    );
    let (host, _) = pooler.rsplit_once('/').unwrap();
    // The pooler keeps connections to it, so nobody else gets it afterwards.
    let database = Database::ready().await.spoil();
    let (clock, wakeups) = (Arc::new(ManualClock::new()), Arc::new(LocalWakeups::new()));
    let mut config = Config::at(format!("{host}/{}", database.name));
    config.direct_url = Some(database.url());
    config.prepare = false;
    config.clock = Some(clock.clone());
    let store = PostgresStore::open(config, wakeups.clone()).await.unwrap();
    Team { store, clock, wakeups, database }
}

/// Stamps a few promises of each file.
macro_rules! behind_the_pooler {
    ($($file:ident: $($promise:ident,)+;)+) => {
        $(mod $file {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                let team = super::pooled().await;
                foreman_conformance::$file::$promise(&team).await;
                foreman_conformance::audit::a_clean_end(&team).await;
            })+
        })+
    };
}

behind_the_pooler! {
    submit: a_thousand_jobs_are_accepted_in_one_call, one_job_sent_by_many_at_once_is_there_once,;
    idempotency: of_many_submissions_with_one_key_one_is_accepted, inside_one_batch_keys_are_judged_in_order,;
    claim: thirty_claimers_never_share_a_job, one_claim_sent_twice_at_once_takes_one_batch,
           a_claim_by_ids_obeys_pause_queue_and_route,;
    settle: of_many_settlements_at_once_one_is_recorded, a_zombie_is_fenced,;
    rules: a_sweep_that_waited_for_a_settlement_sees_it, a_claim_racing_the_sweep_of_its_session_leaves_no_job_behind,
           cancel_has_an_answer_while_the_job_moves,;
    redrive: of_many_redrives_at_once_one_counts,;
    promote: many_promoters_at_once_promote_each_job_once,;
    listing: each_filter_finds_its_own,;
    changes: a_reader_that_follows_misses_nothing,;
    prune: each_final_state_has_its_own_retention,;
    schedules: a_schedule_reads_back_as_it_was_made, of_many_made_with_one_name_at_once_one_is_made,
               schedules_are_listed_by_name_page_by_page,;
    schedule_edits: of_many_edits_at_once_one_takes_place, an_edit_sent_again_is_done_once,
                    the_held_tick_of_a_deleted_schedule_is_recorded_as_skipped,;
    schedule_due: many_that_are_due_at_once_are_fired_in_steps,;
    schedule_fire: of_many_who_fire_one_tick_at_once_one_does, schedules_fired_at_once_in_any_order_are_all_fired,
                   a_run_of_missed_ticks_is_recorded_as_one, two_asked_for_by_hand_in_one_moment_are_both_fired,;
    schedule_overlap: many_who_fire_at_once_never_start_two_that_must_not_overlap, many_who_release_at_once_release_one,;
    schedule_ticks: ticks_are_kept_for_their_retention, a_tick_tells_the_state_of_its_job,;
    rooms: rooms_are_obeyed_by_ids_too, rooms_count_over_lanes_queues_and_routes,;
    tenants_kept: of_many_changes_at_once_one_takes_place, a_deleted_tenant_is_gone_with_its_keys,;
    keys: of_many_replacements_at_once_one_takes_place, the_door_finds_key_and_tenant_of_one_moment,;
    webhooks_kept: of_many_made_at_once_no_more_are_made_than_there_is_room_for,;
    webhooks_health: of_many_who_tell_at_once_one_disables,;
    couriers: couriers_that_follow_tell_every_ending_once, what_the_courier_has_not_read_is_not_pruned,;
    deliveries_posted: a_delivery_survives_the_store_to_the_letter,;
    trail: the_trail_is_read_page_by_page,;
}

#[tokio::test]
async fn histories_with_everything_end_well() {
    let team = pooled().await;
    chaos::history(&team, Mood::Everything, 7).await;
    assert!(team.store().census().await.unwrap().is_clean());
}
