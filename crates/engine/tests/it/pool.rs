//! The pool: three states, slots before work, and an end that loses nothing.

use std::future::{pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use foreman_engine::pool::{Drained, Pool, WorkEnd};
use foreman_runtime::Tasks;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use crate::scene::until;

const LONG: Duration = Duration::from_mins(1);

struct Pinned {
    tasks: Tasks,
    pool: Pool<Tasks>,
    gate: Arc<Semaphore>,
    done: Arc<AtomicUsize>,
}

impl Pinned {
    /// A pool with `count` pieces of work that end when the gate opens, or when they are told to stop.
    async fn down(count: usize) -> Self {
        let tasks = Tasks::new();
        let pool = Pool::new(count, tasks.clone());
        let (gate, done) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut slots = pool.slots(count).await.unwrap();
        for _ in 0..count {
            let (gate, done, stop) = (Arc::clone(&gate), Arc::clone(&done), pool.stop().child_token());
            let work = async move {
                tokio::select! {
                    permit = gate.acquire() => {
                        permit.unwrap().forget();
                        done.fetch_add(1, Ordering::SeqCst);
                        WorkEnd::Finished
                    }
                    () = stop.cancelled() => WorkEnd::HandedBack,
                }
            };
            slots.run((), |()| work).unwrap();
        }
        Self { tasks, pool, gate, done }
    }

    fn done(&self) -> usize {
        self.done.load(Ordering::SeqCst)
    }
}

#[tokio::test(start_paused = true)]
async fn work_that_has_ended_leaves_nothing_to_drain() {
    let pinned = Pinned::down(4).await;
    assert_eq!((pinned.pool.running(), pinned.pool.free()), (4, 0));
    pinned.gate.add_permits(4);
    pinned.pool.idle().await;
    assert_eq!((pinned.done(), pinned.pool.free()), (4, 4));

    let start = Instant::now();
    assert_eq!(pinned.pool.shutdown(sleep(LONG), || sleep(LONG)).await, Drained::default());
    assert!(start.elapsed().is_zero(), "an idle pool stops at once");
    assert_eq!(pinned.tasks.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn work_in_flight_is_waited_for() {
    let pinned = Pinned::down(4).await;
    let start = Instant::now();
    let release = async {
        sleep(Duration::from_secs(3)).await;
        assert!(!pinned.pool.stop().is_cancelled(), "draining stops nothing that runs");
        pinned.gate.add_permits(4);
    };
    let (drained, ()) = tokio::join!(pinned.pool.shutdown(sleep(LONG), || sleep(LONG)), release);
    assert_eq!(drained, Drained { finished: 4, ..Drained::default() });
    assert_eq!((pinned.done(), start.elapsed().as_secs()), (4, 3));
    assert_eq!(pinned.tasks.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn at_the_deadline_work_is_stopped_and_handed_back() {
    let pinned = Pinned::down(4).await;
    let start = Instant::now();
    let drained = pinned.pool.shutdown(sleep(Duration::from_millis(100)), || sleep(LONG)).await;
    assert_eq!(drained, Drained { handed_back: 4, ..Drained::default() });
    assert!(start.elapsed() < Duration::from_millis(200), "{:?}", start.elapsed());
    assert_eq!((pinned.done(), pinned.pool.running(), pinned.tasks.count()), (0, 0, 0), "nothing leaks");
}

#[tokio::test(start_paused = true)]
async fn work_that_will_not_stop_is_dropped_and_counted() {
    let tasks = Tasks::new();
    let pool = Pool::new(3, tasks.clone());
    let mut slots = pool.slots(3).await.unwrap();
    for _ in 0..2 {
        slots.run((), |()| pending()).unwrap();
    }
    let stop = pool.stop().clone();
    let tidy = async move {
        stop.cancelled().await;
        WorkEnd::HandedBack
    };
    slots.run((), |()| tidy).unwrap();

    let start = Instant::now();
    let drained = pool.shutdown(sleep(Duration::from_secs(1)), || sleep(Duration::from_secs(6))).await;
    assert_eq!(drained, Drained { finished: 0, handed_back: 1, abandoned: 2 });
    assert!(!drained.is_complete());
    assert_eq!(start.elapsed().as_secs(), 7, "both waits are bounded");
    until("the dropped work is gone", || tasks.count() == 0 && pool.is_idle()).await;
    assert_eq!(pool.shutdown(ready(()), || ready(())).await, drained, "asked again it says the same");
}

#[tokio::test(start_paused = true)]
async fn one_poisoned_job_hurts_nobody_and_leaks_no_slot() {
    let pinned = Pinned::down(2).await;
    pinned.gate.add_permits(1);
    pinned.pool.has_free(1).await;
    for _ in 0..10 {
        let mut slots = pinned.pool.slots(1).await.unwrap();
        slots.run((), |()| async { panic!("poison") }).unwrap();
    }
    pinned.pool.has_free(1).await;
    assert_eq!((pinned.pool.running(), pinned.pool.free()), (1, 1), "the neighbour still runs");
    pinned.gate.add_permits(1);
    let drained = pinned.pool.shutdown(sleep(LONG), || sleep(LONG)).await;
    assert_eq!((drained.finished, pinned.done()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_draining_is_told_from_a_good_end() {
    let pool = Pool::new(1, Tasks::new());
    let stop = pool.stop().clone();
    let poison = async move {
        stop.cancelled().await;
        panic!("poison")
    };
    pool.slots(1).await.unwrap().run((), |()| poison).unwrap();
    let drained = pool.shutdown(ready(()), || sleep(LONG)).await;
    assert_eq!(drained, Drained { abandoned: 1, ..Drained::default() });
}

#[tokio::test(start_paused = true)]
async fn work_offered_after_the_shutdown_comes_back() {
    let pool = Pool::new(2, Tasks::new());
    let mut early = pool.slots(1).await.unwrap();
    assert_eq!(pool.shutdown(sleep(LONG), || sleep(LONG)).await, Drained::default(), "an unused slot holds nothing up");
    assert_eq!(early.run("the job", |_| ready(WorkEnd::Finished)), Err("the job"));
    assert!(pool.slots(1).await.is_none());
    drop(early);
    assert_eq!((pool.free(), pool.running()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn slots_are_given_as_they_are_free_and_unused_ones_come_back() {
    let pool = Pool::new(4, Tasks::new());
    let three = pool.slots(3).await.unwrap();
    let one = pool.slots(9).await.unwrap();
    assert_eq!((three.count(), one.count(), pool.free()), (3, 1, 0));
    let (more, ()) = tokio::join!(pool.slots(9), async {
        tokio::task::yield_now().await;
        drop(three);
    });
    assert_eq!(more.unwrap().count(), 3);
    drop(one);
    assert_eq!(pool.free(), 4);
}

#[tokio::test(start_paused = true)]
async fn more_work_than_slots_comes_back() {
    let pool = Pool::new(2, Tasks::new());
    let mut slots = pool.slots(1).await.unwrap();
    assert_eq!(slots.run(1, |_| pending()), Ok(()));
    assert_eq!(slots.run(2, |_| pending()), Err(2));
    assert_eq!((pool.free(), pool.running()), (1, 1));
}
