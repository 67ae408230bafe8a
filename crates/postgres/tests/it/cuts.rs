//! A connection that breaks at any byte of COMMIT or of its answer: the outcome is unknown, and sending the same again finds out.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use foreman_conformance::given::{a_job, by_order, completed, jobs, retry, session_info, taken};
use foreman_conformance::posting::{Round, callback, courier, delivery};
use foreman_conformance::statistics::{Stretch, position};
use foreman_conformance::timetable::{edit, every_minute, firing_by_hand, job_of, next_firing};
use foreman_core::audit::{Act, Actor};
use foreman_core::key::KeyHash;
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{
    Advanced, AuditLog, CancelAnswer, ChangeLog, CreateAnswer, CreateKeyAnswer, CreateTenantAnswer,
    CreateWebhookAnswer, DeleteAnswer, DeleteTenantAnswer, EditAnswer, Fired, Followers, JobQuery, JobStore, KeyStore,
    NewPass, PassHolder, PassKind, PassStore, Range, ReplaceKeyAnswer, RevokeKeyAnswer, ScheduleStore, SessionStore,
    Settled, StatisticsStore, StoreError, Submitted, TenantStore, UpdateTenantAnswer, UpdateWebhookAnswer,
    WebhookStore, WebhookUpdate,
};
use foreman_core::schedule::ScheduleKey;
use foreman_core::statistics::{Ledger, Slot};
use foreman_core::{EditId, EntryId, SessionId, State, TenantId, Timestamp};
use foreman_postgres::{Config, PostgresStore};
use foreman_runtime::Tasks;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use uuid::Uuid;

use crate::given::{Database, is_torture};
use crate::tenants::{disabling, made_webhook, new_key, new_tenant, new_webhook, replacing};
use crate::wire::behind;

/// A simple query: its kind, its length, its text.
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";

/// Not armed.
const NEVER: i64 = -1;

/// Stands between the store and the server, and breaks connections when it is told to.
struct Cutter {
    /// Commits to let through before the one that is cut; below zero for none.
    countdown: AtomicI64,
    /// Where: so many bytes of the message go through, and of the answer once the message is through.
    at: AtomicUsize,
    cuts: AtomicUsize,
}

impl Cutter {
    async fn start(tasks: &Tasks) -> (Arc<Self>, String) {
        let cutter =
            Arc::new(Self { countdown: AtomicI64::new(NEVER), at: AtomicUsize::new(0), cuts: AtomicUsize::new(0) });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (shared, connections) = (Arc::clone(&cutter), tasks.clone());
        drop(tasks.spawn("cutter", async move {
            loop {
                let (near, _) = listener.accept().await.unwrap();
                let far = TcpStream::connect(behind()).await.unwrap();
                drop(connections.spawn("a connection through the cutter", carry(Arc::clone(&shared), near, far)));
            }
        }));
        (cutter, address)
    }

    fn arm(&self, commits_before: i64, at: usize) {
        self.at.store(at, Ordering::SeqCst);
        self.countdown.store(commits_before, Ordering::SeqCst);
    }

    fn disarm(&self) {
        self.countdown.store(NEVER, Ordering::SeqCst);
    }

    /// Whether the commit that has just been seen is the one to cut.
    fn is_due(&self) -> bool {
        let before =
            self.countdown.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| (left >= 0).then_some(left - 1));
        before == Ok(0)
    }
}

