//! Clients that submit one job after the other, and remember what they were told.
//!
//! A submission is answered yes (accepted), no (refused: nothing was kept, try later) or not at all (unknown: it may have
//! been kept). After a no and after silence the same submission goes to the next API under the same key, as a client
//! should, until somebody says yes. So in the end every key stands for exactly one job.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foreman_client::{Client, JobSpec};
use foreman_runtime::{Stop, Task, Tasks};
use tokio::time::{Instant, sleep};

use super::target::{Answer, Target};
use super::{LONG, call, until};

/// What kind of jobs are submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// All are done at the first try.
    Willing,
    /// Most are done at once, some take a while, some fail the first time.
    Mixed,
    /// Besides, now and then one that takes longer than a stop may take.
    Long,
}

impl Mix {
    fn answer(self, number: usize) -> Answer {
        if self == Mix::Long && number.is_multiple_of(10) {
            return Answer::Slow(4_000);
        }
        match (self, number % 10) {
            (_, 0..=5) => Answer::Ok,
            (Mix::Mixed | Mix::Long, 9) => Answer::Flaky,
            (_, rest) => Answer::Slow(50 * rest as u64),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// By key: the job.
    pub accepted: BTreeMap<String, String>,
    /// How often each status was a no.
    pub refused: BTreeMap<u16, usize>,
    pub unknown: usize,
}

pub struct Load {
    submitters: Vec<Task<()>>,
    tally: Arc<Mutex<Tally>>,
    stop: Stop,
}

impl Load {
    /// So many clients, each with a pause after each job.
    pub fn start(apis: &[String], target: &Target, clients: usize, pause: Duration, mix: Mix) -> Self {
        let (tasks, tally, stop) = (Tasks::new(), Arc::default(), Stop::new());
        let submitters = (0..clients)
            .map(|name| {
                let submitter = Submitter {
                    name,
                    apis: apis.iter().map(|address| Client::new(&format!("http://{address}"), None).unwrap()).collect(),
                    target: target.clone(),
                    tally: Arc::clone(&tally),
                    mix,
                    pause,
                };
                tasks.spawn("submitter", submitter.run(stop.clone()))
            })
            .collect();
        Self { submitters, tally, stop }
    }

    pub fn accepted(&self) -> usize {
        self.tally.lock().unwrap().accepted.len()
    }

    pub fn tally(&self) -> Tally {
        self.tally.lock().unwrap().clone()
    }

    /// Waits until so many more jobs were accepted: whatever happened, it is over.
    pub async fn goes_on(&self, more: usize) {
        let enough = self.accepted() + more;
        until(&format!("{more} more jobs are accepted"), async || (self.accepted() >= enough).then_some(())).await;
    }

    /// No new submissions; those under way go on until they are accepted.
    pub async fn stop(self) -> Tally {
        self.stop.drain();
        for submitter in self.submitters {
            submitter.await.expect("what it submits is valid");
        }
        let tally = self.tally.lock().unwrap().clone();
        for (status, times) in &tally.refused {
            assert!(matches!(status, 429 | 503), "refused {times} times with {status}: {tally:?}");
        }
        tally
    }
}

struct Submitter {
    name: usize,
    apis: Vec<Client>,
    target: Target,
    tally: Arc<Mutex<Tally>>,
    mix: Mix,
    pause: Duration,
}

impl Submitter {
    async fn run(self, stop: Stop) {
        let shutdown = stop.shutdown();
        let mut number = 0;
        while !shutdown.is_draining() {
            number += 1;
            let key = format!("{}-{number}", self.name);
            let url = self.target.url(self.mix.answer(self.name + number));
            let spec = JobSpec { idempotency_key: Some(key.clone()), ..call(&url) };
            let id = self.submit(&spec, self.name + number).await;
            self.tally.lock().unwrap().accepted.insert(key, id);
            sleep(self.pause).await;
        }
    }

    /// To one API after the other, until one says yes.
    async fn submit(&self, spec: &JobSpec, first: usize) -> String {
        let start = Instant::now();
        let mut turn = first;
        loop {
            match self.apis[turn % self.apis.len()].submit(spec).await {
                Ok(job) => return job.id,
                Err(error) => {
                    let mut tally = self.tally.lock().unwrap();
                    match error.status() {
                        Some(status) => *tally.refused.entry(status).or_default() += 1,
                        None if error.is_away() => tally.unknown += 1,
                        None => panic!("{error}"),
                    }
                    assert!(start.elapsed() < LONG, "nobody accepts {spec:?}: {error}");
                }
            }
            turn += 1;
            sleep(Duration::from_millis(20)).await;
        }
    }
}
