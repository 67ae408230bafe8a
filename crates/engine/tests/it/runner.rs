//! A target that does what the job's payload says, and remembers what ran.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use foreman_core::outcome::{AttemptEnd, Report};
use foreman_core::target::Route;
use foreman_core::{JobId, Target};
use foreman_engine::target::{Runner, Try, TryEnding};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

/// The one task these tests have.
pub const TASK: &str = "play";

#[derive(Debug)]
pub struct Player {
    seen: Mutex<Seen>,
    /// Lets gated work end, one permit each.
    pub gate: Semaphore,
    /// Lets go of every thread that is blocked.
    pub unblock: AtomicBool,
}

#[derive(Debug, Default)]
struct Seen {
    started: Vec<JobId>,
    running: BTreeSet<JobId>,
    most_at_once: usize,
    /// Who ran while whom.
    beside: Vec<(JobId, BTreeSet<JobId>)>,
    stopped: Vec<(JobId, Instant)>,
}

impl Player {
    pub fn new() -> Self {
        Self { seen: Mutex::default(), gate: Semaphore::new(0), unblock: AtomicBool::new(false) }
    }

    /// In the order in which they were started; a job tried twice is there twice.
    pub fn started(&self) -> Vec<JobId> {
        self.seen.lock().unwrap().started.clone()
    }

    pub fn running(&self) -> usize {
        self.seen.lock().unwrap().running.len()
    }

    pub fn most_at_once(&self) -> usize {
        self.seen.lock().unwrap().most_at_once
    }

    /// When a try was told to stop.
    pub fn stopped(&self, job: JobId) -> Option<Instant> {
        self.seen.lock().unwrap().stopped.iter().find(|(id, _)| *id == job).map(|(_, at)| *at)
    }

    /// Everyone who ever ran at the same time as `job`.
    pub fn beside(&self, job: JobId) -> BTreeSet<JobId> {
        let seen = self.seen.lock().unwrap();
        let mut beside = BTreeSet::new();
        for (id, others) in &seen.beside {
            if *id == job {
                beside.extend(others);
            } else if others.contains(&job) {
                beside.insert(*id);
            }
        }
        beside
    }

    fn enter(&self, job: JobId) -> Playing<'_> {
        let mut seen = self.seen.lock().unwrap();
        let others = seen.running.clone();
        seen.started.push(job);
        seen.beside.push((job, others));
        seen.running.insert(job);
        seen.most_at_once = seen.most_at_once.max(seen.running.len());
        Playing { player: self, job }
    }
}

struct Playing<'a> {
    player: &'a Player,
    job: JobId,
}

impl Drop for Playing<'_> {
    fn drop(&mut self) {
        self.player.seen.lock().unwrap().running.remove(&self.job);
    }
}

/// Panics when it is dropped: outside of the runner's own work.
struct Brittle;

impl Drop for Brittle {
    fn drop(&mut self) {
        panic!("the wheel broke");
    }
}

fn ending(ended: AttemptEnd, error: Option<&str>) -> TryEnding {
    TryEnding { ended, report: error.map_or_else(Report::default, Report::error) }
}

#[async_trait]
impl Runner for Player {
    fn routes(&self) -> Vec<Route> {
        vec![Route::task(TASK)]
    }

    async fn run(&self, attempt: &Try) -> TryEnding {
        let playing = self.enter(attempt.job.id);
        let Target::Task(task) = &attempt.job.work.target else { panic!("not a task") };
        let (word, number) = task.payload.as_str().split_once(' ').unwrap_or((task.payload.as_str(), "0"));
        let time = Duration::from_millis(number.parse().unwrap());
        let work = async {
            match word {
                "" => ending(AttemptEnd::Completed, None),
                "sleep" => {
                    sleep(time).await;
                    ending(AttemptEnd::Completed, None)
                }
                "gate" => {
                    self.gate.acquire().await.unwrap().forget();
                    ending(AttemptEnd::Completed, None)
                }
                "again" => ending(AttemptEnd::Again { after: None }, Some("not yet")),
                "fail" => ending(AttemptEnd::Failed, Some("never")),
                "give-up" => ending(AttemptEnd::Interrupted, None),
                "panic" => panic!("the wheel fell off"),
                "deaf" => pending().await,
                "block" => {
                    while !self.unblock.load(Ordering::SeqCst) {
                        #[expect(clippy::disallowed_methods, reason = "it blocks its thread on purpose")]
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    ending(AttemptEnd::Completed, None)
                }
                "brittle" => {
                    let _wheel = Brittle;
                    pending().await
                }
                other => panic!("{other} is not in the book"),
            }
        };
        let stop = async {
            attempt.stop.cancelled().await;
            self.seen.lock().unwrap().stopped.push((playing.job, Instant::now()));
            if word == "deaf" || word == "brittle" {
                pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            end = work => end,
            () = stop => ending(AttemptEnd::Interrupted, None),
        }
    }
}