async fn carry(cutter: Arc<Cutter>, near: TcpStream, far: TcpStream) {
    let (mut from_client, mut to_client) = near.into_split();
    let (mut from_server, mut to_server) = far.into_split();
    // Bytes of the answer that still go through, once a commit is to be cut there.
    let allowance = Arc::new(AtomicI64::new(i64::MAX));
    let answers = {
        let allowance = Arc::clone(&allowance);
        async move {
            let mut buffer = [0; 16_384];
            while let Ok(read @ 1..) = from_server.read(&mut buffer).await {
                let left = allowance.load(Ordering::SeqCst);
                let pass = usize::try_from(left).unwrap_or_default().min(read);
                if to_client.write_all(&buffer[..pass]).await.is_err() || pass < read {
                    break;
                }
                if left != i64::MAX {
                    allowance.fetch_sub(pass as i64, Ordering::SeqCst);
                }
            }
        }
    };
    let questions = async {
        let mut buffer = vec![0; 65_536];
        while let Ok(read @ 1..) = from_client.read(&mut buffer).await {
            let found = buffer[..read].windows(COMMIT.len()).position(|window| window == COMMIT);
            let Some(start) = found.filter(|_| cutter.is_due()) else {
                if to_server.write_all(&buffer[..read]).await.is_err() {
                    break;
                }
                continue;
            };
            cutter.cuts.fetch_add(1, Ordering::SeqCst);
            let at = cutter.at.load(Ordering::SeqCst);
            if at < COMMIT.len() {
                let _ = to_server.write_all(&buffer[..start + at]).await;
                return;
            }
            // The whole message goes through, and then a part of what comes back, or nothing at all.
            allowance.store((at - COMMIT.len()) as i64, Ordering::SeqCst);
            if to_server.write_all(&buffer[..read]).await.is_err() {
                break;
            }
        }
        // The client has gone; what the server still says goes nowhere.
    };
    tokio::select! {
        () = answers => {}
        () = questions => {}
    }
}

/// The store through the cutter, and the same database without it.
struct Scene {
    cutter: Arc<Cutter>,
    through: PostgresStore,
    direct: PostgresStore,
    rng: SmallRng,
    unknown: usize,
    cut_in_vain: usize,
}

impl Scene {
    async fn start(database: &Database, seed: u64) -> Self {
        let (cutter, address) = Cutter::start(&Tasks::new()).await;
        let url = database.url().replace(&behind(), &address);
        let open = async |url: String| {
            let mut config = Config::at(url);
            config.connect_timeout = Duration::from_secs(10);
            PostgresStore::open(config, Arc::new(LocalWakeups::new())).await.unwrap()
        };
        let (through, direct) = (open(url).await, open(database.url()).await);
        Self { cutter, through, direct, rng: SmallRng::seed_from_u64(seed), unknown: 0, cut_in_vain: 0 }
    }

