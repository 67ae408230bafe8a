//! Callers race the closing of the door: accepted means written and answered once, refused means not written.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use foreman_engine::coalesce::{BatchLimits, Coalescer, CoalescerRefusal, Handle, Leftover, Sink, Unanswered};
use shuttle::future::{block_on, spawn};
use tokio::sync::Notify;

use crate::{a_while, check};

/// Keeps what it is given, after a while, and cannot stand thirteen.
#[derive(Clone, Default)]
struct Shelf {
    kept: Arc<Mutex<Vec<u32>>>,
    under_way: Arc<Mutex<usize>>,
}

impl Sink for Shelf {
    type Item = u32;
    type Answer = u32;
    type Error = &'static str;

    async fn write(&self, items: &[u32]) -> Result<Vec<u32>, &'static str> {
        *self.under_way.lock().unwrap() += 1;
        assert!(*self.under_way.lock().unwrap() <= LIMITS.in_flight, "too many writes at once");
        a_while(3).await;
        *self.under_way.lock().unwrap() -= 1;
        if items.contains(&13) {
            return Err("thirteen");
        }
        self.kept.lock().unwrap().extend(items);
        Ok(items.iter().map(|item| item + 1_000).collect())
    }

    async fn linger(&self) {
        a_while(2).await;
    }

    fn blames_an_item(&self, _: &&'static str) -> bool {
        true
    }

    fn miscounted(&self) -> &'static str {
        "miscounted"
    }
}

const LIMITS: BatchLimits = BatchLimits { batch: 3, waiting: 6, in_flight: 2 };

type Answer = (Vec<u32>, Result<Vec<u32>, Unanswered<&'static str>>);

/// Callers with one to three items each, number 13 among them.
fn callers(handle: &Handle<Shelf>) -> Vec<shuttle::future::JoinHandle<Answer>> {
    [vec![1], vec![2, 3], vec![13], vec![4, 5, 6], vec![7], vec![8, 9]]
        .into_iter()
        .map(|items| {
            let handle = handle.clone();
            spawn(async move {
                a_while(4).await;
                let answer = handle.call(items.clone()).await;
                (items, answer)
            })
        })
        .collect()
}

async fn judge(shelf: &Shelf, callers: Vec<shuttle::future::JoinHandle<Answer>>) {
    let mut expected = BTreeSet::new();
    for caller in callers {
        let (items, answer) = caller.await.unwrap();
        match answer {
            Ok(answers) => {
                assert_eq!(answers, items.iter().map(|item| item + 1_000).collect::<Vec<_>>(), "its own answers");
                expected.extend(items);
            }
            Err(Unanswered::Failed("thirteen")) => assert_eq!(items, [13], "a neighbour's fault"),
            Err(Unanswered::Refused(CoalescerRefusal::Closed | CoalescerRefusal::Full)) => {}
            Err(other) => panic!("{items:?} accepted, and then {other:?}"),
        }
    }
    let kept = shelf.kept.lock().unwrap().clone();
    let once: BTreeSet<u32> = kept.iter().copied().collect();
    assert_eq!(once.len(), kept.len(), "written twice: {kept:?}");
    assert_eq!(once, expected, "what was answered is what was written");
}

#[test]
fn a_submission_racing_the_closing_is_refused_or_kept() {
    check(|| {
        block_on(async {
            let shelf = Shelf::default();
            let (coalescer, handle) = Coalescer::new(shelf.clone(), LIMITS);
            let callers = callers(&handle);
            let closer = spawn({
                let handle = handle.clone();
                async move {
                    a_while(8).await;
                    handle.close();
                }
            });
            let left = coalescer.run(std::future::pending()).await;
            assert_eq!(left, Leftover::default(), "it ends when everything is written");
            assert_eq!(handle.pending(), 0);
            closer.await.unwrap();
            judge(&shelf, callers).await;
        });
    });
}

#[test]
fn those_who_wait_for_idleness_are_told_of_it() {
    check(|| {
        block_on(async {
            let shelf = Shelf::default();
            let (coalescer, handle) = Coalescer::new(shelf.clone(), LIMITS);
            let callers = callers(&handle);
            let looping = spawn(coalescer.run(std::future::pending()));
            let waiter = spawn({
                let handle = handle.clone();
                async move {
                    a_while(4).await;
                    handle.idle().await;
                }
            });
            judge(&shelf, callers).await;
            waiter.await.unwrap();
            handle.close();
            looping.await.unwrap();
        });
    });
}

#[test]
fn a_loop_that_gives_up_leaves_nobody_waiting_and_nothing_uncounted() {
    check(|| {
        block_on(async {
            let shelf = Shelf::default();
            let (coalescer, handle) = Coalescer::new(shelf.clone(), LIMITS);
            let callers = callers(&handle);
            let left = coalescer.run(a_while(8)).await;
            let (mut answered, mut unknown) = (0, 0);
            for caller in callers {
                let (items, answer) = caller.await.unwrap();
                match answer {
                    Ok(_) => answered += items.len(),
                    Err(Unanswered::Unknown) => unknown += items.len(),
                    Err(Unanswered::Refused(_) | Unanswered::Failed(_)) => {}
                }
            }
            assert_eq!(unknown, left.unwritten + left.unknown, "each one dropped is counted");
            let kept = shelf.kept.lock().unwrap().len();
            assert!(answered <= kept && kept <= answered + left.unknown, "{answered} answered, {kept} kept, {left:?}");
        });
    });
}

#[test]
#[should_panic(expected = "accepted, and then Unknown")]
fn planted_a_close_that_does_not_drain_is_found() {
    check(|| {
        block_on(async {
            let shelf = Shelf::default();
            let (coalescer, handle) = Coalescer::new(shelf.clone(), LIMITS);
            let callers = callers(&handle);
            let closed = Arc::new(Notify::new());
            let closer = spawn({
                let (handle, closed) = (handle.clone(), Arc::clone(&closed));
                async move {
                    a_while(8).await;
                    handle.close();
                    closed.notify_one();
                }
            });
            // The mistake: closed is taken for done.
            coalescer.run(closed.notified()).await;
            closer.await.unwrap();
            judge(&shelf, callers).await;
        });
    });
}
