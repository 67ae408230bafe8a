//! How many locks a transaction takes, however many weeks of jobs are kept.
//!
//! A lock on a table or an index is a row in a table of the server that has room for `max_locks_per_transaction` (64) for each
//! connection. Where a statement locks every partition, a year of weeks fills it with fifty such transactions at once.

use std::collections::BTreeMap;
use std::time::Duration;

use foreman_conformance::given::{Scene, a_job, by_order, completed, jobs, session_info, taken};
use foreman_core::ports::{JobQuery as _, JobStore as _, SessionStore as _};
use foreman_core::{JobId, SessionId, TenantId};
use foreman_runtime::Tasks;
use tokio_postgres::Client;

use crate::given::{Database, Team};
use crate::wire::{Meter, behind};

/// A year and a few, as they are with dead jobs that are kept for ever.
const WEEKS: i64 = 58;

/// What a server keeps room for, for each of its connections, unless it is told otherwise. Measured with 58 weeks, the first time that
/// a connection plans its statements: submit 15 to 28, claim 48, settle 13, get 27, attempts 20, cancel 25, retry 51, forget 39. Where
/// every week is locked, a look at one job takes 120, at its attempts 647, and to forget one 468.
const MOST: i64 = 64;

/// Counts the locks of a transaction, at its end. One that only reads can note nothing in a table, so the count is noted as a lock of
/// the session: the number of the step, and how many locks there were.
const SPY: &str = "
    CREATE TABLE public.step (number integer NOT NULL);
    INSERT INTO public.step VALUES (1);
    CREATE FUNCTION public.note_locks() RETURNS void LANGUAGE sql VOLATILE AS $$
        SELECT pg_advisory_lock_shared((SELECT number FROM public.step), count(*)::integer) FROM pg_locks
        WHERE pid = pg_backend_pid() AND locktype = 'relation'
          AND relation IN (SELECT oid FROM pg_class WHERE relnamespace = 'foreman'::regnamespace)
    $$";

/// Weeks of jobs that are long over.
async fn make_weeks(client: &Client, weeks: i64) {
    client
        .batch_execute(&format!(
            "DO $do$
             DECLARE
                 monday timestamptz; first uuid; next uuid;
                 made integer := (SELECT count(*) FROM pg_inherits WHERE inhparent = 'foreman.jobs'::regclass);
             BEGIN
                 FOR week IN 1 .. {weeks} - made LOOP
                     monday := date_trunc('week', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - week * interval '1 week';
                     first := rpad(lpad(to_hex((extract(epoch FROM monday) * 1000)::bigint), 12, '0'), 32, '0')::uuid;
                     next := rpad(lpad(to_hex((extract(epoch FROM monday + interval '1 week') * 1000)::bigint), 12, '0'), 32, '0')::uuid;
                     EXECUTE format('CREATE TABLE jobs_w%s PARTITION OF jobs FOR VALUES FROM (%L) TO (%L)',
                                    to_char(monday AT TIME ZONE 'UTC', 'YYYYMMDD'), first, next);
                     EXECUTE format('CREATE TABLE outcomes_w%s PARTITION OF outcomes FOR VALUES FROM (%L) TO (%L)',
                                    to_char(monday AT TIME ZONE 'UTC', 'YYYYMMDD'), first, next);
                 END LOOP;
             END $do$"
        ))
        .await
        .unwrap();
    let sql = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'foreman.jobs'::regclass";
    let made: i64 = client.query_one(sql, &[]).await.unwrap().get(0);
    assert!(made >= weeks, "{made} partitions");
}

/// The highest count since the last time.
async fn most_seen(team: &Team, client: &Client) -> i64 {
    // The end of one that only reads is not waited for; this comes behind it, on the same connection.
    team.store.ping().await.unwrap();
    let sql = "SELECT coalesce(max(objid::bigint), 0) FROM pg_locks, public.step
               WHERE locktype = 'advisory' AND objsubid = 2 AND classid::bigint = number
                 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let row = client.query_one(sql, &[]).await.unwrap();
    client.batch_execute("UPDATE public.step SET number = number + 1").await.unwrap();
    row.get(0)
}

/// The highest number of locks that a transaction of each verb held.
async fn locks(team: &Team, client: &Client) -> BTreeMap<&'static str, i64> {
    let (store, own, session) = (&team.store, TenantId::default(), SessionId::fresh());
    store.register(&session_info(session, "worker", Duration::from_hours(1))).await.unwrap();
    most_seen(team, client).await;
    let mut held = BTreeMap::new();
    let ids = |held: &[foreman_core::ports::Held]| held.iter().map(|one| one.job.id).collect::<Vec<JobId>>();
    store.submit(&jobs(20, &a_job())).await.unwrap();
    held.insert("submit", most_seen(team, client).await);
    store.submit(&jobs(2, &a_job().keyed("key", 1))).await.unwrap();
    held.insert("submit with a key", most_seen(team, client).await);
    let claimed = taken(store.claim(&by_order(session, 10)).await.unwrap());
    assert_eq!(claimed.len(), 10);
    held.insert("claim", most_seen(team, client).await);
    store.get(&own, claimed[0].job.id).await.unwrap().unwrap();
    held.insert("get", most_seen(team, client).await);
    let over = ids(&claimed);
    store.settle(session, &claimed.into_iter().map(|one| one.settle(completed())).collect::<Vec<_>>()).await.unwrap();
    held.insert("settle", most_seen(team, client).await);
    store.get(&own, over[0]).await.unwrap().unwrap();
    held.insert("get what is final", most_seen(team, client).await);
    store.attempts(&own, over[0], 0).await.unwrap().unwrap();
    held.insert("attempts", most_seen(team, client).await);
    store.redrive(&own, &over[..1]).await.unwrap();
    held.insert("retry", most_seen(team, client).await);
    store.cancel(&own, &over[..1]).await.unwrap();
    held.insert("cancel", most_seen(team, client).await);
    store.remove(&own, &over).await.unwrap();
    held.insert("forget", most_seen(team, client).await);
    assert!(store.get(&own, over[1]).await.unwrap().is_none());
    held
}

#[tokio::test]
async fn a_transaction_locks_a_few_weeks_however_many_are_kept() {
    let database = Database::ready().await.spoil();
    let client = database.client().await;
    client.batch_execute(SPY).await.unwrap();
    let tasks = Tasks::new();
    let address = Meter::ending_with(&tasks, "SELECT public.note_locks()").await;
    let team = Team::on(database, |config| {
        config.url = config.url.replace(&behind(), &address);
        config.data_connections = 1;
    })
    .await;
    make_weeks(&client, WEEKS).await;
    // Where a statement is refused, so is the spy behind it, and the COMMIT behind that never comes.
    let open = "INSERT INTO queues (queue, tenant, used_at) VALUES ('default', 'default', 'infinity');
                INSERT INTO lanes (queue, lane, v) SELECT 'default', lane, 0 FROM generate_series(0, 2) AS lane";
    client.batch_execute(open).await.unwrap();
    let held = locks(&team, &client).await;
    eprintln!("locks with {WEEKS} weeks: {held:?}");
    for (verb, locks) in &held {
        assert!((1..=MOST).contains(locks), "{verb} holds {locks} locks: {held:?}");
    }
    assert!(Scene::of(&team).store.census().await.unwrap().is_clean());
}
