//! The coalescer by itself: who is written with whom, and who is told what.

use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use foreman_engine::coalesce::{BatchLimits, Coalescer, CoalescerRefusal, Handle, Leftover, Sink, Unanswered};
use foreman_runtime::Tasks;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

/// Doubles numbers, takes a while over it, and refuses odd ones.
#[derive(Clone, Default)]
struct Doubler {
    writes: Arc<std::sync::Mutex<Vec<Vec<u32>>>>,
    takes: Duration,
    turn: Arc<Mutex<()>>,
}

impl Sink for Doubler {
    type Item = u32;
    type Answer = u32;
    type Error = String;

    async fn write(&self, items: &[u32]) -> Result<Vec<u32>, String> {
        let _turn = self.turn.lock().await;
        sleep(self.takes).await;
        self.writes.lock().unwrap().push(items.to_vec());
        match items.iter().find(|item| *item % 2 == 1) {
            Some(_) if items.contains(&99) => Err("everything is lost".into()),
            Some(odd) => Err(format!("{odd} is odd")),
            None => Ok(items.iter().map(|item| item * 2).collect()),
        }
    }

    async fn linger(&self) {
        sleep(Duration::from_millis(1)).await;
    }

    fn blames_an_item(&self, error: &String) -> bool {
        error.ends_with("odd")
    }

    fn miscounted(&self) -> String {
        "miscounted".into()
    }
}

const LIMITS: BatchLimits = BatchLimits { batch: 10, waiting: 100, in_flight: 2 };

impl Doubler {
    fn slow() -> Self {
        Self { takes: Duration::from_millis(10), ..Self::default() }
    }

    fn start(&self, tasks: &Tasks) -> Handle<Self> {
        let (coalescer, handle) = Coalescer::new(self.clone(), LIMITS);
        drop(tasks.spawn("coalescer", coalescer.run(pending())));
        handle
    }

    fn writes(&self) -> Vec<Vec<u32>> {
        self.writes.lock().unwrap().clone()
    }
}

