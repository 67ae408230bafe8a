//! The courier's place in the change log: it moves with the deliveries it makes, and nothing it has not read is pruned.
//!
//! Of two couriers one is overtaken, and so is a round whose answer was lost and that is sent again: every ending is told once.

use super::TenancySubject;
use super::given::{DAY, HOUR, PLENTY, SECOND, Scene, a_job, at_once, completed, ids, jobs, sorted};
use super::posting::{Round, courier, delivery, job_ids, listed, next_deliveries, post_by, posted};
use super::prune::for_ever;
use super::webhooks_kept::made;
use foreman_core::id::JobId;
use foreman_core::ports::{Advanced, FollowerName, NewDelivery, Position, Retention, Topic, UNREAD_KEPT};
use foreman_core::state::State;
use foreman_core::webhook::QUEUE;

const ANSWERS: &str = "the store answers";

/// How many jobs there are at all.
async fn job_count(scene: &Scene<'_>) -> u64 {
    scene.census().await.jobs
}

async fn dismiss(subject: &dyn TenancySubject) {
    subject.store().dismiss(None, &FollowerName::COURIER).await.expect(ANSWERS);
}

pub async fn the_courier_begins_at_the_end_of_the_log_and_stays_there(subject: &dyn TenancySubject) {
    let (scene, store) = (Scene::of(subject), subject.store());
    scene.submit(a_job()).await;
    let head = scene.head().await;
    assert_eq!(courier(&*store).await, head, "what happened before there was one is told to nobody");
    let id = scene.submit(a_job()).await;
    subject.advance(HOUR).await;
    assert_eq!(courier(&*store).await, head, "it has read nothing since");
    let moved = scene.moved_since(head).await;
    assert_eq!(moved.iter().map(|moved| moved.id).collect::<Vec<_>>(), [id], "and from there it misses nothing");
}

pub async fn in_an_empty_log_the_courier_begins_at_the_beginning(subject: &dyn TenancySubject) {
    let (scene, store) = (Scene::of(subject), subject.store());
    let first = courier(&*store).await;
    let id = scene.submit(a_job()).await;
    assert_eq!(courier(&*store).await, first);
    assert_eq!(scene.moved_since(first).await.iter().map(|moved| moved.id).collect::<Vec<_>>(), [id]);
}

pub async fn couriers_that_come_at_once_begin_at_one_place(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    scene.submit(a_job()).await;
    let places = at_once((0..8).map(|_| {
        let store = subject.store();
        async move {
            let place = courier(&*store).await;
            store.submit(&[a_job().build()]).await.expect(ANSWERS);
            place
        }
    }))
    .await;
    assert!(places.iter().all(|place| *place == places[0]), "{places:?}");
}

pub async fn a_round_moves_the_courier_and_makes_jobs_to_claim(subject: &dyn TenancySubject) {
    let (scene, store) = (Scene::of(subject), subject.store());
    let (session, webhook) = (scene.session().await, made(subject, "acme").await);
    courier(&*store).await;
    scene.submit(a_job()).await;
    let round = posted(subject, vec![delivery("acme", webhook.id), delivery("acme", webhook.id)]).await;
    assert_eq!(courier(&*store).await, round.to);
    assert_eq!(ids(&scene.claim(session, 10).await).len(), 1, "who asks for other routes gets no delivery");
    let held = scene.take(next_deliveries(session, 10)).await;
    assert_eq!(sorted(ids(&held)), job_ids(&round.deliveries));
    for held in held {
        assert_eq!((held.attempt, held.job.created_at), (1, scene.now().await));
        scene.complete(session, held).await;
    }
}

pub async fn a_round_without_a_delivery_moves_the_courier_too(subject: &dyn TenancySubject) {
    let (scene, store) = (Scene::of(subject), subject.store());
    courier(&*store).await;
    scene.submit(a_job()).await;
    let head = scene.head().await;
    let round = posted(subject, Vec::new()).await;
    assert_eq!((courier(&*store).await, round.to), (head, head));
    assert_eq!(scene.head().await, head, "and nothing moved by it");
}

