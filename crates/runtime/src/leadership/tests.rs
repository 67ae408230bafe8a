use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::time::{advance, sleep};

use super::*;
use crate::{Stop, Task, Tasks};

const TTL: Duration = Duration::from_secs(15);
/// What the module promises after a clean stop.
const AT_ONCE: Duration = Duration::from_secs(1);

/// How the keeper treats a contender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Road {
    #[default]
    Open,
    /// Its calls fail and change nothing.
    Broken,
    /// Its calls arrive, and their answers come after so long.
    SlowAnswers(Duration),
    /// Its calls arrive only after so long, whether or not it still waits.
    SlowCalls(Duration),
    /// Its calls arrive, and no answer ever comes.
    NoAnswers,
}

#[derive(Debug, Default)]
struct HeldLease {
    holder: String,
    term: u64,
    until: Option<Instant>,
}

/// One lease in memory, on the paused clock, with a road of its own for each contender.
#[derive(Debug, Default)]
struct Keeper {
    held: Mutex<HeldLease>,
    roads: Mutex<BTreeMap<String, Road>>,
    calls: Mutex<Vec<(Instant, &'static str)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Keeper {
    fn road(&self, holder: &str, road: Road) {
        lock(&self.roads).insert(holder.to_owned(), road);
    }

    fn calls(&self) -> usize {
        lock(&self.calls).len()
    }

    fn is_free(&self) -> bool {
        lock(&self.held).until.is_none_or(|until| until <= Instant::now())
    }

    /// Somebody who is not in the test has it from now on.
    fn usurp(&self, ttl: Duration) {
        let mut held = lock(&self.held);
        *held = HeldLease { holder: "usurper".to_owned(), term: held.term + 1, until: Some(Instant::now() + ttl) };
    }
}

/// A contender's way to the keeper.
#[derive(Clone, Debug)]
struct Way {
    keeper: Arc<Keeper>,
    holder: &'static str,
    tasks: Tasks,
}

impl Way {
    async fn travel<T: Send + 'static>(
        &self,
        name: &'static str,
        act: impl FnOnce(&mut HeldLease) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        lock(&self.keeper.calls).push((Instant::now(), name));
        let road = lock(&self.keeper.roads).get(self.holder).copied().unwrap_or_default();
        match road {
            Road::Open => Ok(act(&mut lock(&self.keeper.held))),
            Road::Broken => Err(Unavailable::new("connection refused")),
            Road::SlowAnswers(by) => {
                let answer = act(&mut lock(&self.keeper.held));
                sleep(by).await;
                Ok(answer)
            }
            Road::SlowCalls(by) => {
                let keeper = Arc::clone(&self.keeper);
                let late = self.tasks.spawn("a late call", async move {
                    sleep(by).await;
                    act(&mut lock(&keeper.held))
                });
                late.await.map_err(Unavailable::new)
            }
            Road::NoAnswers => {
                act(&mut lock(&self.keeper.held));
                std::future::pending().await
            }
        }
    }
}

#[async_trait]
impl Lease for Way {
    async fn acquire(&self, _name: &str, holder: &str, ttl: Duration) -> Result<Option<Term>, Unavailable> {
        let holder = holder.to_owned();
        self.travel("acquire", move |held| {
            let now = Instant::now();
            if held.holder != holder && held.until.is_some_and(|until| until > now) {
                return None;
            }
            *held = HeldLease { holder, term: held.term + 1, until: Some(now + ttl) };
            Some(Term(held.term))
        })
        .await
    }

    fn taken_until(&self) -> Option<Instant> {
        lock(&self.keeper.held).until
    }

    async fn renew(&self, _name: &str, term: Term, ttl: Duration) -> Result<bool, Unavailable> {
        self.travel("renew", move |held| {
            let ours = held.term == term.0 && held.until.is_some();
            if ours {
                held.until = Some(Instant::now() + ttl);
            }
            ours
        })
        .await
    }

    async fn resign(&self, _name: &str, term: Term) -> Result<(), Unavailable> {
        self.travel("resign", move |held| {
            if held.term == term.0 {
                held.until = None;
            }
        })
        .await
    }
}

