//! The courier's rounds under a leader's term, beside other couriers, and what the pruner leaves for it.

use std::time::Duration;

use foreman_conformance::given::{Scene, a_job, at_once, completed, failed, jobs, retry, sorted, tenant};
use foreman_conformance::posting::{Round, callback, courier, delivery};
use foreman_core::JobId;
use foreman_core::ports::{
    Advanced, ChangeLog, CreateTenantAnswer, DeleteTenantAnswer, FollowerName, Followers, JobQuery, JobStore, Leader,
    Retention, TenantStore, UNREAD_KEPT, UpdateTenantAnswer, Upkeep, WebhookStore,
};
use foreman_core::webhook::Webhook;
use foreman_postgres::leases::PgLeases;
use foreman_postgres::{Config, statements};
use foreman_runtime::leadership::Lease;

use crate::given::Team;
use crate::tenants::{disabling, made_webhook, new_tenant, new_webhook};

const TTL: Duration = Duration::from_secs(15);
const OFFICE: &str = "courier";

/// A round from where the courier stands to the end of the log, with a delivery and a callback.
async fn next_round(team: &Team, webhook: &Webhook) -> Round {
    team.store.submit(&jobs(1, &a_job())).await.unwrap();
    Round {
        from: courier(&team.store).await,
        to: team.store.head().await.unwrap(),
        deliveries: vec![delivery("default", webhook.id), callback("default")],
    }
}

#[tokio::test]
async fn a_leader_whose_term_is_over_posts_nothing() {
    let team = Team::new().await;
    let webhook = made_webhook(&team.store, &new_webhook("default")).await;
    courier(&team.store).await;
    let mut config = Config::at(team.database.url());
    config.clock = Some(team.clock.clone());
    let leases = PgLeases::new(&config).unwrap();
    let term = leases.acquire(OFFICE, "a", TTL).await.unwrap().unwrap();
    let leader = Leader { office: OFFICE.into(), term: term.0 };
    let round = next_round(&team, &webhook).await;
    assert_eq!(team.store.advance(Some(&leader), &round.advance()).await.unwrap(), Some(Advanced::Done));
    let round = next_round(&team, &webhook).await;
    leases.resign(OFFICE, term).await.unwrap();
    assert_eq!(team.store.advance(Some(&leader), &round.advance()).await.unwrap(), None);
    let next = leases.acquire(OFFICE, "b", TTL).await.unwrap().unwrap();
    assert_eq!(team.store.advance(Some(&leader), &round.advance()).await.unwrap(), None, "another leads");
    assert_eq!(courier(&team.store).await, round.from, "it has not moved");
    assert_eq!(team.store.deliveries(&tenant("default"), webhook.id, None, 10).await.unwrap().len(), 1);
    let next = Leader { office: OFFICE.into(), term: next.0 };
    assert_eq!(team.store.advance(Some(&next), &round.advance()).await.unwrap(), Some(Advanced::Done));
    let audit = team.store.census().await.unwrap();
    assert!(audit.is_clean() && audit.jobs == 2 + 4, "{audit:#?}");
}

/// Whoever waits for the courier's row compares with what the other has left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_courier_that_waited_for_another_is_overtaken() {
    let team = Team::with(|config| config.lock_timeout = Duration::from_secs(30)).await;
    let webhook = made_webhook(&team.store, &new_webhook("default")).await;
    courier(&team.store).await;
    for _ in 0..5 {
        let round = next_round(&team, &webhook).await;
        let rounds: Vec<Round> = (0..6)
            .map(|_| Round { deliveries: vec![delivery("default", webhook.id), callback("default")], ..round.clone() })
            .collect();
        let posted = at_once(rounds.into_iter().map(|round| {
            let store = team.store.clone();
            async move { store.advance(None, &round.advance()).await.unwrap().unwrap() }
        }))
        .await;
        assert_eq!(posted.iter().filter(|posted| **posted == Advanced::Done).count(), 1, "{posted:?}");
    }
    let audit = team.store.census().await.unwrap();
    assert!(audit.is_clean() && audit.jobs == 5 + 10, "{audit:#?}");
    assert_eq!(team.store.deliveries(&tenant("default"), webhook.id, None, 100).await.unwrap().len(), 5);
}