/// Its own deliveries stand in the log behind the place that the courier has moved to: it reads how they go.
pub async fn what_a_round_makes_stands_in_the_log_like_any_submission(subject: &dyn TenancySubject) {
    let (scene, store) = (Scene::of(subject), subject.store());
    let (session, webhook) = (scene.session().await, made(subject, "acme").await);
    courier(&*store).await;
    scene.submit(a_job()).await;
    let round = posted(subject, vec![delivery("acme", webhook.id), delivery("acme", webhook.id)]).await;
    let moved = scene.moved_since(courier(&*store).await).await;
    assert_eq!(sorted(moved.iter().map(|moved| moved.id)), job_ids(&round.deliveries));
    for moved in &moved {
        assert_eq!((moved.step.state, moved.queue.to_string()), (State::Pending, QUEUE.to_owned()));
        assert_eq!((moved.tenant.as_str(), moved.step.attempt, moved.at), ("acme", 0, scene.now().await));
    }
    let held = scene.take(next_deliveries(session, 1)).await.remove(0);
    let id = held.job.id;
    scene.complete(session, held).await;
    let states: Vec<State> =
        scene.moved_since(round.to).await.iter().filter(|moved| moved.id == id).map(|moved| moved.step.state).collect();
    assert_eq!(states, [State::Pending, State::Running, State::Completed]);
}

pub async fn a_round_wakes_those_who_claim_and_those_who_watch(subject: &dyn TenancySubject) {
    let webhook = made(subject, "acme").await;
    courier(&*subject.store()).await;
    let mut bells = [Topic::Ready, Topic::Changed].map(|topic| subject.wakeups().listen(topic));
    bells.iter_mut().for_each(tokio::sync::watch::Receiver::mark_unchanged);
    posted(subject, vec![delivery("acme", webhook.id)]).await;
    for mut bell in bells {
        let rung = tokio::time::timeout(SECOND * 10, bell.changed()).await;
        assert!(matches!(rung, Ok(Ok(()))), "no bell");
    }
}

/// A courier is paused between reading and posting; another posts; the first goes on.
pub async fn a_round_from_elsewhere_writes_nothing(subject: &dyn TenancySubject) {
    let (scene, store) = (Scene::of(subject), subject.store());
    let webhook = made(subject, "acme").await;
    let from = courier(&*store).await;
    scene.submit(a_job()).await;
    let late = Round { from, to: scene.head().await, deliveries: vec![delivery("acme", webhook.id)] };
    let first = posted(subject, vec![delivery("acme", webhook.id)]).await;
    scene.submit(a_job()).await;
    let (head, count) = (scene.head().await, job_count(&scene).await);
    assert_eq!(post_by(&*store, &late).await, Advanced::Overtaken);
    let ahead = Round { from: head, to: head, ..late.clone() };
    assert_eq!(post_by(&*store, &ahead).await, Advanced::Overtaken, "nor from where the courier has not been yet");
    assert_eq!(courier(&*store).await, first.to);
    assert_eq!((scene.head().await, job_count(&scene).await), (head, count));
    let listed = listed(subject, "acme", webhook.id).await;
    assert_eq!(listed.iter().map(|delivery| delivery.job).collect::<Vec<_>>(), job_ids(&first.deliveries));
}

pub async fn a_round_sent_again_doubles_nothing(subject: &dyn TenancySubject) {
    let (scene, store) = (Scene::of(subject), subject.store());
    let webhook = made(subject, "acme").await;
    courier(&*store).await;
    scene.submit(a_job()).await;
    let round = posted(subject, vec![delivery("acme", webhook.id), delivery("acme", webhook.id)]).await;
    let head = scene.head().await;
    assert_eq!(post_by(&*store, &round).await, Advanced::Overtaken, "by itself");
    assert_eq!((courier(&*store).await, scene.head().await), (round.to, head));
    assert_eq!(job_count(&scene).await, 3);
    assert_eq!(listed(subject, "acme", webhook.id).await.len(), 2);
}

/// A part of a round was written before the courier moved, as a slice of many endings is; then all of it is sent.
pub async fn what_is_there_of_a_round_already_is_made_once(subject: &dyn TenancySubject) {
    let (scene, store) = (Scene::of(subject), subject.store());
    let (session, webhook) = (scene.session().await, made(subject, "acme").await);
    let from = courier(&*store).await;
    scene.submit(a_job()).await;
    let to = scene.head().await;
    let part = Round { from, to: from, deliveries: vec![delivery("acme", webhook.id), delivery("acme", webhook.id)] };
    assert_eq!(post_by(&*store, &part).await, Advanced::Done);
    assert_eq!(courier(&*store).await, from);
    let mut whole = Round { to, ..part };
    whole.deliveries.extend([delivery("acme", webhook.id), delivery("acme", webhook.id)]);
    assert_eq!(post_by(&*store, &whole).await, Advanced::Done);
    assert_eq!((courier(&*store).await, job_count(&scene).await), (to, 5));
    assert_eq!(listed(subject, "acme", webhook.id).await.len(), 4);
    assert_eq!(sorted(ids(&scene.take(next_deliveries(session, 10)).await)), job_ids(&whole.deliveries));
}

