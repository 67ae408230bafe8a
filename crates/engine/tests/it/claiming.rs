//! The rules of claiming, kept by something that is not a worker: no slots, no dispatcher, one claim per call.

use std::time::Duration;

use foreman_core::lane::LanePlan;
use foreman_core::ports::{ClaimAnswer, ClaimRequest, Company, Headroom, Held, JobStore, Queues, WantedJobs};
use foreman_core::target::Route;
use foreman_core::tenant::TenantLimits;
use foreman_core::{ClaimToken, Lane, NewJob, SessionId, TenantId};
use foreman_engine::claiming::{ClaimRules, NextClaim, must_run_alone};
use tokio::time::advance;

use crate::rooms::{at_most, jobs_of, tenant, tenants};
use crate::runner::TASK;
use crate::scene::{Scene, job, job_with};

const GUARD: u64 = 4;
const PATIENCE: Duration = Duration::from_secs(30);

/// Claims when it is called, as an API would for a remote worker.
struct Puller<'s> {
    scene: &'s Scene,
    session: SessionId,
    rules: ClaimRules,
    held: Vec<Held>,
    /// Whom the last claim named, and for how many jobs each had room.
    rooms: Vec<Headroom>,
}

impl<'s> Puller<'s> {
    async fn new(scene: &'s Scene) -> Self {
        let session = scene.stranger(Duration::from_mins(10)).await;
        let tenants = tenants(scene, TenantLimits::default());
        let rules = ClaimRules::new(GUARD).limited_by(Some(tenants), 8, Duration::from_secs(5));
        Self { scene, session, rules, held: Vec::new(), rooms: Vec::new() }
    }

    /// How many were taken.
    async fn pull(&mut self, limit: usize) -> usize {
        let mut request = ClaimRequest {
            session: self.session,
            token: ClaimToken::fresh(),
            wanted: WantedJobs::ByOrder { plan: LanePlan::strict(0), limit: 0 },
            queues: Queues::All,
            routes: vec![Route::task(TASK)],
            company: Company::Nobody,
            rooms: Vec::new(),
        };
        let company = if self.held.is_empty() { Company::Nobody } else { Company::Others };
        let next = NextClaim { limit, company, headroom: &[] };
        self.rules.prepare(&mut request, next, &*self.scene.store.inner).await.unwrap();
        let answer = self.scene.store.inner.claim(&request).await.unwrap();
        self.rooms = request.rooms;
        self.rules.answered(&answer, false);
        let ClaimAnswer::Claimed(claim) = answer else { return 0 };
        assert!(!must_run_alone(&claim) || (claim.jobs.len() == 1 && self.held.is_empty()));
        let taken = claim.jobs.len();
        self.held.extend(claim.jobs);
        taken
    }

    fn held_of(&self, tenant: &TenantId) -> usize {
        self.held.iter().filter(|held| held.job.tenant == *tenant).count()
    }
}

fn of_lane(lane: Lane, count: usize) -> Vec<NewJob> {
    (0..count).map(|_| job_with("ok", |work| work.lane = lane)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_puller_takes_no_more_of_a_tenant_than_its_limit_allows() {
    let scene = Scene::new();
    let small = tenant(&scene, "small", at_most(2)).await;
    scene.submit(&jobs_of(&small, 40, "ok")).await;
    let mut puller = Puller::new(&scene).await;
    assert_eq!(puller.pull(8).await, 2);
    assert!(puller.rules.is_held_back(), "there may be more of it");
    scene.submit(&jobs_of(&TenantId::default(), 3, "ok")).await;
    assert_eq!(puller.pull(8).await, 3, "others are not held up");
    assert_eq!(puller.held_of(&small), 2);
}

#[tokio::test(start_paused = true)]
async fn a_claim_names_only_tenants_that_have_no_room_for_all_of_it() {
    let scene = Scene::new();
    // With these slots its limit can be reached.
    scene.consumer(32, &[]).await;
    let small = tenant(&scene, "small", at_most(20)).await;
    scene.submit(&jobs_of(&small, 40, "ok")).await;
    let mut puller = Puller::new(&scene).await;
    for (limit, taken, named) in [(8, 8, None), (8, 8, None), (3, 3, None), (8, 1, Some(1)), (8, 0, Some(0))] {
        assert_eq!(puller.pull(limit).await, taken);
        assert_eq!(puller.rooms.first().map(|room| room.jobs), named, "{} are held", puller.held.len());
    }
}

#[tokio::test(start_paused = true)]
async fn a_puller_gives_lower_lanes_their_turn() {
    let scene = Scene::new();
    scene.submit(&of_lane(Lane::High, 100)).await;
    scene.submit(&of_lane(Lane::Normal, 100)).await;
    scene.submit(&of_lane(Lane::Low, 100)).await;
    let mut puller = Puller::new(&scene).await;
    for _ in 0..40 {
        assert_eq!(puller.pull(1).await, 1);
    }
    let of = |lane: Lane| puller.held.iter().filter(|held| held.job.work.lane == lane).count();
    assert_eq!(Lane::ALL.map(of), [20, 10, 10], "one pick in four goes to each lower lane");
}

#[tokio::test(start_paused = true)]
async fn a_puller_runs_a_fragile_job_with_nothing_beside_it() {
    let scene = Scene::new();
    let mut puller = Puller::new(&scene).await;
    scene.submit(&of_lane(Lane::High, 1)).await;
    assert_eq!(puller.pull(8).await, 1);
    let fragile = job("ok");
    scene.submit(std::slice::from_ref(&fragile)).await;
    scene.crash(2).await;
    scene.submit(&of_lane(Lane::Low, 1)).await;
    assert_eq!(puller.pull(8).await, 1, "the fragile job is passed over");
    assert_eq!(puller.pull(8).await, 0);
    assert!(puller.rules.is_waiting_to_be_alone());
    assert!(!puller.rules.is_dry_spell_due(PATIENCE));
    advance(PATIENCE).await;
    assert!(puller.rules.is_dry_spell_due(PATIENCE), "it has waited long enough");
    assert!(!puller.rules.is_dry_spell_due(PATIENCE), "once a minute");
    puller.held.clear();
    assert_eq!(puller.pull(8).await, 1);
    assert_eq!(puller.held[0].job.id, fragile.id);
    assert!(!puller.rules.is_waiting_to_be_alone());
}