/// A courier that is dismissed leaves nothing behind that a later one could take for its own.
#[tokio::test]
async fn a_round_of_a_courier_that_was_dismissed_is_not_posted() {
    let team = Team::new().await;
    let webhook = made_webhook(&team.store, &new_webhook("default")).await;
    courier(&team.store).await;
    let round = next_round(&team, &webhook).await;
    team.store.dismiss(None, &FollowerName::COURIER).await.unwrap();
    assert_eq!(team.store.advance(None, &round.advance()).await.unwrap(), Some(Advanced::Overtaken));
    assert_eq!(courier(&team.store).await, round.to, "the next begins at the end of the log");
}

fn changes_for_an_hour() -> Retention {
    Retention { changes: Duration::from_hours(1), ..Retention::default() }
}

#[tokio::test]
async fn a_courier_that_stays_behind_is_not_walked_past_by_every_pruner() {
    const UNREAD: usize = 300;
    let team = Team::new().await;
    team.store.submit(&jobs(1, &a_job())).await.unwrap();
    courier(&team.store).await;
    team.clock.advance(Duration::from_mins(1));
    for _ in 0..UNREAD {
        team.store.submit(&jobs(1, &a_job())).await.unwrap();
        team.clock.advance(Duration::from_millis(1));
    }
    team.clock.advance(Duration::from_hours(24));
    let pruned = team.store.prune(&changes_for_an_hour(), 1_000).await.unwrap();
    assert_eq!(pruned.changes, 1, "what the courier has read goes, and nothing else");
    let client = team.database.client().await;
    client.batch_execute(&statements::settings(&Config::at(team.database.url()))).await.unwrap();
    let (text, ..) = statements::IN_ORDER.into_iter().find(|(_, index, _)| *index == "changes_pkey").unwrap();
    let body = text.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n");
    client.batch_execute(&format!("PREPARE planned AS {body}")).await.unwrap();
    let now = foreman_core::Clock::now(&*team.clock);
    client.batch_execute(&format!("BEGIN; SET LOCAL foreman.now = '{now}'")).await.unwrap();
    let sql = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE planned (100, '1 hour', '7 days')";
    let plan: Vec<String> = client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    client.batch_execute("ROLLBACK").await.unwrap();
    let read = plan.iter().find(|line| line.contains("using changes_pkey on changes")).unwrap();
    assert!(read.contains("rows=100 loops=1"), "no more is read than may be removed:\n{}", plan.join("\n"));
    team.clock.advance(UNREAD_KEPT);
    let pruned = team.store.prune(&changes_for_an_hour(), 1_000).await.unwrap();
    assert_eq!(pruned.changes, UNREAD, "a log does not grow for ever");
}

/// More than one transaction takes away.
#[tokio::test]
async fn an_endpoint_or_a_tenant_with_very_many_deliveries_is_deleted_with_all_of_them() {
    let team = Team::new().await;
    let CreateTenantAnswer::Created(owner) = team.store.create_tenant(&new_tenant("acme")).await.unwrap() else {
        panic!("it is free")
    };
    let client = team.database.client().await;
    let listed = async || -> i64 { client.query_one("SELECT count(*) FROM deliveries", &[]).await.unwrap().get(0) };
    let fill = "INSERT INTO deliveries SELECT tenant, id, gen_random_uuid(), 'job.dead', NULL, now()
                FROM webhooks, generate_series(1, 12000)";
    let (gone, stays) = (new_webhook("acme"), new_webhook("acme"));
    made_webhook(&team.store, &gone).await;
    made_webhook(&team.store, &stays).await;
    client.batch_execute(fill).await.unwrap();
    assert!(team.store.delete_webhook(&gone.tenant, gone.id).await.unwrap());
    assert_eq!(listed().await, 12_000, "the other's stay");
    assert!(!team.store.delete_webhook(&gone.tenant, gone.id).await.unwrap(), "it is gone");
    let UpdateTenantAnswer::Updated(disabled) = team.store.update_tenant(&disabling(&owner)).await.unwrap() else {
        panic!("nobody else changes it")
    };
    let answer = team.store.delete_tenant(&disabled.id, disabled.version).await.unwrap();
    assert_eq!(answer, DeleteTenantAnswer::Deleted);
    assert_eq!(listed().await, 0);
}

