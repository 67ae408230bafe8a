//! Due jobs are announced once, in the order in which claims would take them, and may be claimed all the same.

use std::sync::Arc;

use super::AnnounceSubject;
use super::given::{
    HOUR, MINUTE, PLENTY, SECOND, Scene, TTL, a_job, at_once, by_ids, by_order, completed, failed, ids, interrupted,
    jobs, queue, retry, routes, sorted, taken, tenant,
};
use super::tenants_kept::{changed, disabled, made, settings};
use foreman_core::id::{JobId, SessionId};
use foreman_core::lane::{Lane, LanePlan, Pick};
use foreman_core::ports::{
    AnnounceRequest, AnnounceStore, AnnouncedBatch, ClaimRequest, Headroom, Queues, RedriveAnswer, WantedJobs,
};
use foreman_core::retry::MAX_CRASHES;
use foreman_core::target::Route;
use foreman_core::tenant::TenantSettings;

const ANSWERS: &str = "the store answers";

/// A relay's side of a store.
pub(super) struct Relay {
    pub store: Arc<dyn AnnounceStore>,
}

/// So many in the order of the lanes, of everything there is.
pub(super) fn up_to(limit: usize) -> AnnounceRequest {
    AnnounceRequest { plan: LanePlan::strict(limit), limit, queues: Queues::All, routes: routes(), rooms: Vec::new() }
}

impl Relay {
    pub fn of(subject: &dyn AnnounceSubject) -> Self {
        Self { store: subject.announcing() }
    }

    pub async fn announce(&self, request: &AnnounceRequest) -> Option<AnnouncedBatch> {
        let batch = self.store.announce(request).await.expect(ANSWERS);
        if let Some(batch) = &batch {
            assert!(!batch.jobs.is_empty(), "an empty batch is none");
            assert!(batch.jobs.len() <= request.limit, "{} of {}", batch.jobs.len(), request.limit);
        }
        batch
    }

    /// The jobs of the next batch; none when there was nothing to announce.
    pub async fn next(&self, limit: usize) -> Vec<JobId> {
        self.ask(&up_to(limit)).await
    }

    pub async fn ask(&self, request: &AnnounceRequest) -> Vec<JobId> {
        self.announce(request).await.map(|batch| jobs_of(&batch)).unwrap_or_default()
    }

    /// Everything, batch by batch.
    pub async fn all(&self) -> Vec<JobId> {
        let mut all = Vec::new();
        loop {
            let next = self.next(1_000).await;
            if next.is_empty() {
                return all;
            }
            all.extend(next);
        }
    }
}

pub(super) fn jobs_of(batch: &AnnouncedBatch) -> Vec<JobId> {
    batch.jobs.iter().map(|one| one.job).collect()
}

/// A claim by order that leaves to the broker what it carries.
fn unannounced(session: SessionId, limit: usize) -> ClaimRequest {
    let wanted = WantedJobs::Unannounced { plan: LanePlan::strict(limit), limit };
    ClaimRequest { wanted, ..by_order(session, limit) }
}

pub async fn due_jobs_are_announced_once(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    assert!(relay.announce(&up_to(10)).await.is_none(), "there is nothing yet");
    let due = scene.submit_all(&jobs(3, &a_job())).await;
    assert_eq!(sorted(relay.next(10).await), due);
    assert!(relay.announce(&up_to(10)).await.is_none(), "they are announced");
    let more = scene.submit(a_job()).await;
    assert_eq!(relay.next(10).await, [more]);
}

pub async fn an_announcement_says_what_its_message_carries(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    let ask = a_job().of("acme").queued("mail").lane(Lane::High).correlated("order-7").command();
    let job = scene.submit(ask).await;
    let plain = scene.submit(a_job()).await;
    let batch = relay.announce(&up_to(10)).await.expect("two are due");
    let of = |id: JobId| batch.jobs.iter().find(|one| one.job == id).expect("it is announced");
    let one = of(job);
    assert_eq!((one.attempt, one.lane, &one.tenant, &one.queue), (0, Lane::High, &tenant("acme"), &queue("mail")));
    assert_eq!((&one.route, one.correlation_id.as_deref()), (&Route::command(), Some("order-7")));
    assert_eq!(of(plain).correlation_id, None);
    scene.run(session, plain, retry(SECOND)).await;
    scene.wait(SECOND).await;
    let batch = relay.announce(&up_to(10)).await.expect("it is due again");
    assert_eq!((batch.jobs[0].job, batch.jobs[0].attempt), (plain, 1), "the attempts so far");
}