    /// Makes a call whose commit is cut; what it answered, if it did.
    async fn cut<T>(&mut self, call: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
        // A reservation before it commits as well, and may be what is cut.
        let commits_before = self.rng.random_range(0..2);
        // Twelve bytes of the message, and about as many of the answer as it has.
        let at = self.rng.random_range(0..=COMMIT.len() + 60);
        self.cutter.arm(commits_before, at);
        let answer = call.await;
        self.cutter.disarm();
        match answer {
            Ok(answer) => {
                self.cut_in_vain += 1;
                Some(answer)
            }
            Err(StoreError::Unavailable(_)) => {
                self.unknown += 1;
                None
            }
            Err(error) => panic!("an unknown outcome is told as such: {error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_commit_is_resolved_by_sending_the_same_again() {
    let rounds = if is_torture() { 500 } else { 100 };
    let database = Database::ready().await.spoil();
    let mut scene = Scene::start(&database, 9).await;
    let session = SessionId::fresh();
    scene.direct.register(&session_info(session, "worker", Duration::from_hours(1))).await.unwrap();
    let mut accepted = 0;
    for round in 0..rounds {
        // Submit: found by its ids.
        let batch = jobs(3, &a_job());
        let store = scene.through.clone();
        scene.cut(store.submit(&batch)).await;
        let answers = scene.direct.submit(&batch).await.unwrap();
        assert!(answers.iter().all(Submitted::is_accepted));
        accepted += batch.len() as u64;
        // Claim: found by its token.
        let request = by_order(session, 3);
        let answer = scene.cut(store.claim(&request)).await;
        let held = taken(scene.direct.claim(&request).await.unwrap());
        assert_eq!(held.len(), 3, "one batch, however often it was sent");
        if let Some(answer) = answer {
            let ids = |held: &[foreman_core::ports::Held]| {
                let mut ids: Vec<Uuid> = held.iter().map(|held| held.job.id.0).collect();
                ids.sort();
                ids
            };
            assert_eq!(ids(&taken(answer)), ids(&held));
        }
        assert!(held.iter().all(|held| held.spent == held.attempt), "each try was counted once");
        // Settle: found by the claim's number and the job.
        let verdict = if round % 2 == 0 { completed() } else { retry(Duration::from_hours(1)) };
        let ids: Vec<_> = held.iter().map(|held| held.job.id).collect();
        let settlements: Vec<_> = held.into_iter().map(|held| held.settle(verdict.clone())).collect();
        scene.cut(store.settle(session, &settlements)).await;
        for settled in scene.direct.settle(session, &settlements).await.unwrap() {
            assert_ne!(settled, Settled::Fenced, "the same attempt, not a zombie");
        }
        // Cancel: what waits for its retry.
        if round % 2 == 1 {
            scene.cut(store.cancel(&TenantId::default(), &ids)).await;
            for answer in scene.direct.cancel(&TenantId::default(), &ids).await.unwrap() {
                assert!(matches!(
                    answer,
                    Some(CancelAnswer::WasWaiting | CancelAnswer::AlreadyFinal(State::Cancelled))
                ));
            }
        }
        if round % 10 == 9 {
            let audit = scene.direct.census().await.unwrap();
            assert!(audit.is_clean(), "{audit:#?}");
            assert_eq!((audit.jobs, audit.outcomes), (accepted, accepted));
        }
    }
    let cuts = scene.cutter.cuts.load(Ordering::SeqCst);
    eprintln!("{cuts} cuts, {} unknown outcomes, {} calls answered nevertheless", scene.unknown, scene.cut_in_vain);
    assert!(cuts >= rounds && scene.unknown >= rounds, "the cutter cut: {cuts}, {} unknown", scene.unknown);
    let attempts = database.client().await;
    let doubled: i64 = attempts
        .query_one(
            "SELECT count(*) FROM (SELECT job FROM attempts GROUP BY job, number HAVING count(*) > 1) AS doubled",
            &[],
        )
        .await
        .unwrap()
        .get(0);
    assert_eq!(doubled, 0, "no attempt is on record twice");
    scene.through.close();
    scene.direct.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tick_whose_commit_is_unknown_is_fired_once() {
    let rounds = if is_torture() { 300 } else { 40 };
    let database = Database::ready().await.spoil();
    let mut scene = Scene::start(&database, 11).await;
    let (store, direct) = (scene.through.clone(), scene.direct.clone());
    let own = TenantId::default();
    let mut fired_by_cut = 0;
    for round in 0..rounds {
        // Make: found by its id.
        let new = every_minute(&format!("s{round}")).build(direct.time().await.unwrap());
        scene.cut(store.create_schedule(&new)).await;
        let CreateAnswer::Created(view) = direct.create_schedule(&new).await.unwrap() else {
            panic!("its own name is not in its way")
        };
        // Fire: either it was done, and the schedule has moved on, or it is done now.
        let firing = next_firing(&view);
        scene.cut(store.fire(None, std::slice::from_ref(&firing))).await;
        let again = direct.fire(None, std::slice::from_ref(&firing)).await.unwrap().unwrap();
        let job = job_of(&firing.ticks[0]).id;
        match &again[..] {
            [Fired::Done(jobs)] => assert_eq!(jobs, &[job]),
            [Fired::Stale] => fired_by_cut += 1,
            other => panic!("{other:?}"),
        }
        // By hand: found by its job.
        let view = direct.schedule(&own, &ScheduleKey::Id(view.schedule.id)).await.unwrap().unwrap();
        let by_hand = firing_by_hand(&view, direct.time().await.unwrap());
        let asked = job_of(&by_hand.ticks[0]).id;
        scene.cut(store.fire(None, std::slice::from_ref(&by_hand))).await;
        let again = direct.fire(None, std::slice::from_ref(&by_hand)).await.unwrap().unwrap();
        assert_eq!(again, [Fired::Done(vec![asked])]);
        let ticks = direct.ticks(view.schedule.id, None, 10).await.unwrap();
        let made: Vec<_> = ticks.iter().map(|tick| tick.job.unwrap()).collect();
        let pending = Some(State::Pending);
        assert_eq!((ticks.len(), made.contains(&(asked, pending))), (2, true), "{ticks:?}");
        assert!(made.iter().any(|(id, state)| *id == job && state.is_some()), "{ticks:?}");
        // Edit: found by its id.
        let change = edit(&view, view.seen.next);
        scene.cut(store.edit_schedule(&own, &change)).await;
        let EditAnswer::Edited(view) = direct.edit_schedule(&own, &change).await.unwrap() else {
            panic!("nobody else edits it")
        };
        assert_eq!(view.seen.version, 2, "the edit counts once");
        // Delete: gone is gone.
        scene.cut(store.delete_schedule(&own, view.schedule.id, view.seen)).await;
        let answer = direct.delete_schedule(&own, view.schedule.id, view.seen).await.unwrap();
        assert_ne!(answer, DeleteAnswer::Stale);
    }
    let audit = direct.census().await.unwrap();
    assert!(audit.is_clean(), "{audit:#?}");
    assert_eq!(audit.jobs, 2 * rounds as u64, "one job for each tick");
    let cuts = scene.cutter.cuts.load(Ordering::SeqCst);
    eprintln!("{cuts} cuts, {} unknown outcomes, {fired_by_cut} ticks fired by a call that was cut", scene.unknown);
    assert!(cuts >= rounds && scene.unknown >= rounds, "the cutter cut: {cuts}, {} unknown", scene.unknown);
    assert!(0 < fired_by_cut && fired_by_cut < rounds, "some were done, and some were not: {fired_by_cut}");
    scene.through.close();
    scene.direct.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_whose_commit_is_unknown_are_made_once() {
    let rounds = if is_torture() { 300 } else { 60 };
    let database = Database::ready().await.spoil();
    let mut scene = Scene::start(&database, 13).await;
    let (store, direct, own) = (scene.through.clone(), scene.direct.clone(), TenantId::default());
    let webhook = made_webhook(&direct, &new_webhook("default")).await;
    courier(&direct).await;
    let mut posted_by_cut = 0;
    for round in 0..rounds {
        direct.submit(&jobs(1, &a_job())).await.unwrap();
        let (from, to) = (courier(&direct).await, direct.head().await.unwrap());
        let deliveries = vec![delivery("default", webhook.id), callback("default")];
        let asked = Round { from, to, deliveries };
        // A round is overtaken by itself, or it was not posted and is now.
        scene.cut(store.advance(None, &asked.advance())).await;
        match direct.advance(None, &asked.advance()).await.unwrap() {
            Some(Advanced::Overtaken) => posted_by_cut += 1,
            Some(Advanced::Done) => {}
            None => panic!("nobody leads here"),
        }
        assert_eq!(courier(&direct).await, to);
        // Beside the courier: found by its job.
        let one = delivery("default", webhook.id);
        scene.cut(store.post_one(&one)).await;
        direct.post_one(&one).await.unwrap();
        let listed = direct.deliveries(&own, webhook.id, None, 10_000).await.unwrap();
        assert_eq!(listed.len(), 2 * (round + 1), "each is listed once");
        // Edit: found by its id.
        let seen = direct.webhook(&own, webhook.id).await.unwrap().unwrap();
        let update = WebhookUpdate {
            edit: EditId::fresh(),
            tenant: own.clone(),
            webhook: webhook.id,
            version: seen.version,
            settings: seen.settings,
            signing: seen.signing,
        };
        scene.cut(store.update_webhook(&update)).await;
        let UpdateWebhookAnswer::Updated(now) = direct.update_webhook(&update).await.unwrap() else {
            panic!("nobody else edits it")
        };
        assert_eq!(now.version, seen.version + 1, "the edit counts once");
        // Make: found by its id.
        let other = new_webhook("default");
        scene.cut(store.create_webhook(&other)).await;
        assert!(matches!(direct.create_webhook(&other).await.unwrap(), CreateWebhookAnswer::Created(_)));
        assert_eq!(direct.webhooks(&own, None, 10_000).await.unwrap().len(), round + 2);
    }
    let audit = direct.census().await.unwrap();
    assert!(audit.is_clean(), "{audit:#?}");
    assert_eq!(audit.jobs, 4 * rounds as u64, "one to tell of, two that were posted and one beside, each round");
    let cuts = scene.cutter.cuts.load(Ordering::SeqCst);
    eprintln!("{cuts} cuts, {} unknown outcomes, {posted_by_cut} rounds posted by a call that was cut", scene.unknown);
    assert!(cuts >= rounds && scene.unknown >= rounds, "the cutter cut: {cuts}, {} unknown", scene.unknown);
    assert!(0 < posted_by_cut && posted_by_cut < rounds, "some were done, and some were not: {posted_by_cut}");
    scene.through.close();
    scene.direct.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_and_passes_whose_commit_is_unknown_are_kept_once() {
    let rounds = if is_torture() { 500 } else { 100 };
    let database = Database::ready().await.spoil();
    let mut scene = Scene::start(&database, 19).await;
    let (store, direct, own) = (scene.through.clone(), scene.direct.clone(), TenantId::default());
    let mut booked_by_cut = 0;
    for round in 0..rounds {
        direct.submit(&jobs(2, &a_job())).await.unwrap();
        let from = position(&direct).await;
        let changes = direct.changes(from, 1_000).await.unwrap();
        let mut ledger = Ledger::default();
        changes.moved().for_each(|moved| ledger.count(moved));
        let stretch = Stretch { from, to: changes.position, entries: ledger.entries() };
        // A stretch is overtaken by itself, or it was not booked and is now.
        scene.cut(store.advance(None, &stretch.advance())).await;
        match direct.advance(None, &stretch.advance()).await.unwrap() {
            Some(Advanced::Overtaken) => booked_by_cut += 1,
            Some(Advanced::Done) => {}
            None => panic!("nobody leads here"),
        }
        assert_eq!(position(&direct).await, changes.position);
        let (from, to) = (Timestamp::from_micros(0), Timestamp::from_micros(i64::MAX));
        let range = Range { slot: Slot::Hour, from, to, queue: None };
        let booked = direct.statistics(&own, &range, 100).await.unwrap();
        let submitted: u64 = booked.iter().map(|bucket| bucket.tally.submitted).sum();
        assert_eq!(submitted, 2 * (round as u64 + 1), "each is counted once");
        // A pass: found by its hash, and spent once, heard of or not.
        let hash = KeyHash::of(format!("ticket {round}").as_bytes());
        let (kind, holder, keep) = (PassKind::Ticket, PassHolder::Nobody, Duration::from_mins(1));
        let pass = NewPass { hash, kind, holder, tenant: own.clone(), keep };
        let first = scene.cut(store.issue_pass(&pass)).await;
        let until = direct.issue_pass(&pass).await.unwrap();
        assert!(first.is_none_or(|first| first == until));
        let spent = scene.cut(store.spend_ticket(&hash)).await.flatten();
        let again = direct.spend_ticket(&hash).await.unwrap();
        assert!(spent.is_none() || again.is_none(), "of two who show it, one gets in");
        assert_eq!(direct.pass(&hash).await.unwrap(), None);
    }
    let audit = direct.census().await.unwrap();
    assert!(audit.is_clean(), "{audit:#?}");
    let cuts = scene.cutter.cuts.load(Ordering::SeqCst);
    eprintln!(
        "{cuts} cuts, {} unknown outcomes, {booked_by_cut} stretches booked by a call that was cut",
        scene.unknown
    );
    // These have one commit each, so every other call is let through.
    assert!(cuts >= rounds && 4 * scene.unknown >= rounds, "the cutter cut: {cuts}, {} unknown", scene.unknown);
    assert!(0 < booked_by_cut && booked_by_cut < rounds, "some were done, and some were not: {booked_by_cut}");
    scene.through.close();
    scene.direct.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tenants_keys_and_acts_whose_commit_is_unknown_are_kept_once() {
    let rounds = if is_torture() { 300 } else { 40 };
    let database = Database::ready().await.spoil();
    let mut scene = Scene::start(&database, 17).await;
    let (store, direct) = (scene.through.clone(), scene.direct.clone());
    for round in 0..rounds {
        let new = new_tenant(&format!("t{round}"));
        scene.cut(store.create_tenant(&new)).await;
        let CreateTenantAnswer::Created(tenant) = direct.create_tenant(&new).await.unwrap() else {
            panic!("its own id is not in its way")
        };
        let key = new_key(tenant.id.as_str());
        scene.cut(store.create_key(&key)).await;
        let CreateKeyAnswer::Created(key) = direct.create_key(&key).await.unwrap() else {
            panic!("its own id is not in its way")
        };
        let replacement = replacing(&key);
        scene.cut(store.replace_key(&tenant.id, &replacement)).await;
        let ReplaceKeyAnswer::Replaced { new, .. } = direct.replace_key(&tenant.id, &replacement).await.unwrap() else {
            panic!("nobody else replaces it")
        };
        assert_eq!(direct.keys(&tenant.id, None, 10).await.unwrap().len(), 2, "one key, and one that replaces it");
        let first = scene.cut(store.revoke_key(&tenant.id, &new.id)).await;
        let again = direct.revoke_key(&tenant.id, &new.id).await.unwrap();
        assert!(matches!(again, RevokeKeyAnswer::Revoked(_)) && first.is_none_or(|first| first == again));
        let update = disabling(&tenant);
        scene.cut(store.update_tenant(&update)).await;
        let UpdateTenantAnswer::Updated(disabled) = direct.update_tenant(&update).await.unwrap() else {
            panic!("nobody else changes it")
        };
        assert_eq!(disabled.version, 2, "the change counts once");
        let (entry, act) = (EntryId::fresh(), act(&tenant.id));
        scene.cut(store.record(entry, &act)).await;
        direct.record(entry, &act).await.unwrap();
        assert_eq!(direct.audit_log(Some(&tenant.id), None, 10).await.unwrap().len(), 1, "the act is kept once");
        scene.cut(store.delete_tenant(&tenant.id, 2)).await;
        assert_eq!(direct.delete_tenant(&tenant.id, 2).await.unwrap(), DeleteTenantAnswer::Deleted);
    }
    let audit = direct.census().await.unwrap();
    assert!(audit.is_clean(), "{audit:#?}");
    let cuts = scene.cutter.cuts.load(Ordering::SeqCst);
    eprintln!("{cuts} cuts, {} unknown outcomes", scene.unknown);
    assert!(cuts >= rounds && scene.unknown >= rounds, "the cutter cut: {cuts}, {} unknown", scene.unknown);
    scene.through.close();
    scene.direct.close();
}

fn act(tenant: &TenantId) -> Act {
    Act {
        tenant: tenant.clone(),
        actor: Actor::System,
        action: "tenant.update".into(),
        object: "tenant/it".into(),
        status: 200,
        request: None,
        peer: None,
    }
}