struct Contender {
    lead: Lead,
    stop: Stop,
    task: Task<()>,
}

struct LeadershipScene {
    keeper: Arc<Keeper>,
    tasks: Tasks,
}

impl LeadershipScene {
    fn new() -> Self {
        Self { keeper: Arc::default(), tasks: Tasks::new() }
    }

    fn leadership(&self, holder: &'static str) -> Leadership {
        let way = Way { keeper: Arc::clone(&self.keeper), holder, tasks: self.tasks.clone() };
        let config = Config { holder: holder.to_owned(), ..Config::with_ttl(TTL) };
        Leadership::new(Arc::new(way), "scheduler", config)
    }

    fn contend(&self, holder: &'static str) -> Contender {
        self.start(self.leadership(holder))
    }

    fn start(&self, leadership: Leadership) -> Contender {
        let stop = Stop::new();
        let lead = leadership.lead();
        let task = self.tasks.spawn("leadership", leadership.run(stop.shutdown()));
        Contender { lead, stop, task }
    }
}

async fn within<F: Future>(limit: Duration, what: &str, future: F) -> F::Output {
    timeout(limit, future).await.unwrap_or_else(|_| panic!("{what} took longer than {limit:?}"))
}

#[tokio::test(start_paused = true)]
async fn the_first_to_ask_leads_at_once_and_keeps_leading() {
    let stage = LeadershipScene::new();
    let contender = stage.contend("a");
    assert_eq!(contender.lead.term(), None, "nobody leads before the lease says so");
    assert_eq!(within(AT_ONCE, "to be elected", contender.lead.elected()).await, Term(1));
    for _ in 0..1000 {
        sleep(Duration::from_millis(310)).await;
        assert_eq!(contender.lead.term(), Some(Term(1)));
    }
    let calls = stage.keeper.calls();
    assert!((60..=64).contains(&calls), "it asks once per third of the TTL, and no more: {calls} times in 310 s");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stops_is_replaced_within_a_second() {
    let stage = LeadershipScene::new();
    let first = stage.contend("a");
    first.lead.elected().await;
    let second = stage.contend("b");
    sleep(TTL * 3).await;
    assert_eq!(second.lead.term(), None, "there is one leader");

    first.stop.drain();
    within(AT_ONCE, "to step down", first.lead.deposed(Term(1))).await;
    assert_eq!(within(AT_ONCE, "the takeover", second.lead.elected()).await, Term(2));
    within(AT_ONCE, "the end", first.task).await.expect("it ended by itself");
}

/// With a bell it is replaced as soon, and asked for seldom meanwhile.
#[tokio::test(start_paused = true)]
async fn a_contender_that_hears_of_a_resignation_asks_at_once_and_seldom_before() {
    let stage = LeadershipScene::new();
    let first = stage.contend("a");
    first.lead.elected().await;
    let (bell, heard) = watch::channel(0);
    let second = stage.start(stage.leadership("b").woken_by(heard));
    let before = stage.keeper.calls();
    sleep(TTL * 4).await;
    let calls = stage.keeper.calls() - before;
    assert!((20..=27).contains(&calls), "each of them once per third of the TTL: {calls} in a minute");

    first.stop.drain();
    within(AT_ONCE, "the end", first.task).await.expect("it ended by itself");
    let resigned = Instant::now();
    bell.send_modify(|count| *count += 1);
    assert_eq!(within(AT_ONCE, "the takeover", second.lead.elected()).await, Term(2));
    assert!(resigned.elapsed().is_zero(), "{:?}", resigned.elapsed());
    let before = stage.keeper.calls();
    bell.send_modify(|count| *count += 1);
    sleep(AT_ONCE).await;
    assert_eq!(stage.keeper.calls(), before, "who leads has nothing to ask for");
}

/// Nobody rings for a death, and the bell may be lost: the lease runs out, and it is asked for then.
#[tokio::test(start_paused = true)]
async fn a_contender_that_hears_nothing_asks_when_the_lease_has_run_out() {
    let stage = LeadershipScene::new();
    let first = stage.contend("a");
    first.lead.elected().await;
    let (_bell, heard) = watch::channel(0);
    let second = stage.start(stage.leadership("b").woken_by(heard));
    sleep(Duration::from_secs(7)).await;
    first.task.abort();
    let runs_out = lock(&stage.keeper.held).until.expect("it is held");
    assert_eq!(within(TTL + AT_ONCE, "the takeover", second.lead.elected()).await, Term(2));
    let late = Instant::now() - runs_out;
    assert!(late < AT_ONCE / 2, "{late:?} after it had run out");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_killed_is_replaced_within_its_ttl() {
    let stage = LeadershipScene::new();
    let first = stage.contend("a");
    first.lead.elected().await;
    let second = stage.contend("b");
    sleep(Duration::from_secs(7)).await;

    first.task.abort();
    let killed = Instant::now();
    assert_eq!(within(TTL + AT_ONCE, "the takeover", second.lead.elected()).await, Term(2));
    assert!(killed.elapsed() > TTL / 2, "not before the lease has run out: {:?}", killed.elapsed());
    assert_eq!(first.lead.term(), None, "the dead one's loops do not lead on");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_steps_down_before_another_can_lead() {
    for road in [Road::Broken, Road::NoAnswers, Road::SlowCalls(TTL * 10)] {
        let stage = LeadershipScene::new();
        let first = stage.contend("a");
        first.lead.elected().await;
        let second = stage.contend("b");
        sleep(TTL).await;

        stage.keeper.road("a", road);
        within(TTL, "to step down", first.lead.deposed(Term(1))).await;
        assert_eq!(second.lead.term(), None, "{road:?}: two lead");
        if road != Road::NoAnswers {
            // Without answers it may keep the lease for itself without knowing, and does: nobody leads, which is safe.
            assert!(!stage.keeper.is_free(), "{road:?}: it stepped down too late");
            assert_eq!(within(TTL, "the takeover", second.lead.elected()).await, Term(2), "{road:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_store_comes_back_in_time_never_stops_leading() {
    let stage = LeadershipScene::new();
    let contender = stage.contend("a");
    contender.lead.elected().await;
    for _ in 0..20 {
        stage.keeper.road("a", Road::Broken);
        for _ in 0..70 {
            sleep(Duration::from_millis(100)).await;
            assert_eq!(contender.lead.term(), Some(Term(1)));
        }
        stage.keeper.road("a", Road::Open);
        sleep(Duration::from_secs(2)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_long_outage_somebody_leads_again_within_seconds() {
    let stage = LeadershipScene::new();
    let contender = stage.contend("a");
    contender.lead.elected().await;
    stage.keeper.road("a", Road::Broken);
    contender.lead.deposed(Term(1)).await;
    let before = stage.keeper.calls();
    sleep(Duration::from_hours(1)).await;
    let calls = stage.keeper.calls() - before;
    assert!((3_000..8_000).contains(&calls), "it asks on, about once a second: {calls} calls in an hour");

    stage.keeper.road("a", Road::Open);
    assert_eq!(within(AT_ONCE * 2, "to lead again", contender.lead.elected()).await, Term(2));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_too_late_is_not_believed() {
    let stage = LeadershipScene::new();
    stage.keeper.road("a", Road::SlowAnswers(Duration::from_secs(2)));
    let contender = stage.contend("a");
    sleep(Duration::from_secs(1)).await;
    assert!(!stage.keeper.is_free(), "the lease was granted, and the answer is on its way");

    // The whole process stands still, and goes on after the lease has run out: the answer is there, and worth nothing.
    stage.keeper.road("a", Road::Broken);
    advance(TTL).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
        assert_eq!(contender.lead.term(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_stood_still_does_not_lead_in_its_first_instruction() {
    // A loop that never gets its turn: no timer fires and no renewal is sent.
    let leadership = LeadershipScene::new().leadership("a");
    let lead = leadership.lead();
    leadership.believe(BelievedTerm { term: Term(1), until: Instant::now() + TTL + Duration::from_millis(1) });
    advance(TTL).await;
    assert!(lead.holds(Term(1)), "still in time");
    advance(Duration::from_millis(1)).await;
    assert!(!lead.holds(Term(1)), "the handle itself knows");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_answered_after_the_end_leads_on_in_the_same_term() {
    let stage = LeadershipScene::new();
    let mut leadership = stage.leadership("a");
    // Calls may take as long as they like here, so that one is under way when belief ends.
    leadership.config.renew = TTL * 4 / 5;
    let lead = leadership.lead();
    let _task = stage.tasks.spawn("leadership", leadership.run(Shutdown::never()));
    lead.elected().await;
    stage.keeper.road("a", Road::SlowAnswers(Duration::from_secs(4)));
    within(TTL, "to step down", lead.deposed(Term(1))).await;
    stage.keeper.road("a", Road::Open);
    assert_eq!(within(TTL, "to lead on", lead.elected()).await, Term(1), "nobody else had it in between");
}

#[tokio::test(start_paused = true)]
async fn a_grant_whose_answer_was_lost_is_granted_anew_without_waiting() {
    let stage = LeadershipScene::new();
    stage.keeper.road("a", Road::NoAnswers);
    let contender = stage.contend("a");
    sleep(Duration::from_secs(1)).await;
    assert!(!stage.keeper.is_free());
    stage.keeper.road("a", Road::Open);
    let term = within(Duration::from_secs(6), "to lead", contender.lead.elected()).await;
    assert_eq!(term, Term(2), "one call's limit later, not a TTL later, and in a term of its own");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_overthrown_steps_down_and_contends_again() {
    let stage = LeadershipScene::new();
    let contender = stage.contend("a");
    contender.lead.elected().await;
    stage.keeper.usurp(TTL);
    within(TTL / 3 + AT_ONCE, "to notice", contender.lead.deposed(Term(1))).await;
    assert_eq!(within(TTL + AT_ONCE, "to be elected again", contender.lead.elected()).await, Term(3));
}

#[tokio::test(start_paused = true)]
async fn what_is_granted_while_we_stop_is_given_back() {
    let stage = LeadershipScene::new();
    stage.keeper.road("a", Road::SlowAnswers(Duration::from_secs(2)));
    let contender = stage.contend("a");
    sleep(Duration::from_secs(1)).await;
    assert!(!stage.keeper.is_free(), "the lease was granted, and the answer is on its way");

    contender.stop.drain();
    within(Duration::from_secs(3), "the end", contender.task).await.expect("it ended by itself");
    assert_eq!(contender.lead.term(), None, "it never led");
    assert!(stage.keeper.is_free(), "and nobody has to wait for the lease to run out");
}

#[tokio::test(start_paused = true)]
async fn loops_stop_leading_the_moment_draining_begins() {
    let stage = LeadershipScene::new();
    let contender = stage.contend("a");
    let term = contender.lead.elected().await;
    // A renewal is under way when it begins, and takes its time.
    stage.keeper.road("a", Road::SlowAnswers(Duration::from_secs(4)));
    sleep(TTL / 3 + AT_ONCE).await;
    assert!(contender.lead.holds(term));
    contender.stop.drain();
    within(Duration::from_millis(1), "to step down", contender.lead.deposed(term)).await;
}

#[tokio::test(start_paused = true)]
async fn a_follower_stops_at_once() {
    let stage = LeadershipScene::new();
    stage.keeper.usurp(TTL * 100);
    let contender = stage.contend("a");
    sleep(TTL).await;
    contender.stop.drain();
    within(Duration::from_millis(1), "the end", contender.task).await.expect("it ended by itself");
    assert!(!lock(&stage.keeper.calls).iter().any(|(_, name)| *name == "resign"), "it had nothing to give back");
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_a_lease_that_does_not_answer() {
    let stage = LeadershipScene::new();
    let contender = stage.contend("a");
    contender.lead.elected().await;
    stage.keeper.road("a", Road::NoAnswers);
    contender.stop.drain();
    within(RESIGN_LIMIT + Duration::from_millis(1), "the end", contender.task).await.expect("it ended by itself");

    let contender = stage.contend("b");
    stage.keeper.road("b", Road::NoAnswers);
    sleep(AT_ONCE).await;
    contender.stop.abort();
    within(Duration::from_millis(1), "the end after an abort", contender.task).await.expect("it ended by itself");
}

#[tokio::test(start_paused = true)]
async fn an_abort_still_sends_the_resignation() {
    let stage = LeadershipScene::new();
    let contender = stage.contend("a");
    contender.lead.elected().await;
    contender.stop.abort();
    within(Duration::from_millis(1), "the end", contender.task).await.expect("it ended by itself");
    assert!(stage.keeper.is_free());
}

#[tokio::test(start_paused = true)]
async fn when_nobody_contends_any_more_a_term_ends_with_its_time() {
    let stage = LeadershipScene::new();
    let contender = stage.contend("a");
    let term = contender.lead.elected().await;
    contender.task.abort();
    within(TTL, "the end of the term", contender.lead.deposed(term)).await;
    assert!(timeout(TTL * 10, contender.lead.elected()).await.is_err(), "nobody can be elected");
}

#[tokio::test(start_paused = true)]
async fn whoever_is_alone_always_leads() {
    let leadership = Leadership::new(Arc::new(AlwaysLeader::default()), "scheduler", Config::default());
    let lead = leadership.lead();
    let stop = Stop::new();
    let tasks = Tasks::new();
    let task = tasks.spawn("leadership", leadership.run(stop.shutdown()));
    let term = within(Duration::from_millis(1), "to be elected", lead.elected()).await;
    for _ in 0..100 {
        sleep(Duration::from_secs(3)).await;
        assert!(lead.holds(term));
    }
    stop.drain();
    within(Duration::from_millis(1), "the end", task).await.expect("it ended by itself");
}

#[test]
fn holders_are_told_apart_without_being_named() {
    let holders: HashSet<String> = (0..100).map(|_| Config::default().holder).collect();
    assert_eq!(holders.len(), 100);
}

#[test]
fn a_resignation_is_answered_within_a_second_whatever_the_ttl() {
    for secs in [1, 3, 15, 60, 600] {
        let config = Config::with_ttl(Duration::from_secs(secs));
        assert!(config.contend.mul_f64(1.1) < AT_ONCE, "{config:?}");
        assert!(config.renew + config.margin < config.ttl / 2, "a renewal may fail once: {config:?}");
    }
}

/// Three contenders for hours, roads that break and heal at random: never two leaders, terms only rise, and there is a leader
/// whenever the roads have been open for a while.
#[tokio::test(start_paused = true)]
async fn whatever_happens_on_the_roads_there_are_never_two_leaders() {
    const STEP: Duration = Duration::from_millis(50);
    for seed in 0..20 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let stage = LeadershipScene::new();
        let names = ["a", "b", "c"];
        let contenders = names.map(|name| stage.contend(name));
        let mut highest = Term(0);
        let mut reigns = 0;
        for _ in 0..60 {
            for name in names {
                let some_time = Duration::from_millis(rng.random_range(0..40_000));
                let road = match rng.random_range(0..8) {
                    0 => Road::Broken,
                    1 => Road::NoAnswers,
                    2 => Road::SlowAnswers(some_time),
                    3 => Road::SlowCalls(some_time),
                    _ => Road::Open,
                };
                stage.keeper.road(name, road);
            }
            for _ in 0..rng.random_range(1..800) {
                let leaders: Vec<Term> = contenders.iter().filter_map(|contender| contender.lead.term()).collect();
                assert!(leaders.len() <= 1, "seed {seed}: {leaders:?}");
                if let Some(term) = leaders.first() {
                    assert!(*term >= highest, "seed {seed}: {term} after {highest}");
                    reigns += usize::from(*term > highest);
                    highest = *term;
                }
                sleep(STEP).await;
            }
        }
        assert!(reigns > 3, "seed {seed}: {reigns} reigns, so little was tried");
        for name in names {
            stage.keeper.road(name, Road::Open);
        }
        // The last late call may still be under way.
        sleep(Duration::from_secs(40)).await;
        within(TTL + AT_ONCE * 5, "somebody to lead", async {
            while contenders.iter().all(|contender| contender.lead.term().is_none()) {
                sleep(STEP).await;
            }
        })
        .await;
    }
}