pub async fn no_more_is_announced_than_was_asked_for(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let due = scene.submit_all(&jobs(25, &a_job())).await;
    assert!(relay.announce(&up_to(0)).await.is_none());
    let batch = relay.announce(&up_to(10)).await.expect("some are due");
    assert!(batch.has_more);
    let mut all = jobs_of(&batch);
    assert_eq!(all.len(), 10);
    all.extend(relay.all().await);
    assert_eq!(sorted(all), due);
}

pub async fn what_is_not_due_is_not_announced(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let later = scene.submit(a_job().after(MINUTE)).await;
    assert!(relay.next(10).await.is_empty());
    scene.wait(MINUTE).await;
    assert_eq!(relay.next(10).await, [later]);
}

pub async fn what_is_paused_is_not_announced(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    scene.pause("mail").await;
    let paused = scene.submit_all(&jobs(3, &a_job().queued("mail"))).await;
    let others = scene.submit(a_job().of("other").queued("mail")).await;
    let open = scene.submit(a_job()).await;
    assert_eq!(sorted(relay.all().await), sorted([open, others]));
    scene.resume("mail").await;
    assert_eq!(sorted(relay.all().await), paused);
}

pub async fn nothing_of_a_disabled_tenant_is_announced(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let acme = made(subject, "acme").await;
    let theirs = scene.submit_all(&jobs(3, &a_job().of("acme"))).await;
    let other = scene.submit(a_job()).await;
    let acme = changed(subject, &acme, disabled()).await;
    assert_eq!(relay.all().await, [other]);
    changed(subject, &acme, TenantSettings::default()).await;
    assert_eq!(sorted(relay.all().await), theirs);
}

pub async fn what_has_expired_is_not_announced(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    scene.submit(a_job().expires(scene.now().await.plus(MINUTE))).await;
    let other = scene.submit(a_job().expires(scene.now().await.plus(HOUR))).await;
    scene.advance(MINUTE).await;
    assert_eq!(relay.all().await, [other]);
}

pub async fn only_what_the_consumers_serve_is_announced(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let http = scene.submit(a_job()).await;
    let command = scene.submit(a_job().command()).await;
    let task = scene.submit(a_job().task("resize")).await;
    let mail = scene.submit(a_job().queued("mail")).await;
    let of = |queues: Queues, routes: Vec<Route>| AnnounceRequest { queues, routes, ..up_to(10) };
    assert!(relay.ask(&of(Queues::All, vec![])).await.is_empty());
    let named = Queues::Named(vec![queue("mail")]);
    assert_eq!(relay.ask(&of(named, routes())).await, [mail]);
    assert_eq!(relay.ask(&of(Queues::All, vec![Route::task("resize")])).await, [task]);
    assert_eq!(relay.ask(&of(Queues::All, vec![Route::command()])).await, [command]);
    assert_eq!(relay.ask(&of(Queues::All, vec![Route::http()])).await, [http]);
}

pub async fn a_job_that_must_run_alone_is_not_announced(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    let fragile = scene.submit(a_job()).await;
    for _ in 1..MAX_CRASHES {
        scene.crash(fragile).await;
    }
    let other = scene.submit(a_job()).await;
    assert_eq!(relay.all().await, [other]);
    let alone = super::given::alone(unannounced(session, 5));
    assert_eq!(ids(&scene.take(alone).await), [fragile], "whoever asks the store finds it");
}

pub async fn lanes_are_announced_as_the_plan_says(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    for lane in Lane::ALL {
        scene.submit_all(&jobs(10, &a_job().lane(lane))).await;
    }
    let picks = [(Lane::Low, 2), (Lane::High, 5), (Lane::Normal, 3), (Lane::Low, 1)];
    let plan = LanePlan(picks.map(|(lane, up_to)| Pick { lane, up_to }).into());
    let batch = relay.announce(&AnnounceRequest { plan, ..up_to(30) }).await.expect("there are many");
    let of = |lane: Lane| batch.jobs.iter().filter(|one| one.lane == lane).count();
    assert_eq!(Lane::ALL.map(of), [5, 3, 3]);
    let batch = relay.announce(&up_to(4)).await.expect("there are more");
    assert!(batch.jobs.iter().all(|one| one.lane == Lane::High), "the strict plan begins with them");
}