#[tokio::test(start_paused = true)]
async fn a_lone_caller_does_not_wait_for_company() {
    let (tasks, sink) = (Tasks::new(), Doubler::default());
    let handle = sink.start(&tasks);
    let start = Instant::now();
    assert_eq!(handle.call([2, 4]).await, Ok(vec![4, 8]));
    assert!(start.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn what_arrives_during_a_write_is_written_together_and_answered_to_each() {
    let (tasks, sink) = (Tasks::new(), Doubler::slow());
    let handle = sink.start(&tasks);
    let callers = (0..30).map(|n| {
        let handle = handle.clone();
        tasks.spawn("caller", async move { (n, handle.call([n * 2]).await) })
    });
    for caller in callers.collect::<Vec<_>>() {
        let (n, answer) = caller.await.unwrap();
        assert_eq!(answer, Ok(vec![n * 4]));
    }
    let sizes: Vec<usize> = sink.writes().iter().map(Vec::len).collect();
    assert!(sizes.len() <= 6, "30 callers took {sizes:?}");
    assert!(sizes.iter().all(|size| *size <= LIMITS.batch), "{sizes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_callers_items_are_never_divided() {
    let (tasks, sink) = (Tasks::new(), Doubler::slow());
    let handle = sink.start(&tasks);
    let large: Vec<u32> = (0..25).map(|n| n * 2).collect();
    let small: Vec<u32> = (0..7).map(|n| n * 2).collect();
    let (first, second, third) =
        tokio::join!(handle.call(small.clone()), handle.call(large.clone()), handle.call(small.clone()));
    assert!(first.is_ok() && third.is_ok());
    assert_eq!(second.unwrap().len(), 25);
    assert!(sink.writes().contains(&large), "{:?}", sink.writes());
}

#[tokio::test(start_paused = true)]
async fn one_bad_item_does_not_fail_its_neighbours() {
    let (tasks, sink) = (Tasks::new(), Doubler::slow());
    let handle = sink.start(&tasks);
    let numbers = [2, 4, 7, 8, 10, 12];
    let callers: Vec<_> = numbers
        .into_iter()
        .map(|n| {
            let handle = handle.clone();
            tasks.spawn("caller", async move { handle.call([n]).await })
        })
        .collect();
    for (n, caller) in numbers.into_iter().zip(callers) {
        let expected = if n == 7 { Err(Unanswered::Failed("7 is odd".into())) } else { Ok(vec![n * 2]) };
        assert_eq!(caller.await.unwrap(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_that_is_nobodys_fault_is_everybodys() {
    let (tasks, sink) = (Tasks::new(), Doubler::slow());
    let handle = sink.start(&tasks);
    let later = async |n| {
        sleep(Duration::from_millis(1)).await;
        handle.call([n]).await
    };
    let (first, second, third) = tokio::join!(handle.call([2]), later(99), later(4));
    assert_eq!(first, Ok(vec![4]), "it was written before");
    let lost = Err(Unanswered::Failed("everything is lost".to_owned()));
    assert_eq!((second, third), (lost.clone(), lost));
    assert_eq!(sink.writes().len(), 2, "the batch was not taken apart");
}

#[tokio::test(start_paused = true)]
async fn beyond_the_bound_callers_are_refused_at_once() {
    let (tasks, sink) = (Tasks::new(), Doubler::slow());
    let (coalescer, handle) = Coalescer::new(sink.clone(), LIMITS);
    let full: Vec<u32> = vec![2; LIMITS.waiting];
    let waiting = {
        let handle = handle.clone();
        tasks.spawn("caller", async move { handle.call(full).await })
    };
    tokio::task::yield_now().await;
    assert_eq!(handle.pending(), LIMITS.waiting);
    assert_eq!(handle.call([2]).await, Err(Unanswered::Refused(CoalescerRefusal::Full)));
    drop(tasks.spawn("coalescer", coalescer.run(pending())));
    assert_eq!(waiting.await.unwrap().unwrap().len(), LIMITS.waiting, "what was accepted is written");
    assert_eq!(handle.call([2]).await, Ok(vec![4]), "and there is room again");
}

#[tokio::test(start_paused = true)]
async fn closing_refuses_what_comes_later_and_writes_what_came_before() {
    let (tasks, sink) = (Tasks::new(), Doubler::slow());
    let (coalescer, handle) = Coalescer::new(sink.clone(), LIMITS);
    let before = {
        let handle = handle.clone();
        tasks.spawn("caller", async move { handle.call([2]).await })
    };
    tokio::task::yield_now().await;
    handle.close();
    assert_eq!(handle.call([4]).await, Err(Unanswered::Refused(CoalescerRefusal::Closed)));
    assert_eq!(coalescer.run(pending()).await, Leftover::default());
    assert_eq!(before.await.unwrap(), Ok(vec![4]));
    assert_eq!(sink.writes(), [[2]]);
}

#[tokio::test(start_paused = true)]
async fn giving_up_leaves_nobody_waiting() {
    let (tasks, sink) = (Tasks::new(), Doubler::slow());
    let (coalescer, handle) = Coalescer::new(sink.clone(), BatchLimits { in_flight: 1, ..LIMITS });
    let callers: Vec<_> = (0..3)
        .map(|_| {
            let handle = handle.clone();
            tasks.spawn("caller", async move { handle.call(vec![2; 6]).await })
        })
        .collect();
    tokio::task::yield_now().await;
    let left = coalescer.run(sleep(Duration::from_millis(5))).await;
    assert_eq!(left, Leftover { unwritten: 12, unknown: 6 });
    for caller in callers {
        assert_eq!(caller.await.unwrap(), Err(Unanswered::Unknown));
    }
    assert_eq!(handle.call([2]).await, Err(Unanswered::Refused(CoalescerRefusal::Closed)));
    assert_eq!(handle.pending(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_is_dropped_leaves_nobody_waiting() {
    let (tasks, sink) = (Tasks::new(), Doubler::slow());
    let (coalescer, handle) = Coalescer::new(sink, LIMITS);
    let looping = tasks.spawn("coalescer", coalescer.run(pending()));
    let (answer, ()) = tokio::join!(handle.call([2]), async {
        sleep(Duration::from_millis(2)).await;
        looping.abort();
    });
    assert_eq!(answer, Err(Unanswered::Unknown));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_takes_nothing_back() {
    let (tasks, sink) = (Tasks::new(), Doubler::slow());
    let handle = sink.start(&tasks);
    assert!(tokio::time::timeout(Duration::from_millis(1), handle.call([2])).await.is_err());
    handle.idle().await;
    assert_eq!(sink.writes(), [[2]]);
}

#[tokio::test(start_paused = true)]
async fn nothing_asked_is_nothing_written() {
    let (coalescer, handle) = Coalescer::new(Doubler::default(), LIMITS);
    assert_eq!(handle.call([]).await, Ok(vec![]));
    assert_eq!(coalescer.run(ready(())).await, Leftover::default());
}
