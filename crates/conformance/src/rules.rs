//! The rules of the storage protocol: one promise for each, written as the shortest interleaving that breaks a store
//! without it.
//!
//! The interleavings were found by model checking. In a port every verb is one transaction, so "at the same time" is
//! said by the order of the calls: a request that arrives late is a call made late, a lost answer is an answer not
//! looked at. `tests/it/rules.rs` takes each rule away from the reference store and expects its promise to fail.

use super::Subject;
use super::given::{
    HOUR, MINUTE, Proof, SECOND, Scene, TTL, a_job, alone, at_once, by_ids, by_order, completed, ids, interrupted,
    jobs, open, retry, taken,
};
use super::timetable::{edit, every_minute, next_firing};
use foreman_core::id::{Fence, TenantId};
use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{CancelAnswer, ClaimAnswer, EditAnswer, Fired, RedriveAnswer, Settled};
use foreman_core::retry::MAX_CRASHES;
use foreman_core::state::State;

/// Claim {a, b}; a is retried; the session lapses. Whoever returns "what has no outcome" returns a again.
pub async fn a_sweep_returns_only_what_is_still_open(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let came = scene.submit_all(&jobs(2, &a_job())).await;
    let session = scene.mortal().await;
    let held = scene.claim(session, 2).await;
    let of = |id| held.iter().find(|held| held.job.id == id).expect("both are held");
    let a = Proof { session, fence: of(came[0]).fence, job: came[0] };
    scene.end_attempt(a, retry(HOUR)).await;
    assert_eq!(scene.lapse(session).await, 1, "only b was still open");
    assert_eq!(scene.counters(came[0]).await, (1, 1, 0), "a had ended before the crash");
    assert_eq!(scene.outcomes(came[0]).await, [Some(AttemptOutcome::Retry)], "one end for one attempt");
    assert_eq!(scene.state(came[0]).await, State::Retrying, "and still waits for its delay");
    assert_eq!(scene.counters(came[1]).await, (1, 1, 1));
    assert_eq!(scene.census().await.ready, 2);
}

/// The claim {a, b}; a is retried and the answer is lost; the same settlement is sent again while b is still open.
pub async fn a_settlement_of_a_closed_job_in_an_open_claim_is_not_recorded_twice(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let came = scene.submit_all(&jobs(2, &a_job())).await;
    let session = scene.session().await;
    let held = scene.claim(session, 2).await;
    let a = Proof { session, fence: held[0].fence, job: came[0] };
    scene.end_attempt(a, retry(HOUR)).await;
    assert_eq!(scene.settle(a, retry(HOUR)).await, Settled::Before);
    assert_eq!(scene.outcomes(came[0]).await, [Some(AttemptOutcome::Retry)]);
    scene.census().await;
}

/// A sweep waits for a settlement, then decides by what it had read before the wait.
pub async fn a_sweep_that_waited_for_a_settlement_sees_it(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for _ in 0..30 {
        let session = scene.mortal().await;
        let id = scene.submit(a_job()).await;
        let proof = scene.claim_job(session, id).await;
        scene.advance(TTL + SECOND).await;
        let pulse = scene.pulse(session).await.expect("it lives");
        let (worker, sweeper) = (subject.store(), subject.store());
        let (settled, lapsed) = tokio::join!(
            at_once([async move {
                worker.settle(session, &[proof.with(completed())]).await.expect("the store answers")[0]
            }]),
            at_once([async move { sweeper.lapse(pulse).await.expect("the store answers") }]),
        );
        match (settled[0], lapsed[0]) {
            (Settled::Now, Some(0)) => assert_eq!(scene.state(id).await, State::Completed),
            (Settled::Fenced, Some(1)) => assert_eq!(scene.state(id).await, State::Pending),
            both => panic!("the attempt both ended and lapsed, or neither: {both:?}"),
        }
        scene.cancel(id).await;
    }
}

/// A claim is sent, its session is swept, the claim arrives: it would belong to nobody for ever.
pub async fn a_claim_that_arrives_after_its_session_was_swept_takes_nothing(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.submit(a_job()).await;
    let session = scene.mortal().await;
    let late = by_order(session, 1);
    scene.lapse(session).await;
    let answer = scene.ask(&late).await;
    assert!(matches!(answer, ClaimAnswer::SessionGone), "{answer:?}");
    scene.census().await;
    let other = scene.session().await;
    assert_eq!(ids(&scene.claim(other, 1).await), [id], "the job is there for the living");
}

