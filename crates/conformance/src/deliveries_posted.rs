//! Deliveries are jobs, listed for the endpoint they go to; what is listed outlives the job and goes by its own age.

use super::TenancySubject;
use super::given::{DAY, HOUR, PLENTY, SECOND, Scene, a_job, by_ids, completed, ids, sorted, tenant};
use super::posting::{
    BODY, Round, callback, courier, delivery, found, job_ids, listed, next_deliveries, of_deliveries, posted, text,
};
use super::prune::for_ever;
use super::webhooks_kept::made;
use foreman_core::id::JobId;
use foreman_core::ports::{Delivery, NewDelivery, Pruned, RemoveAnswer, Retention};
use foreman_core::state::State;
use foreman_core::target::{Route, Target};
use foreman_core::webhook::Event;

const ANSWERS: &str = "the store answers";

fn as_listed(new: &NewDelivery, round_at: foreman_core::time::Timestamp) -> Delivery {
    Delivery {
        job: new.job.id,
        webhook: new.webhook.expect("it goes to an endpoint"),
        event: new.event,
        about: new.about,
        created_at: round_at,
    }
}

pub async fn a_delivery_survives_the_store_to_the_letter(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let (session, webhook) = (scene.session().await, made(subject, "acme").await);
    courier(&*subject.store()).await;
    let round = posted(subject, vec![delivery("acme", webhook.id), callback("acme")]).await;
    let held = scene.take(next_deliveries(session, 10)).await;
    assert_eq!(held.len(), 2);
    for new in &round.deliveries {
        let view = scene.store.get(&new.job.tenant, new.job.id).await.expect(ANSWERS).expect("it is a job");
        let held = held.iter().find(|held| held.job.id == new.job.id).expect("both were claimed");
        assert_eq!(view.state, State::Running);
        for work in [&view.job.work, &held.job.work] {
            assert_eq!(text(work), text(&new.job.work));
            let Target::Webhook(target) = &work.target else { panic!("another target: {:?}", work.target) };
            assert_eq!(target.body.get(), BODY, "what is signed is what was written");
            assert_eq!(work.target.route(), Route::webhook());
        }
    }
}

pub async fn deliveries_are_listed_the_newest_first_page_by_page(subject: &dyn TenancySubject) {
    let webhook = made(subject, "acme").await;
    courier(&*subject.store()).await;
    let mut expected = Vec::new();
    for event in [Event::JobCompleted, Event::JobFailed, Event::JobDead, Event::WebhookDisabled] {
        let about = (event != Event::WebhookDisabled).then(JobId::fresh);
        let each = || NewDelivery { event, about, ..delivery("acme", webhook.id) };
        let round = posted(subject, vec![each(), each()]).await;
        let now = subject.now().await;
        expected.extend(round.deliveries.iter().map(|new| as_listed(new, now)));
        subject.advance(SECOND).await;
    }
    expected.reverse();
    assert_eq!(listed(subject, "acme", webhook.id).await, expected);
    for limit in [1, 3, 8] {
        let (mut before, mut seen) = (None, Vec::new());
        loop {
            let page = subject.tenancy().deliveries(&webhook.tenant, webhook.id, before, limit).await.expect(ANSWERS);
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            before = Some(last.job);
            seen.extend(page);
        }
        assert_eq!(seen, expected, "in pages of {limit}");
    }
    for one in &expected {
        assert_eq!(found(subject, &webhook.tenant, webhook.id, one.job).await.as_ref(), Some(one));
    }
}

