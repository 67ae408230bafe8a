//! Liveness: one heart per worker, and what becomes of its jobs when it stops.

use super::Subject;
use super::given::{
    DAY, SECOND, Scene, TTL, a_job, at_once, by_order, completed, ids, interrupted, jobs, open, session_info, sorted,
};
use foreman_core::id::{ClaimToken, SessionId};
use foreman_core::ports::{ClaimAnswer, Heartbeat, Pulse, Settled};
use foreman_core::state::State;

pub async fn a_registered_session_is_live_and_may_claim(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    assert_eq!(scene.beat(session, &[]).await, []);
    assert_eq!(ids(&scene.claim(session, 1).await), [id]);
}

pub async fn registering_again_changes_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = SessionId::fresh();
    let info = session_info(id, "host-1", TTL);
    scene.store.register(&info).await.expect("the store answers");
    scene.submit(a_job()).await;
    assert_eq!(scene.claim(id, 1).await.len(), 1);
    assert!(scene.drain(id).await);
    let before = scene.pulse(id).await;
    scene.store.register(&info).await.expect("the store answers");
    assert_eq!(scene.pulse(id).await, before);
    assert!(matches!(scene.ask(&by_order(id, 1)).await, ClaimAnswer::SessionGone), "it is still draining");
    assert_eq!(scene.held(id).await.len(), 1, "and still holds what it held");
}

pub async fn a_heartbeat_tells_what_is_still_held(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (session, other) = (scene.session().await, scene.session().await);
    scene.submit_all(&jobs(5, &a_job())).await;
    let mut held = scene.claim(session, 3).await;
    scene.claim(other, 2).await;
    assert_eq!(scene.beat(session, &[]).await, sorted(held.iter().map(open)));
    let done = held.pop().expect("three were claimed");
    scene.complete(session, done).await;
    scene.cancel(held[0].job.id).await;
    assert_eq!(scene.beat(session, &[]).await, [open(&held[1])], "settled and cancelled ones are gone");
}

pub async fn a_session_nobody_registered_is_gone(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let nobody = SessionId::fresh();
    assert_eq!(scene.heartbeat(nobody, &[]).await, Heartbeat::Gone);
    assert_eq!(scene.held(nobody).await, []);
    assert!(!scene.drain(nobody).await);
    assert_eq!(scene.end(nobody).await, 0);
    let pulse = Pulse { session: nobody, beats: 0, is_overdue: true, ttl: TTL };
    assert_eq!(scene.store.lapse(pulse).await.expect("the store answers"), None);
}

pub async fn a_given_up_claim_is_released_and_refunded(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let came = scene.submit_all(&jobs(2, &a_job())).await;
    let request = by_order(session, 2);
    scene.ask(&request).await;
    assert_eq!(scene.beat(session, &[ClaimToken::fresh(), request.token]).await, []);
    for id in came {
        assert_eq!((scene.state(id).await, scene.counters(id).await), (State::Pending, (1, 0, 0)));
    }
    assert_eq!(scene.claim(session, 5).await.len(), 2, "they can be claimed anew");
}

pub async fn giving_up_a_call_that_took_nothing_harms_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit(a_job()).await;
    let held = scene.claim(session, 1).await;
    let never = [ClaimToken::fresh(), ClaimToken::fresh()];
    assert_eq!(scene.beat(session, &never).await, [open(&held[0])]);
}

pub async fn one_session_cannot_give_up_anothers_claim(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (holder, other) = (scene.session().await, scene.session().await);
    scene.submit(a_job()).await;
    let request = by_order(holder, 1);
    let held = scene.take(request.clone()).await;
    assert_eq!(scene.beat(other, &[request.token]).await, []);
    assert_eq!(scene.held(holder).await, [open(&held[0])]);
}

pub async fn asking_what_is_held_does_not_renew(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    let before = scene.pulse(session).await.expect("it lives").beats;
    scene.advance(TTL / 2).await;
    scene.held(session).await;
    assert_eq!(scene.pulse(session).await.expect("it lives").beats, before);
    scene.advance(TTL / 2 + SECOND).await;
    assert!(scene.pulse(session).await.expect("it lives").is_overdue);
}