/// The same as a race: whichever comes first, no job stays with the dead.
pub async fn a_claim_racing_the_sweep_of_its_session_leaves_no_job_behind(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    for _ in 0..20 {
        let id = scene.submit(a_job()).await;
        let session = scene.mortal().await;
        scene.advance(TTL + SECOND).await;
        let pulse = scene.pulse(session).await.expect("it lives");
        let (worker, sweeper) = (subject.store(), subject.store());
        let (claimed, lapsed) = tokio::join!(
            at_once([async move { worker.claim(&by_order(session, 1)).await.expect("the store answers") }]),
            at_once([async move { sweeper.lapse(pulse).await.expect("the store answers") }]),
        );
        let took = usize::from(matches!(claimed[0], ClaimAnswer::Claimed(_)));
        assert_eq!(lapsed[0], Some(took), "what was claimed came back with the sweep");
        assert_eq!(scene.state(id).await, State::Pending);
        scene.census().await;
        scene.cancel(id).await;
    }
}

/// The sweeper reads an overdue session; the worker renews; the sweeper acts on what it read.
pub async fn a_session_renewed_since_the_sweeper_looked_is_not_swept(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    let id = scene.submit(a_job()).await;
    let proof = scene.claim_job(session, id).await;
    scene.advance(TTL + SECOND).await;
    let pulse = scene.pulse(session).await.expect("it lives");
    assert!(pulse.is_overdue);
    scene.beat(session, &[]).await;
    assert_eq!(scene.store.lapse(pulse).await.expect("the store answers"), None);
    // Even when it is overdue once more: the sweeper has not watched it for a whole time to live.
    scene.advance(TTL + SECOND).await;
    assert_eq!(scene.store.lapse(pulse).await.expect("the store answers"), None);
    assert_eq!(scene.counters(id).await, (1, 1, 0));
    scene.end_attempt(proof, completed()).await;
}

/// One call's answer was lost and it is given up; another call's answer is still on its way. Whoever releases every
/// claim the worker has not heard of refunds the second, and runs it.
pub async fn a_claim_whose_answer_is_on_its_way_is_not_released(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let came = scene.submit_all(&jobs(2, &a_job())).await;
    let (lost, on_its_way) = (by_ids(session, &[came[0]]), by_ids(session, &[came[1]]));
    scene.ask(&lost).await;
    let answer = taken(scene.ask(&on_its_way).await);
    assert_eq!(scene.beat(session, &[lost.token]).await, [open(&answer[0])]);
    assert_eq!((scene.state(came[0]).await, scene.counters(came[0]).await), (State::Pending, (1, 0, 0)));
    assert_eq!((scene.state(came[1]).await, scene.counters(came[1]).await), (State::Running, (1, 1, 0)));
    scene.complete(session, answer.into_iter().next().expect("one was claimed")).await;
}

/// The worker gives a call up and looks for its claim; the call commits after the look.
pub async fn a_claim_that_commits_after_the_look_is_released_at_the_next(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let late = by_order(session, 1);
    assert_eq!(scene.beat(session, &[late.token]).await, [], "nothing to release yet");
    scene.ask(&late).await;
    assert_eq!(scene.state(id).await, State::Running, "it committed after all");
    assert_eq!(scene.beat(session, &[late.token]).await, [], "named with every heartbeat, it is found");
    assert_eq!((scene.state(id).await, scene.counters(id).await), (State::Pending, (1, 0, 0)));
}

/// The answer to a settlement is lost. Dropped, the job would be held for ever; taken for a zombie's, it would be
/// counted as refused.
pub async fn a_settlement_sent_again_is_told_from_a_zombies(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let came = scene.submit_all(&jobs(2, &a_job())).await;
    let ended = scene.run(session, came[0], completed()).await;
    let put_off = scene.run(session, came[1], retry(HOUR)).await;
    assert_eq!(scene.settle(ended, completed()).await, Settled::Before);
    assert_eq!(scene.settle(put_off, retry(HOUR)).await, Settled::Before);
    assert_eq!(scene.outcomes(came[0]).await, [Some(AttemptOutcome::Completed)]);
    assert_eq!(scene.counters(came[1]).await, (1, 1, 0));
}

/// A settlement whose answer was lost may also never have arrived: sent again, it is recorded now.
pub async fn a_settlement_that_never_arrived_is_recorded_when_sent_again(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let proof = scene.claim_job(session, id).await;
    scene.advance(HOUR).await;
    assert_eq!(scene.settle(proof, completed()).await, Settled::Now);
    assert_eq!(scene.held(session).await, []);
}

