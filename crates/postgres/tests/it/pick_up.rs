//! A claim in a session with nothing to do takes what is expected without a look, and leaves all else to the next.

use std::time::Duration;

use foreman_conformance::given::{a_job, alone, by_order, completed, session_info, taken};
use foreman_core::ports::{Claim, ClaimAnswer, JobQuery, JobStore, SessionStore};
use foreman_core::{JobId, Lane, SessionId};
use foreman_runtime::Tasks;

use crate::given::Team;
use crate::wire::{Meter, behind};

const SLOTS: usize = 64;
/// Once a second a claim looks from the very beginning, whatever is expected; so some rounds may show nothing.
const ROUNDS: usize = 6;

async fn session(team: &Team) -> SessionId {
    let id = SessionId::fresh();
    team.store.register(&session_info(id, "worker", Duration::from_hours(1))).await.unwrap();
    id
}

async fn submit(team: &Team, queue: &str, lane: Lane) -> JobId {
    let job = a_job().queued(queue).lane(lane).build();
    team.store.submit(std::slice::from_ref(&job)).await.unwrap();
    job.id
}

async fn claim(team: &Team, session: SessionId, limit: usize) -> Claim {
    match team.store.claim(&alone(by_order(session, limit))).await.unwrap() {
        ClaimAnswer::Claimed(claim) => claim,
        other => panic!("{other:?}"),
    }
}

async fn complete(team: &Team, session: SessionId, claim: Claim) {
    let batch: Vec<_> = claim.jobs.into_iter().map(|held| held.settle(completed())).collect();
    team.store.settle(session, &batch).await.unwrap();
}

fn ids(claim: &Claim) -> Vec<JobId> {
    claim.jobs.iter().map(|held| held.job.id).collect()
}

#[tokio::test]
async fn a_lone_job_is_claimed_in_two_round_trips() {
    let tasks = Tasks::new();
    let (meter, address) = Meter::gathering(&tasks).await;
    let team = Team::with(|config| {
        config.url = config.url.replace(&behind(), &address);
        config.data_connections = 1;
    })
    .await;
    let session = session(&team).await;
    let mut least = usize::MAX;
    for _ in 0..ROUNDS {
        let job = submit(&team, "a", Lane::Normal).await;
        meter.take_trips();
        let claim = claim(&team, session, SLOTS).await;
        least = least.min(meter.take_trips());
        assert_eq!(ids(&claim), [job]);
        complete(&team, session, claim).await;
    }
    assert_eq!(least, 2, "what is taken, then what was asked of it with the commit");
    assert!(team.store.census().await.unwrap().is_clean());
}

#[tokio::test]
async fn whatever_else_waits_is_in_the_claim_that_follows() {
    let team = Team::new().await;
    let session = session(&team).await;
    let mut was_expected = false;
    for round in 0..ROUNDS {
        let usual = submit(&team, "a", Lane::Normal).await;
        let first = claim(&team, session, SLOTS).await;
        assert_eq!(ids(&first), [usual]);
        complete(&team, session, first).await;
        // The first is expected; the other is in a line that this process knows nothing of, and goes first by right.
        let usual = submit(&team, "a", Lane::Normal).await;
        let urgent = submit(&team, &format!("b{round}"), Lane::High).await;
        let first = claim(&team, session, SLOTS).await;
        if ids(&first) == [usual] {
            was_expected = true;
            assert!(first.has_more, "nobody waits for a wake-up while something is due");
            let second = taken(team.store.claim(&by_order(session, SLOTS - 1)).await.unwrap());
            assert_eq!(second.iter().map(|held| held.job.id).collect::<Vec<_>>(), [urgent]);
            let batch: Vec<_> = second.into_iter().map(|held| held.settle(completed())).collect();
            team.store.settle(session, &batch).await.unwrap();
        } else {
            assert_eq!(ids(&first), [urgent, usual]);
        }
        complete(&team, session, first).await;
    }
    assert!(was_expected);
}

/// With few slots free it could take the one that somebody else's urgent job needs.
#[tokio::test]
async fn with_few_slots_nothing_is_taken_without_a_look() {
    let team = Team::new().await;
    let session = session(&team).await;
    for _ in 0..ROUNDS {
        let usual = submit(&team, "a", Lane::Normal).await;
        let first = claim(&team, session, 4).await;
        assert_eq!(ids(&first), [usual]);
        complete(&team, session, first).await;
        submit(&team, "a", Lane::Normal).await;
        let urgent = submit(&team, "b", Lane::High).await;
        let first = claim(&team, session, 1).await;
        assert_eq!(ids(&first), [urgent]);
        complete(&team, session, first).await;
        let rest = claim(&team, session, 4).await;
        complete(&team, session, rest).await;
    }
}

/// A paused queue is passed over by what is expected there as by everything.
#[tokio::test]
async fn nothing_is_expected_of_a_queue_that_is_paused() {
    let team = Team::new().await;
    let session = session(&team).await;
    let job = submit(&team, "a", Lane::Normal).await;
    let first = claim(&team, session, SLOTS).await;
    assert_eq!(ids(&first), [job]);
    complete(&team, session, first).await;
    let (ours, queue) = (a_job().build().tenant, foreman_core::job::QueueName::from_stored("a"));
    assert!(team.store.pause(&ours, &queue).await.unwrap());
    submit(&team, "a", Lane::Normal).await;
    for _ in 0..ROUNDS {
        let answer = team.store.claim(&alone(by_order(session, SLOTS))).await.unwrap();
        assert!(matches!(answer, ClaimAnswer::Nothing { .. }), "{answer:?}");
    }
}