/// How often the database was asked anything so far.
async fn statements_so_far(client: &tokio_postgres::Client) -> i64 {
    let sql = "SELECT sum(calls)::bigint FROM public.pg_stat_statements
               WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())";
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// As if these had been sent.
const END: &str = "WITH sent AS (DELETE FROM ready WHERE job = ANY ($1) RETURNING *)
    INSERT INTO outcomes (job, tenant, state, queue, finished_at, attempt, spent, crashes, run_at, settled, report)
    SELECT job, tenant, 'completed', queue, now(), 1, 1, 0, run_at, true, '{}' FROM sent";

#[tokio::test]
async fn deliveries_are_read_and_written_by_the_same_few_statements_however_many_they_are() {
    let team = Team::new().await;
    let webhook = made_webhook(&team.store, &new_webhook("default")).await;
    let client = team.database.client().await;
    client.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA public").await.unwrap();
    courier(&team.store).await;
    // From here on its queue is open, and its statements are prepared.
    let round = next_round(&team, &webhook).await;
    assert_eq!(team.store.advance(None, &round.advance()).await.unwrap(), Some(Advanced::Done));
    let mut counts = Vec::new();
    for many in [2, 500] {
        let mut round = next_round(&team, &webhook).await;
        round.deliveries = (0..many).flat_map(|_| [delivery("default", webhook.id), callback("default")]).collect();
        let before = statements_so_far(&client).await;
        assert_eq!(team.store.advance(None, &round.advance()).await.unwrap(), Some(Advanced::Done));
        let written = statements_so_far(&client).await;
        let told: Vec<JobId> = round.deliveries.iter().map(|delivery| delivery.job.id).collect();
        let ids: Vec<uuid::Uuid> = told.iter().map(|id| id.0).collect();
        client.execute(END, &[&ids]).await.unwrap();
        let ended = statements_so_far(&client).await;
        assert_eq!(team.store.ended_at_once(&told).await.unwrap().len(), told.len());
        counts.push((written - before, statements_so_far(&client).await - ended));
    }
    // A COMMIT that is not waited for is counted a moment later.
    let are_few = counts.iter().all(|(written, read)| *written <= 16 && *read <= 8);
    assert!(are_few, "for four deliveries, and for a thousand: {counts:?}");
    assert_eq!(team.store.deliveries(&tenant("default"), webhook.id, None, 1_000).await.unwrap().len(), 503);
}

/// What the courier reads together, and what it has to read one by one.
#[tokio::test]
async fn jobs_that_ended_at_once_are_read_together_as_each_would_be_alone() {
    let team = Team::new().await;
    let scene = Scene::of(&team);
    let session = scene.session().await;
    let (good, bad) = (scene.submit(a_job()).await, scene.submit(a_job()).await);
    let (tried_twice, waiting) = (scene.submit(a_job()).await, scene.submit(a_job()).await);
    let (large, again) = (scene.submit(a_job()).await, scene.submit(a_job()).await);
    scene.run(session, good, completed()).await;
    scene.run(session, bad, failed("no")).await;
    scene.run(session, tried_twice, retry(Duration::ZERO)).await;
    scene.run(session, tried_twice, completed()).await;
    scene.run(session, large, failed(&"x".repeat(9_000))).await;
    scene.run(session, again, failed("no")).await;
    scene.redrive(again).await;
    let gone = JobId::fresh();
    let read = team.store.ended_at_once(&[bad, tried_twice, waiting, gone, good, large, again]).await.unwrap();
    assert_eq!(sorted(read.iter().map(|view| view.job.id)), sorted([good, bad]));
    for view in read {
        let alone = scene.view(view.job.id).await;
        assert_eq!(format!("{view:?}"), format!("{alone:?}"));
        assert_eq!((view.attempts.records.len(), view.attempts.kept), (1, 1));
    }
    assert!(team.store.ended_at_once(&[]).await.unwrap().is_empty());
}