pub async fn tenants_take_turns(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    scene.submit_all(&jobs(200, &a_job().of("burst"))).await;
    let single = scene.submit(a_job().of("single")).await;
    let elsewhere = scene.submit(a_job().of("elsewhere").queued("mail")).await;
    let first = relay.next(10).await;
    assert!(first.contains(&single) && first.contains(&elsewhere), "each has its turn before a burst is over");
}

pub async fn a_newcomer_stands_right_behind_what_is_announced(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    scene.submit_all(&jobs(200, &a_job().of("burst"))).await;
    for _ in 0..5 {
        assert_eq!(relay.next(20).await.len(), 20);
    }
    let newcomer = scene.submit_all(&jobs(20, &a_job().of("new"))).await;
    let next = relay.next(20).await;
    let of_newcomer = next.iter().filter(|id| newcomer.contains(id)).count();
    assert!((8..=12).contains(&of_newcomer), "{of_newcomer} of 20: neither before everyone nor behind the burst");
}

pub async fn a_heavier_tenant_is_announced_more_often(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let heavy = made(subject, "heavy").await;
    changed(subject, &heavy, settings(3)).await;
    made(subject, "light").await;
    scene.submit_all(&jobs(60, &a_job().of("light"))).await;
    let theirs = scene.submit_all(&jobs(60, &a_job().of("heavy"))).await;
    let first = relay.next(40).await;
    let heavy = first.iter().filter(|id| theirs.contains(id)).count();
    assert!((27..=33).contains(&heavy), "{heavy} of 40 at a weight of 3 to 1");
}

pub async fn a_tenant_without_room_is_passed_over(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let full = scene.submit_all(&jobs(30, &a_job().of("full"))).await;
    let free = scene.submit(a_job().of("free")).await;
    let rooms = vec![Headroom { tenant: tenant("full"), jobs: 0 }];
    assert_eq!(relay.ask(&AnnounceRequest { rooms, ..up_to(10) }).await, [free]);
    assert_eq!(sorted(relay.all().await), full);
}

/// Whoever announces knows how many run; what is on its way to run is the store's to count.
pub async fn what_is_announced_takes_of_its_tenants_room(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    scene.submit_all(&jobs(10, &a_job().of("near"))).await;
    let free = scene.submit_all(&jobs(10, &a_job().of("free"))).await;
    let within = |jobs: u32| AnnounceRequest { rooms: vec![Headroom { tenant: tenant("near"), jobs }], ..up_to(30) };
    let first = relay.ask(&within(3)).await;
    let near: Vec<JobId> = first.iter().copied().filter(|id| !free.contains(id)).collect();
    assert_eq!(near.len(), 3);
    relay.ask(&within(3)).await;
    assert!(relay.ask(&within(3)).await.is_empty(), "three are on their way");
    assert_eq!(relay.ask(&within(5)).await.len(), 2, "room for two more");
    let held = scene.take(by_ids(session, &near)).await;
    assert_eq!(held.len(), 3);
    assert_eq!(relay.ask(&within(3)).await.len(), 1, "two are on their way");
}

pub async fn an_announced_job_is_claimed_by_its_id(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    scene.submit_all(&jobs(5, &a_job())).await;
    let announced = relay.next(10).await;
    let held = scene.take(by_ids(session, &announced)).await;
    assert_eq!(sorted(ids(&held)), sorted(announced));
    for held in held {
        scene.complete(session, held).await;
    }
    assert!(relay.next(10).await.is_empty());
}

pub async fn an_announced_job_is_claimed_by_order_too(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    let due = scene.submit_all(&jobs(5, &a_job())).await;
    assert_eq!(relay.next(3).await.len(), 3);
    assert_eq!(sorted(ids(&scene.claim(session, 10).await)), due);
}

pub async fn a_claim_of_what_is_unannounced_leaves_the_rest_to_the_broker(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    let due = scene.submit_all(&jobs(6, &a_job())).await;
    let announced = relay.next(4).await;
    let held = scene.take(unannounced(session, 10)).await;
    let rest = due.into_iter().filter(|id| !announced.contains(id));
    assert_eq!(sorted(ids(&held)), sorted(rest));
    assert!(scene.take(unannounced(session, 10)).await.is_empty());
    assert_eq!(scene.take(by_ids(session, &announced)).await.len(), 4);
}

