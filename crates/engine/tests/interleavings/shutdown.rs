//! The two moments of stopping, raced: whatever the order, a loop leaves once and what it held is in one place.

use std::sync::{Arc, Mutex};

use foreman_engine::coalesce::{BatchLimits, Coalescer, Sink};
use foreman_engine::pool::{Pool, Spawn, WorkEnd};
use foreman_runtime::{Shutdown, Stop};
use shuttle::future::{block_on, spawn};

use crate::{a_while, check};

#[test]
fn nobody_misses_a_moment_and_aborting_is_never_seen_before_draining() {
    check(|| {
        block_on(async {
            let stop = Stop::new();
            let listeners: Vec<_> = (0..3)
                .map(|_| {
                    let shutdown = stop.shutdown();
                    spawn(async move {
                        a_while(3).await;
                        shutdown.draining().await;
                        assert!(shutdown.is_draining());
                        shutdown.aborting().await;
                        assert!(shutdown.is_draining() && shutdown.is_aborting());
                    })
                })
                .collect();
            let watcher = spawn({
                let shutdown = stop.shutdown();
                async move {
                    loop {
                        let is_aborting = shutdown.is_aborting();
                        assert!(!is_aborting || shutdown.is_draining(), "aborting without draining");
                        if is_aborting {
                            break;
                        }
                        shuttle::future::yield_now().await;
                    }
                }
            });
            let second = spawn({
                let stop = stop.clone();
                async move {
                    a_while(4).await;
                    stop.abort();
                }
            });
            a_while(4).await;
            stop.drain();
            second.await.unwrap();
            watcher.await.unwrap();
            for listener in listeners {
                listener.await.unwrap();
            }
        });
    });
}

struct Shuttle;

impl Spawn for Shuttle {
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(spawn(work));
    }
}

/// Keeps what was settled.
#[derive(Clone, Default)]
struct Record(Arc<Mutex<Vec<(usize, WorkEnd)>>>);

impl Sink for Record {
    type Item = (usize, WorkEnd);
    type Answer = ();
    type Error = ();

    async fn write(&self, items: &[(usize, WorkEnd)]) -> Result<Vec<()>, ()> {
        a_while(2).await;
        self.0.lock().unwrap().extend(items);
        Ok(vec![(); items.len()])
    }

    async fn linger(&self) {
        a_while(1).await;
    }

    fn blames_an_item(&self, (): &()) -> bool {
        false
    }

    fn miscounted(&self) {}
}

const JOBS: usize = 5;

/// A worker in small: slots, then work, then its outcome through a coalescer; drained by the first moment, stopped by
/// the second.
#[test]
fn a_worker_in_small_settles_every_job_it_started_exactly_once() {
    check(|| {
        block_on(async {
            let stop = Stop::new();
            let (pool, record) = (Pool::new(2, Shuttle), Record::default());
            let (coalescer, settle) =
                Coalescer::new(record.clone(), BatchLimits { batch: 2, waiting: 99, in_flight: 2 });
            let settler = spawn(coalescer.run(std::future::pending()));
            let signal = spawn({
                let stop = stop.clone();
                async move {
                    a_while(10).await;
                    stop.drain();
                    a_while(4).await;
                    stop.abort();
                }
            });

            let shutdown: Shutdown = stop.shutdown();
            let mut started = Vec::new();
            for job in 0..JOBS {
                let slots = tokio::select! {
                    biased;
                    () = shutdown.draining() => break,
                    slots = pool.slots(1) => slots,
                };
                let Some(mut slots) = slots else { break };
                let (settle, stopped) = (settle.clone(), pool.stop().child_token());
                let work = |job| async move {
                    let fate = tokio::select! {
                        biased;
                        () = stopped.cancelled() => WorkEnd::HandedBack,
                        () = a_while(5) => WorkEnd::Finished,
                    };
                    settle.send((job, fate)).expect("the settler is closed after the pool");
                    fate
                };
                slots.run(job, work).expect("only this loop closes the pool");
                started.push(job);
            }
            let drained = pool.shutdown(shutdown.aborting(), std::future::pending).await;
            settle.close();
            settler.await.unwrap();
            signal.await.unwrap();

            let mut settled: Vec<usize> = record.0.lock().unwrap().iter().map(|(job, _)| *job).collect();
            settled.sort_unstable();
            assert_eq!(settled, started, "each job that was started is settled once");
            assert_eq!(drained.abandoned, 0);
            let handed_back = record.0.lock().unwrap().iter().filter(|(_, fate)| *fate == WorkEnd::HandedBack).count();
            assert_eq!(drained.handed_back, handed_back);
        });
    });
}
