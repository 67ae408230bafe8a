//! Behind PgBouncer in transaction mode, where nothing stays on a connection: neither settings nor prepared statements.

use std::sync::Arc;

use foreman_core::conformance::{self, Subject};
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
                foreman_core::conformance::$file::$promise(&team).await;
                foreman_core::conformance::audit::a_clean_end(&team).await;
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
}

#[tokio::test]
async fn histories_with_everything_end_well() {
    let team = pooled().await;
    conformance::chaos::history(&team, conformance::chaos::Mood::Everything, 7).await;
    assert!(team.store().audit().await.unwrap().is_clean());
}