pub async fn a_claim_of_what_is_unannounced_is_fair_too(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    scene.submit_all(&jobs(100, &a_job().of("burst"))).await;
    assert_eq!(relay.next(20).await.len(), 20);
    let single = scene.submit(a_job().of("single")).await;
    let within = |jobs: u32| ClaimRequest {
        rooms: vec![Headroom { tenant: tenant("burst"), jobs }],
        ..unannounced(session, 10)
    };
    let held = scene.take(within(3)).await;
    assert!(ids(&held).contains(&single) && held.len() == 4, "{} were taken", held.len());
    assert!(scene.take(within(0)).await.is_empty());
    assert_eq!(scene.take(unannounced(session, 10)).await.len(), 10);
}

pub async fn a_job_that_comes_back_is_announced_again(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    let job = scene.submit(a_job()).await;
    assert_eq!(relay.next(10).await, [job]);
    scene.run(session, job, retry(MINUTE)).await;
    assert!(relay.next(10).await.is_empty(), "it is not due");
    scene.wait(MINUTE).await;
    assert_eq!(relay.next(10).await, [job], "after a retry");
    scene.run(session, job, interrupted()).await;
    assert_eq!(relay.next(10).await, [job], "after an interruption");
    let mortal = scene.mortal().await;
    scene.claim_job(mortal, job).await;
    scene.advance(TTL).await;
    scene.lapse(mortal).await;
    assert_eq!(relay.next(10).await, [job], "after a lapse");
    let brief = scene.session().await;
    scene.claim_job(brief, job).await;
    scene.end(brief).await;
    assert_eq!(relay.next(10).await, [job], "handed back by a session that ended");
}

pub async fn a_redriven_job_is_announced_again(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let session = scene.session().await;
    let job = scene.submit(a_job()).await;
    assert_eq!(relay.next(10).await, [job]);
    scene.run(session, job, failed("it broke")).await;
    assert!(relay.next(10).await.is_empty());
    assert_eq!(scene.redrive(job).await, Some(RedriveAnswer::Redriven));
    assert_eq!(relay.next(10).await, [job]);
}

pub async fn a_cancelled_job_is_not_announced(subject: &dyn AnnounceSubject) {
    let (scene, relay) = (Scene::of(subject), Relay::of(subject));
    let due = scene.submit_all(&jobs(3, &a_job())).await;
    scene.cancel(due[1]).await;
    assert_eq!(sorted(relay.all().await), [due[0], due[2]]);
    scene.cancel(due[0]).await;
    assert!(relay.next(10).await.is_empty());
}

pub async fn relays_at_once_announce_every_job_once(subject: &dyn AnnounceSubject) {
    const JOBS: usize = 400;
    let scene = Scene::of(subject);
    let due = scene.submit_all(&jobs(JOBS, &a_job())).await;
    let work = (0..4).map(|_| {
        let relay = Relay::of(subject);
        async move {
            let mut announced = Vec::new();
            // Where others are faster it finds nothing once in a while.
            let mut nothing = 0;
            while nothing < 20 {
                let next = relay.next(7).await;
                nothing = if next.is_empty() { nothing + 1 } else { 0 };
                announced.extend(next);
            }
            announced
        }
    });
    let announced: Vec<JobId> = at_once(work).await.into_iter().flatten().collect();
    assert_eq!(sorted(announced), due, "each of them once");
}

pub async fn relays_and_claims_at_once_lose_nothing(subject: &dyn AnnounceSubject) {
    const JOBS: usize = 300;
    let scene = Scene::of(subject);
    let due = scene.submit_all(&jobs(JOBS, &a_job())).await;
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(scene.session().await);
    }
    let work = sessions.into_iter().enumerate().map(|(number, session)| {
        let (relay, store) = (Relay::of(subject), subject.store());
        async move {
            let mut done = Vec::new();
            let mut nothing = 0;
            while nothing < 20 {
                let request = if number < 2 {
                    let announced = relay.next(9).await;
                    by_ids(session, &announced)
                } else {
                    by_order(session, 5)
                };
                let held = taken(store.claim(&request).await.expect(ANSWERS));
                nothing = if held.is_empty() { nothing + 1 } else { 0 };
                done.extend(ids(&held));
                let batch: Vec<_> = held.into_iter().map(|held| held.settle(completed())).collect();
                store.settle(session, &batch).await.expect(ANSWERS);
            }
            done
        }
    });
    let done: Vec<JobId> = at_once(work).await.into_iter().flatten().collect();
    let relay = Relay::of(subject);
    assert_eq!(relay.store.outstanding().await.expect(ANSWERS).total(), 0, "{PLENTY} or none");
    assert_eq!(sorted(done), due, "each of them once");
}