/// A mark that the worker is to honour is forgotten when the worker dies: cancel writes the outcome itself.
pub async fn a_cancelled_job_never_runs_again(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.mortal().await;
    let id = scene.submit(a_job()).await;
    let proof = scene.claim_job(session, id).await;
    assert_eq!(scene.cancel(id).await, Some(CancelAnswer::WasHeld(session)));
    assert_eq!(scene.state(id).await, State::Cancelled, "acknowledged means written");
    scene.lapse(session).await;
    assert_eq!(scene.settle(proof, completed()).await, Settled::Fenced);
    let other = scene.session().await;
    assert!(scene.take(alone(by_order(other, 1))).await.is_empty());
    assert_eq!(scene.state(id).await, State::Cancelled);
}

/// One pass over the places during a claim, a return or a sweep finds a live job nowhere.
pub async fn cancel_has_an_answer_while_the_job_moves(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    for _ in 0..30 {
        let id = scene.submit(a_job()).await;
        let (mover, user) = (subject.store(), subject.store());
        let (_, answers) = tokio::join!(
            at_once([async move {
                for _ in 0..3 {
                    let held = taken(mover.claim(&by_ids(session, &[id])).await.expect("the store answers"));
                    let back: Vec<_> = held.into_iter().map(|held| held.settle(interrupted())).collect();
                    mover.settle(session, &back).await.expect("the store answers");
                }
            }]),
            at_once([async move { user.cancel(&TenantId::default(), &[id]).await.expect("the store answers")[0] }]),
        );
        match answers[0] {
            Some(CancelAnswer::WasWaiting) => {}
            Some(CancelAnswer::WasHeld(holder)) => assert_eq!(holder, session),
            other => panic!("a live job was {other:?}"),
        }
        assert_eq!(scene.state(id).await, State::Cancelled);
    }
}

/// A refund that lowered the number would let two tries carry it.
pub async fn two_tries_never_carry_one_number(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.run(session, id, interrupted()).await;
    let again = scene.claim_next(session).await;
    assert_eq!((again.attempt, again.spent), (2, 1), "the try is refunded, its number is not");
    scene.complete(session, again).await;
    let numbers: Vec<u32> = scene.view(id).await.attempts.records.iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, [1, 2]);
}

/// A message delivered twice must not run a retry before its backoff is over.
pub async fn a_claim_by_id_obeys_the_delay(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.run(session, id, retry(HOUR)).await;
    for request in [by_ids(session, &[id]), alone(by_ids(session, &[id]))] {
        assert!(scene.take(request).await.is_empty(), "the second delivery finds it waiting");
    }
    let later = scene.submit(a_job().after(HOUR)).await;
    assert!(scene.take(by_ids(session, &[later])).await.is_empty());
    scene.wait(HOUR + SECOND).await;
    assert_eq!(scene.take(by_ids(session, &[id, later])).await.len(), 2);
}

/// An outcome that stays behind puts the job in two places.
pub async fn a_redrive_takes_the_outcome_away(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    scene.run(session, id, completed()).await;
    assert_eq!(scene.redrive(id).await, Some(RedriveAnswer::Redriven));
    let audit = scene.census().await;
    assert_eq!((audit.ready, audit.outcomes), (1, 0));
    assert_eq!(scene.redrive(id).await, Some(RedriveAnswer::NotFinal(State::Pending)), "it counts once");
    scene.run(session, id, completed()).await;
    assert_eq!(scene.census().await.outcomes, 1);
}

/// With the only claim gone, a store that counts its rows gives the number again. The worker then repeats a settlement
/// whose answer was lost, and it lands on the next try.
pub async fn a_number_is_never_used_again(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    let id = scene.submit(a_job()).await;
    let old = scene.run(session, id, interrupted()).await;
    let new = scene.claim_job(session, id).await;
    assert!(new.fence > old.fence, "{} after {}", new.fence, old.fence);
    assert_eq!(scene.settle(old, interrupted()).await, Settled::Before);
    assert_eq!(scene.state(id).await, State::Running, "the new try is untouched");
    scene.end_attempt(new, completed()).await;
    let mut last = new.fence;
    for _ in 0..5 {
        let id = scene.submit(a_job()).await;
        let Proof { fence, .. } = scene.run(session, id, completed()).await;
        assert!(fence > last);
        last = fence;
    }
    assert!(last > Fence(0));
}