pub async fn of_two_couriers_at_once_one_wins(subject: &dyn TenancySubject) {
    let (scene, store) = (Scene::of(subject), subject.store());
    let webhook = made(subject, "acme").await;
    let from = courier(&*store).await;
    let mut made = Vec::new();
    let mut place = from;
    for _ in 0..10 {
        scene.submit(a_job()).await;
        let to = scene.head().await;
        let rounds: Vec<Round> =
            (0..4).map(|_| Round { from: place, to, deliveries: vec![delivery("acme", webhook.id)] }).collect();
        let answers = at_once(rounds.clone().into_iter().map(|round| {
            let store = subject.store();
            async move { post_by(&*store, &round).await }
        }))
        .await;
        let won: Vec<&Round> = rounds
            .iter()
            .zip(&answers)
            .filter(|(_, answer)| **answer == Advanced::Done)
            .map(|(round, _)| round)
            .collect();
        assert_eq!(won.len(), 1, "{answers:?}");
        made.extend(job_ids(&won[0].deliveries));
        place = courier(&*store).await;
        assert_eq!(place, to);
    }
    let listed = listed(subject, "acme", webhook.id).await;
    assert_eq!(sorted(listed.iter().map(|delivery| delivery.job)), sorted(made));
    assert_eq!(job_count(&scene).await, 20);
}

/// Couriers that follow the log while others write to it tell every ending once.
pub async fn couriers_that_follow_tell_every_ending_once(subject: &dyn TenancySubject) {
    const COURIERS: usize = 3;
    const JOBS: usize = 40;
    let scene = Scene::of(subject);
    let (session, webhook) = (scene.session().await, made(subject, "acme").await);
    courier(&*subject.store()).await;
    let writer = async {
        for _ in 0..JOBS / 4 {
            scene.submit_all(&jobs(4, &a_job())).await;
            for held in scene.claim(session, 4).await {
                scene.complete(session, held).await;
            }
            tokio::task::yield_now().await;
        }
    };
    let couriers = at_once((0..COURIERS).map(|_| {
        let (tenancy, store, webhook) = (subject.tenancy(), subject.store(), webhook.clone());
        async move {
            let mut told = Vec::new();
            let mut read = 0;
            while read < JOBS {
                let from = courier(&*store).await;
                let page = store.changes(from, 3).await.expect(ANSWERS);
                let ended = page.moved().filter(|moved| moved.step.state == State::Completed);
                let ended: Vec<JobId> = ended.map(|moved| moved.id).collect();
                let tell = |about: &JobId| NewDelivery { about: Some(*about), ..delivery("acme", webhook.id) };
                let round = Round { from, to: page.position, deliveries: ended.iter().map(tell).collect() };
                if page.position > from && post_by(&*store, &round).await == Advanced::Done {
                    told.extend(ended);
                }
                let all = tenancy.deliveries(&webhook.tenant, webhook.id, None, PLENTY).await.expect(ANSWERS);
                read = all.len();
                tokio::task::yield_now().await;
            }
            told
        }
    }));
    let in_time = tokio::time::timeout(super::given::MINUTE, async { tokio::join!(writer, couriers) });
    let ((), told) = in_time.await.expect("all is told within a minute");
    let told = sorted(told.into_iter().flatten());
    let about = listed(subject, "acme", webhook.id).await;
    assert_eq!(told, sorted(about.iter().filter_map(|delivery| delivery.about)));
    let mut once = told.clone();
    once.dedup();
    assert_eq!((told.len(), once.len()), (JOBS, JOBS), "each once");
}

