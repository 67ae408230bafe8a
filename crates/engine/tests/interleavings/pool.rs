//! Work races the pool's shutdown: started and waited for, or refused and returned; no slot is lost.

use std::future::pending;
use std::sync::{Arc, Mutex};

use foreman_engine::pool::{Drained, Pool, Spawn, WorkEnd};
use shuttle::future::{block_on, spawn};
use tokio_util::sync::CancellationToken;

use crate::{a_while, check};

const SLOTS: usize = 2;
const JOBS: usize = 6;

struct Shuttle;

impl Spawn for Shuttle {
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(spawn(work));
    }
}

/// What became of every job, each in exactly one place.
#[derive(Clone, Default)]
struct Book(Arc<Mutex<Pages>>);

#[derive(Default)]
struct Pages {
    running: usize,
    most_running: usize,
    finished: Vec<usize>,
    handed_back: Vec<usize>,
    refused: Vec<usize>,
    never_offered: Vec<usize>,
    is_over: bool,
}

impl Book {
    async fn work(self, job: usize, stop: CancellationToken) -> WorkEnd {
        {
            let mut pages = self.0.lock().unwrap();
            assert!(!pages.is_over, "job {job} began after the shutdown had ended");
            pages.running += 1;
            pages.most_running = pages.most_running.max(pages.running);
        }
        let is_done = tokio::select! {
            biased;
            () = stop.cancelled() => false,
            () = a_while(4) => true,
        };
        let mut pages = self.0.lock().unwrap();
        pages.running -= 1;
        if is_done {
            pages.finished.push(job);
            WorkEnd::Finished
        } else {
            pages.handed_back.push(job);
            WorkEnd::HandedBack
        }
    }

    /// Every job is in exactly one place.
    fn is_complete(&self) {
        let pages = self.0.lock().unwrap();
        let mut all: Vec<usize> = [&pages.finished, &pages.handed_back, &pages.refused, &pages.never_offered]
            .into_iter()
            .flatten()
            .copied()
            .collect();
        all.sort_unstable();
        assert_eq!(all, (0..JOBS).collect::<Vec<_>>(), "each job is in one place");
        assert!(pages.most_running <= SLOTS, "{} ran at once", pages.most_running);
    }
}

/// Takes slots and starts work, as a dispatcher does; `keeps` says what it does with work that comes back.
async fn dispatch(pool: Pool<Shuttle>, book: Book, keeps: bool) {
    let mut jobs = (0..JOBS).collect::<Vec<_>>().into_iter();
    while jobs.len() > 0 {
        let Some(mut slots) = pool.slots(SLOTS).await else { break };
        // The claim is on its way.
        a_while(2).await;
        for job in jobs.by_ref().take(slots.count()) {
            let (book, stop) = (book.clone(), pool.stop().child_token());
            let own = book.clone();
            if let Err(job) = slots.run(job, |job| own.work(job, stop))
                && keeps
            {
                book.0.lock().unwrap().refused.push(job);
            }
        }
    }
    book.0.lock().unwrap().never_offered.extend(jobs);
}

fn race(keeps: bool) {
    block_on(async move {
        let pool = Pool::new(SLOTS, Shuttle);
        let book = Book::default();
        let dispatcher = spawn(dispatch(pool.clone(), book.clone(), keeps));
        a_while(12).await;
        let ended_before = {
            let pages = book.0.lock().unwrap();
            pages.finished.len() + pages.handed_back.len()
        };
        let drained = pool.shutdown(a_while(6), pending).await;
        assert_eq!(pool.running(), 0);
        book.0.lock().unwrap().is_over = true;
        dispatcher.await.unwrap();
        assert_eq!(pool.free(), SLOTS, "no slot is lost");
        {
            let pages = book.0.lock().unwrap();
            let ended = pages.finished.len() + pages.handed_back.len();
            let counted = drained.finished + drained.handed_back;
            // Work that had written its page, but had not yet returned when shutdown began, is counted as well.
            assert!(
                counted >= ended - ended_before && counted <= ended,
                "{drained:?}, {ended_before} before, {ended} in all"
            );
            assert_eq!(drained.abandoned, 0);
            assert_eq!(drained.handed_back, pages.handed_back.len());
        }
        book.is_complete();
    });
}

#[test]
fn work_racing_the_shutdown_is_started_and_waited_for_or_comes_back() {
    check(|| race(true));
}

#[test]
#[should_panic(expected = "each job is in one place")]
fn planted_a_dispatcher_that_drops_what_comes_back_is_found() {
    check(|| race(false));
}

#[test]
fn work_that_will_not_stop_is_dropped_and_counted_once() {
    check(|| {
        block_on(async {
            let pool = Pool::new(SLOTS, Shuttle);
            let mut slots = pool.slots(SLOTS).await.unwrap();
            let book = Book::default();
            slots.run((), |()| pending()).unwrap();
            let (own, stop) = (book.clone(), pool.stop().child_token());
            slots.run(0, |job| own.work(job, stop)).unwrap();
            drop(slots);
            let twice = spawn({
                let pool = pool.clone();
                async move { pool.shutdown(a_while(4), || a_while(6)).await }
            });
            let drained = pool.shutdown(a_while(4), || a_while(6)).await;
            let other = twice.await.unwrap();
            // What the second piece of work made of it depends on the schedule; the first can only be abandoned. Each is
            // counted once, except that what ended before the shutdown began is not counted.
            for Drained { finished, handed_back, abandoned } in [drained, other] {
                assert!(abandoned >= 1);
                assert!(finished + handed_back + abandoned <= 2, "{drained:?} {other:?}");
            }
            pool.idle().await;
            assert_eq!(pool.free(), SLOTS, "dropped work gives its slot back");
        });
    });
}