pub async fn deliveries_are_listed_for_their_tenant_and_endpoint(subject: &dyn TenancySubject) {
    let (first, second, theirs) =
        (made(subject, "acme").await, made(subject, "acme").await, made(subject, "other").await);
    courier(&*subject.store()).await;
    let round = vec![delivery("acme", first.id), delivery("acme", second.id), delivery("other", theirs.id)];
    let made = job_ids(&posted(subject, round).await.deliveries);
    for (number, webhook) in [&first, &second, &theirs].into_iter().enumerate() {
        for (tenant, mine) in [("acme", number < 2), ("other", number == 2), ("nobody", false)] {
            let listed: Vec<JobId> = listed(subject, tenant, webhook.id).await.iter().map(|one| one.job).collect();
            let expected: &[JobId] = if mine { &made[number..=number] } else { &[] };
            assert_eq!(listed, expected, "{tenant}");
        }
        for job in &made {
            let one = found(subject, &webhook.tenant, webhook.id, *job).await;
            assert_eq!(one.map(|one| one.job), (*job == made[number]).then_some(*job));
        }
    }
    assert_eq!(found(subject, &tenant("other"), first.id, made[0]).await, None);
}

pub async fn a_callback_is_a_job_and_listed_nowhere(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let webhook = made(subject, "acme").await;
    courier(&*subject.store()).await;
    let round = posted(subject, vec![callback("acme")]).await;
    assert_eq!(listed(subject, "acme", webhook.id).await, []);
    let job = round.deliveries[0].job.id;
    assert_eq!(found(subject, &webhook.tenant, webhook.id, job).await, None);
    assert!(scene.store.get(&webhook.tenant, job).await.expect(ANSWERS).is_some());
}

/// The endpoint was deleted while the courier read. Its message comes to nothing, and holds nobody else's up.
pub async fn a_round_to_an_endpoint_that_is_gone_is_posted_all_the_same(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let (session, gone, there) = (scene.session().await, made(subject, "acme").await, made(subject, "acme").await);
    courier(&*subject.store()).await;
    assert!(subject.tenancy().delete_webhook(&gone.tenant, gone.id).await.expect(ANSWERS));
    let round = posted(subject, vec![delivery("acme", gone.id), delivery("acme", there.id)]).await;
    let held = scene.take(next_deliveries(session, 10)).await;
    assert_eq!(sorted(ids(&held)), job_ids(&round.deliveries));
    assert_eq!(listed(subject, "acme", there.id).await.len(), 1);
}

pub async fn a_delivery_beside_the_courier_is_made_once(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let webhook = made(subject, "acme").await;
    let place = courier(&*subject.store()).await;
    let test = NewDelivery { event: Event::WebhookTest, about: None, ..delivery("acme", webhook.id) };
    let now = subject.now().await;
    for _ in 0..3 {
        subject.tenancy().post_one(&test).await.expect(ANSWERS);
        subject.advance(SECOND).await;
    }
    assert_eq!(listed(subject, "acme", webhook.id).await, [as_listed(&test, now)]);
    assert_eq!(scene.census().await.jobs, 1);
    assert_eq!(courier(&*subject.store()).await, place, "the courier is where it was");
    let moved = scene.moved_since(place).await;
    assert_eq!(
        moved.iter().map(|moved| (moved.id, moved.step.state)).collect::<Vec<_>>(),
        [(test.job.id, State::Pending)]
    );
    let session = scene.session().await;
    let held = scene.take(of_deliveries(by_ids(session, &[test.job.id]))).await.remove(0);
    scene.complete(session, held).await;
    subject.tenancy().post_one(&test).await.expect(ANSWERS);
    let view = scene.store.get(&webhook.tenant, test.job.id).await.expect(ANSWERS).expect("it is there");
    assert_eq!(view.state, State::Completed, "one that has arrived is not sent again");
}

pub async fn a_delivery_can_be_made_where_there_is_no_courier(subject: &dyn TenancySubject) {
    let webhook = made(subject, "acme").await;
    let test = delivery("acme", webhook.id);
    subject.tenancy().post_one(&test).await.expect(ANSWERS);
    assert_eq!(listed(subject, "acme", webhook.id).await.len(), 1);
    let head = subject.store().head().await.expect(ANSWERS);
    assert_eq!(courier(&*subject.store()).await, head, "and one that comes later begins at the end");
}