pub async fn a_dismissed_courier_posts_nothing_and_the_next_begins_at_the_end(subject: &dyn TenancySubject) {
    let (scene, store) = (Scene::of(subject), subject.store());
    let webhook = made(subject, "acme").await;
    dismiss(subject).await;
    let from = courier(&*store).await;
    scene.submit(a_job()).await;
    dismiss(subject).await;
    dismiss(subject).await;
    let round = Round { from, to: scene.head().await, deliveries: vec![delivery("acme", webhook.id)] };
    assert_eq!(post_by(&*store, &round).await, Advanced::Overtaken);
    assert_eq!(job_count(&scene).await, 1);
    let head = scene.head().await;
    assert_eq!(courier(&*store).await, head);
    assert!(head > from);
}

/// Whose moves are left of the log from its beginning, the oldest job first.
async fn left(scene: &Scene<'_>) -> Vec<JobId> {
    sorted(scene.moved_since(Position::default()).await.iter().map(|moved| moved.id))
}

fn changes_for_a_day() -> Retention {
    Retention { changes: DAY, ..for_ever() }
}

pub async fn what_the_courier_has_not_read_is_not_pruned(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let before = scene.submit(a_job()).await;
    courier(&*subject.store()).await;
    let unread = scene.submit_all(&jobs(2, &a_job())).await;
    assert_eq!(left(&scene).await, [&[before], &unread[..]].concat());
    scene.advance(DAY * 2).await;
    assert_eq!(scene.prune(&changes_for_a_day(), PLENTY).await.changes, 1, "what it began after");
    assert_eq!(left(&scene).await, unread);
    posted(subject, Vec::new()).await;
    assert!(scene.prune(&changes_for_a_day(), PLENTY).await.changes >= 1, "it has been read");
    assert_eq!(left(&scene).await, []);
    let next = scene.submit(a_job()).await;
    let place = courier(&*subject.store()).await;
    let moved = scene.moved_since(place).await;
    assert_eq!(moved.iter().map(|moved| moved.id).collect::<Vec<_>>(), [next], "and it goes on from there");
}

pub async fn what_is_read_is_kept_for_its_time_all_the_same(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    courier(&*subject.store()).await;
    let id = scene.submit(a_job()).await;
    posted(subject, Vec::new()).await;
    scene.advance(DAY.saturating_sub(SECOND)).await;
    assert_eq!(scene.prune(&changes_for_a_day(), PLENTY).await.changes, 0, "others read it too");
    assert_eq!(left(&scene).await, [id]);
}

/// A courier that never comes back must not make the log grow for ever.
pub async fn what_nobody_read_for_a_week_is_pruned(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    courier(&*subject.store()).await;
    scene.submit(a_job()).await;
    scene.advance(HOUR).await;
    let younger = scene.submit(a_job()).await;
    scene.advance(UNREAD_KEPT.saturating_sub(HOUR + SECOND)).await;
    assert_eq!(scene.prune(&changes_for_a_day(), PLENTY).await.changes, 0);
    scene.advance(SECOND * 2).await;
    assert_eq!(scene.prune(&changes_for_a_day(), PLENTY).await.changes, 1);
    assert_eq!(left(&scene).await, [younger]);
    let round = posted(subject, Vec::new()).await;
    assert_eq!(courier(&*subject.store()).await, round.to, "the courier goes on with what is left");
}

pub async fn a_dismissed_courier_keeps_nothing(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    courier(&*subject.store()).await;
    scene.submit(a_job()).await;
    scene.advance(DAY * 2).await;
    assert_eq!(scene.prune(&changes_for_a_day(), PLENTY).await.changes, 0);
    dismiss(subject).await;
    assert_eq!(scene.prune(&changes_for_a_day(), PLENTY).await.changes, 1);
}

/// Whoever ran the job is done with it when the courier stands behind it, whatever the courier made of it.
pub async fn a_round_of_many_is_written_whole(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let (session, webhook) = (scene.session().await, made(subject, "acme").await);
    courier(&*subject.store()).await;
    scene.submit(a_job()).await;
    let many: Vec<NewDelivery> = (0..700).map(|_| delivery("acme", webhook.id)).collect();
    let round = posted(subject, many).await;
    let held = scene.take(next_deliveries(session, PLENTY)).await;
    assert_eq!(sorted(ids(&held)), job_ids(&round.deliveries));
    let batch: Vec<_> = held.into_iter().map(|held| held.settle(completed())).collect();
    scene.settle_all(session, &batch).await;
    assert_eq!(listed(subject, "acme", webhook.id).await.len(), 700);
}