/// The right number in the wrong hands.
pub async fn a_settlement_names_the_claim_and_the_session(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let (holder, other) = (scene.session().await, scene.session().await);
    let id = scene.submit(a_job()).await;
    let proof = scene.claim_job(holder, id).await;
    assert_eq!(scene.settle(Proof { session: other, ..proof }, completed()).await, Settled::Fenced);
    assert_eq!(scene.state(id).await, State::Running);
    scene.end_attempt(proof, completed()).await;
    assert_eq!(scene.settle(Proof { session: other, ..proof }, completed()).await, Settled::Fenced, "nor afterwards");
}

/// A try that counts only when it ends is never counted when its worker dies.
pub async fn a_try_is_spent_by_the_claim(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let id = scene.submit(a_job().tries(1)).await;
    let session = scene.mortal().await;
    let held = scene.claim_next(session).await;
    assert_eq!((held.attempt, held.spent), (1, 1));
    scene.lapse(session).await;
    assert_eq!(scene.state(id).await, State::Dead, "its only try is spent");
}

/// A job one crash from the end beside innocents would take them along.
pub async fn a_job_at_its_last_crash_runs_alone(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let fragile = scene.submit(a_job()).await;
    for _ in 1..MAX_CRASHES {
        scene.crash(fragile).await;
    }
    let innocent = scene.submit(a_job()).await;
    let session = scene.session().await;
    let in_company = scene.claim(session, 5).await;
    assert_eq!(ids(&in_company), [innocent]);
    scene.settle_all(session, &[in_company.into_iter().next().expect("one was claimed").settle(interrupted())]).await;
    let held = scene.take(alone(by_order(session, 5))).await;
    assert_eq!(held.len(), 1, "alone, or not at all: {:?}", ids(&held));
}

/// A key from one line for all would put a newcomer behind the whole burst.
pub async fn a_burst_does_not_delay_a_newcomer(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let session = scene.session().await;
    scene.submit_all(&jobs(50, &a_job().of("burst"))).await;
    let newcomer = scene.submit(a_job().of("newcomer")).await;
    let next = scene.claim(session, 2).await;
    assert!(ids(&next).contains(&newcomer), "it is among the first two");
}

/// A scheduler computes a firing and is paused; the schedule is edited; the firing arrives.
pub async fn a_tick_computed_before_an_edit_does_not_land_after_it(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").queued("mail")).await;
    let late = next_firing(&view);
    let edited = scene.edited(&edit(&view, Some(scene.now().await.plus(HOUR)))).await;
    scene.advance(HOUR / 2).await;
    assert_eq!(scene.fire_one(&late).await, Fired::Stale);
    assert_eq!((scene.count_in("mail").await, scene.ticks(&view).await.len()), (0, 0));
    assert_eq!(scene.again(&view).await.seen, edited.seen, "the next tick is the one that the edit said");
}

/// Somebody works an edit out while nothing is due; a tick falls due; the edit arrives and would take its time away.
pub async fn an_edit_loses_no_tick_that_was_due_before_it(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily")).await;
    let next = scene.now().await.plus(HOUR);
    let late = edit(&view, Some(next));
    scene.advance(HOUR / 2).await;
    let answer = scene.edit(&late).await;
    assert!(matches!(answer, EditAnswer::Stale), "{answer:?}");
    assert_eq!(scene.fired(&next_firing(&view)).await.len(), 1);
    let answer = scene.edit(&late).await;
    assert!(matches!(answer, EditAnswer::Stale), "it is not what was seen any more: {answer:?}");
}

/// A clock that was put back brings a time for the second time.
pub async fn a_tick_makes_one_job_however_often_its_time_comes(subject: &dyn Subject) {
    let scene = Scene::of(subject);
    let view = scene.plant(every_minute("daily").queued("mail")).await;
    let nominal = view.seen.next.expect("it has one");
    let first = scene.fired(&next_firing(&view)).await;
    let back = scene.edited(&edit(&scene.again(&view).await, Some(nominal))).await;
    scene.advance(HOUR).await;
    assert_eq!(scene.fired(&next_firing(&back)).await, [], "it made its job the first time");
    assert_eq!(scene.count_in("mail").await, 1);
    assert_eq!(scene.ticks(&view).await[0].job.map(|(job, _)| job), first.first().copied());
    assert_eq!(scene.again(&view).await.seen.next, Some(nominal.plus(MINUTE)), "and the schedule moves on");
}