pub async fn what_is_listed_outlives_the_job(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let (session, webhook) = (scene.session().await, made(subject, "acme").await);
    courier(&*subject.store()).await;
    let round = posted(subject, vec![delivery("acme", webhook.id)]).await;
    let held = scene.take(next_deliveries(session, 1)).await.remove(0);
    let id = held.job.id;
    scene.complete(session, held).await;
    let removed = scene.store.remove(&webhook.tenant, &[id]).await.expect(ANSWERS);
    assert_eq!(removed, [Some(RemoveAnswer::Removed)]);
    let listed = listed(subject, "acme", webhook.id).await;
    assert_eq!(listed, [as_listed(&round.deliveries[0], subject.now().await)]);
}

pub async fn deliveries_are_pruned_by_their_age(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let (first, second) = (made(subject, "acme").await, made(subject, "other").await);
    courier(&*subject.store()).await;
    posted(subject, vec![delivery("acme", first.id), delivery("other", second.id), delivery("acme", first.id)]).await;
    scene.advance(HOUR).await;
    let young = posted(subject, vec![delivery("acme", first.id)]).await;
    let retention = Retention { deliveries: DAY, ..for_ever() };
    scene.advance(DAY.saturating_sub(HOUR + SECOND)).await;
    assert_eq!(scene.prune(&retention, PLENTY).await, Pruned::default(), "not before their day is over");
    scene.advance(SECOND * 2).await;
    let mut pruned = Vec::new();
    for _ in 0..3 {
        let step = scene.prune(&retention, 2).await;
        assert_eq!(step.was_busy(2), step.deliveries == 2);
        pruned.push(step.deliveries);
    }
    assert_eq!(pruned, [2, 1, 0]);
    let left: Vec<JobId> = listed(subject, "acme", first.id).await.iter().map(|one| one.job).collect();
    assert_eq!(left, job_ids(&young.deliveries));
    assert_eq!(listed(subject, "other", second.id).await, []);
    assert_eq!(scene.census().await.jobs, 4, "their jobs stay");
}

pub async fn a_deleted_endpoint_takes_its_list_along_and_leaves_the_jobs(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let (gone, there) = (made(subject, "acme").await, made(subject, "acme").await);
    courier(&*subject.store()).await;
    let Round { deliveries, .. } = posted(subject, vec![delivery("acme", gone.id), delivery("acme", there.id)]).await;
    assert!(subject.tenancy().delete_webhook(&gone.tenant, gone.id).await.expect(ANSWERS));
    assert_eq!(listed(subject, "acme", gone.id).await, []);
    assert_eq!(found(subject, &gone.tenant, gone.id, deliveries[0].job.id).await, None);
    assert_eq!(listed(subject, "acme", there.id).await.len(), 1);
    let session = scene.session().await;
    let held = scene.take(next_deliveries(session, 10)).await;
    assert_eq!(sorted(ids(&held)), job_ids(&deliveries), "who runs them finds no endpoint");
}

/// A delivery that is dead can be sent again: the same job, and so the same message.
pub async fn a_delivery_is_sent_again_by_a_redrive(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let (session, webhook) = (scene.session().await, made(subject, "acme").await);
    courier(&*subject.store()).await;
    let round = posted(subject, vec![delivery("acme", webhook.id)]).await;
    let id = round.deliveries[0].job.id;
    for attempt in 1..=2 {
        let held = scene.take(next_deliveries(session, 1)).await.remove(0);
        assert_eq!((held.job.id, held.attempt), (id, attempt));
        assert_eq!(text(&held.job.work), text(&round.deliveries[0].job.work));
        scene.settle_all(session, &[held.settle(completed())]).await;
        scene.store.redrive(&webhook.tenant, &[id]).await.expect(ANSWERS);
    }
    assert_eq!(listed(subject, "acme", webhook.id).await.len(), 1, "and it stands in the list once");
    scene.submit(a_job()).await;
}