pub async fn every_heartbeat_is_a_beat(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    let mut last = scene.pulse(session).await.expect("it lives").beats;
    for _ in 0..3 {
        scene.beat(session, &[]).await;
        let pulse = scene.pulse(session).await.expect("it lives");
        assert!(pulse.beats > last, "a renewal can be told from none");
        assert_eq!(pulse.ttl, TTL);
        last = pulse.beats;
    }
}

pub async fn a_draining_session_keeps_what_it_holds(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(2, &a_job())).await;
    let held = scene.claim(session, 1).await;
    assert!(scene.drain(session).await);
    assert_eq!(scene.beat(session, &[]).await, [open(&held[0])], "it goes on beating");
    assert!(scene.pulse(session).await.is_some(), "and is still watched");
}

pub async fn an_ended_session_hands_back_at_once_and_refunded(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let came = scene.submit_all(&jobs(3, &a_job())).await;
    let mut held = scene.claim(session, 2).await;
    let done = held.pop().expect("two were claimed");
    scene.complete(session, done).await;
    scene.claim(session, 1).await;
    assert_eq!(scene.end(session).await, 2, "over all its claims, what was still open");
    assert_eq!(scene.end(session).await, 0);
    assert_eq!(scene.heartbeat(session, &[]).await, Heartbeat::Gone);
    assert!(scene.pulse(session).await.is_none());
    let other = scene.session().await;
    let again = scene.claim(other, 5).await;
    assert_eq!(again.len(), 2);
    assert!(again.iter().all(|held| came.contains(&held.job.id)));
    for held in again {
        assert_eq!((held.attempt, held.spent, held.crashes), (2, 1, 0));
    }
}

pub async fn a_draining_session_can_end(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit(a_job()).await;
    scene.claim(session, 1).await;
    scene.drain(session).await;
    assert_eq!(scene.end(session).await, 1);
    assert_eq!(scene.census().await.ready, 1);
}

pub async fn an_ended_session_is_over_for_ever(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.end(session).await;
    scene.store.register(&session_info(session, "again", DAY)).await.expect("the store answers");
    assert_eq!(scene.heartbeat(session, &[]).await, Heartbeat::Gone, "a restarted worker is a new session");
    assert!(!scene.drain(session).await);
}

pub async fn a_session_in_time_is_not_lapsed(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    scene.submit(a_job()).await;
    let held = scene.claim(session, 1).await;
    scene.advance(TTL / 2).await;
    let pulse = scene.pulse(session).await.expect("it lives");
    assert!(!pulse.is_overdue);
    for pulse in [pulse, Pulse { is_overdue: true, ..pulse }] {
        assert_eq!(scene.store.lapse(pulse).await.expect("the store answers"), None, "the store looks for itself");
    }
    assert_eq!(scene.beat(session, &[]).await, [open(&held[0])]);
}

pub async fn a_heartbeat_buys_a_whole_ttl(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    for _ in 0..5 {
        scene.advance(TTL.checked_sub(SECOND).expect("more than a second")).await;
        assert!(!scene.pulse(session).await.expect("it lives").is_overdue);
        scene.beat(session, &[]).await;
    }
}

pub async fn a_late_heartbeat_is_in_time_until_someone_lapses_the_session(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    scene.submit(a_job()).await;
    let held = scene.claim(session, 1).await;
    scene.advance(TTL * 10).await;
    assert_eq!(scene.beat(session, &[]).await, [open(&held[0])]);
    assert!(!scene.pulse(session).await.expect("it lives").is_overdue);
}

/// A worker that could not reach the store for a while: what it has done counts, and what it has not is not held against its jobs.
pub async fn an_overdue_session_records_its_outcomes_and_ends_without_a_crash(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    scene.submit_all(&jobs(3, &a_job())).await;
    let held = scene.claim(session, 3).await;
    let [done, stopped, unstarted] = [0, 1, 2].map(|place: usize| held[place].job.id);
    scene.advance(TTL * 10).await;
    let pulse = scene.pulse(session).await.expect("it lives");
    assert!(pulse.is_overdue);
    let mut held = held.into_iter();
    let settlements: Vec<_> =
        held.by_ref().zip([completed(), interrupted()]).map(|(held, verdict)| held.settle(verdict)).collect();
    assert_eq!(scene.settle_all(session, &settlements).await, [Settled::Now, Settled::Now]);
    assert_eq!(scene.end(session).await, 1, "the one without an outcome");
    assert_eq!(scene.store.lapse(pulse).await.expect("the store answers"), None, "the sweeper comes too late");
    assert_eq!((scene.state(done).await, scene.counters(done).await), (State::Completed, (1, 1, 0)));
    for id in [stopped, unstarted] {
        assert_eq!((scene.state(id).await, scene.counters(id).await), (State::Pending, (1, 0, 0)));
    }
}

pub async fn a_lapsed_session_is_over_for_ever(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    let id = scene.submit(a_job()).await;
    let proof = scene.claim_job(session, id).await;
    assert_eq!(scene.lapse(session).await, 1);
    scene.store.register(&session_info(session, "again", DAY)).await.expect("the store answers");
    assert_eq!(scene.heartbeat(session, &[]).await, Heartbeat::Gone);
    assert_eq!(scene.held(session).await, []);
    assert!(scene.pulse(session).await.is_none());
    assert!(!scene.drain(session).await);
    assert_eq!(scene.end(session).await, 0);
    assert_eq!(scene.settle(proof, completed()).await, Settled::Fenced);
    assert_eq!(scene.state(id).await, State::Pending);
}

pub async fn a_session_that_ended_is_not_lapsed(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    let id = scene.submit(a_job()).await;
    scene.claim_job(session, id).await;
    scene.advance(TTL + SECOND).await;
    let pulse = scene.pulse(session).await.expect("it lives");
    scene.end(session).await;
    assert_eq!(scene.store.lapse(pulse).await.expect("the store answers"), None);
    assert_eq!(scene.counters(id).await, (1, 0, 0), "handed back, no crash");
}

pub async fn a_draining_session_can_lapse(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    scene.submit(a_job()).await;
    scene.claim(session, 1).await;
    scene.drain(session).await;
    assert_eq!(scene.lapse(session).await, 1);
    assert_eq!(scene.heartbeat(session, &[]).await, Heartbeat::Gone);
}

pub async fn a_lapse_returns_everything_over_all_claims(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    let came = scene.submit_all(&jobs(7, &a_job())).await;
    for _ in 0..3 {
        scene.claim(session, 2).await;
    }
    assert_eq!(scene.lapse(session).await, 6);
    assert_eq!(scene.census().await.ready, 7);
    let other = scene.session().await;
    assert_eq!(sorted(ids(&scene.claim(other, 10).await)), sorted(came));
}

pub async fn a_session_without_jobs_lapses_to_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    assert_eq!(scene.lapse(session).await, 0);
}

pub async fn of_many_sweepers_at_once_one_lapses_a_session(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    let came = scene.submit_all(&jobs(5, &a_job())).await;
    scene.claim(session, 5).await;
    scene.advance(TTL + SECOND).await;
    let pulse = scene.pulse(session).await.expect("it lives");
    let answers = at_once((0..8).map(|_| {
        let store = subject.store();
        async move { store.lapse(pulse).await.expect("the store answers") }
    }))
    .await;
    assert_eq!(answers.iter().flatten().collect::<Vec<_>>(), [&5], "{answers:?}");
    for id in came {
        assert_eq!(scene.counters(id).await, (1, 1, 1), "one crash, not eight");
    }
}

pub async fn a_heartbeat_racing_a_lapse_is_either_in_time_or_gone(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for _ in 0..20 {
        let session = scene.mortal().await;
        let id = scene.submit(a_job()).await;
        scene.claim_job(session, id).await;
        scene.advance(TTL + SECOND).await;
        let pulse = scene.pulse(session).await.expect("it lives");
        let (sweeper, worker) = (subject.store(), subject.store());
        let (lapsed, beat) = tokio::join!(
            at_once([async move { sweeper.lapse(pulse).await.expect("the store answers") }]),
            at_once([async move { worker.heartbeat(session, &[]).await.expect("the store answers") }]),
        );
        match (&lapsed[0], &beat[0]) {
            (Some(1), Heartbeat::Gone) => assert_eq!(scene.counters(id).await, (1, 1, 1)),
            (None, Heartbeat::Renewed { held }) => {
                assert_eq!((held.len(), scene.counters(id).await), (1, (1, 1, 0)));
            }
            both => panic!("the session both lives and is dead: {both:?}"),
        }
        scene.cancel(id).await;
    }
}
