//! The roles, each × n, on one database.
//!
//! A fleet that is dropped is killed. When a test fails, what its processes said last is printed and their logs are kept.

use std::collections::BTreeSet;
use std::path::PathBuf;

use foreman_client::Client;
use nix::sys::signal::Signal;
use tempfile::TempDir;

use super::database::Database;
use super::faults::{Fault, Faults};
use super::process::{Process, Role};
use super::until;

#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub api: usize,
    pub worker: usize,
    pub scheduler: usize,
}

/// How soon the dead are noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As a user gets it without asking.
    Defaults,
    /// A session lives for three seconds, a leader too.
    Quick,
}

impl Pace {
    fn variables(self) -> Vec<(String, String)> {
        let quick: &[(&str, &str)] = match self {
            Pace::Defaults => &[],
            Pace::Quick => &[
                ("FOREMAN_WORKER_SESSION_TTL", "3s"),
                ("FOREMAN_WORKER_HEARTBEAT", "1s"),
                ("FOREMAN_WORKER_FENCE_MARGIN", "500ms"),
                ("FOREMAN_SWEEPER_EVERY", "500ms"),
                ("FOREMAN_LEADER_TTL", "3s"),
                ("FOREMAN_DATABASE_IDLE_TIMEOUT", "1s"),
            ],
        };
        quick.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }
}

pub struct Fleet {
    directory: TempDir,
    pub processes: Vec<Process>,
    pub faults: Faults,
    variables: Vec<(String, String)>,
    /// Kafka stands between the roles.
    is_fed: bool,
    /// Two of them come with the first workers.
    needs_relays: bool,
    /// What those are that come next, when they are of another version; `None`: the program that is tested.
    pub program: Option<PathBuf>,
}

impl Fleet {
    /// Starts them all, and waits until each is ready.
    pub async fn start(database: &Database, plan: Plan, pace: Pace) -> Self {
        let mut fleet = Self::new(database, pace, &[]);
        fleet.start_plan(plan, &[]).await;
        fleet
    }

    /// What everybody needs to be fed by Kafka, when the suite runs so (`FOREMAN_TEST_TRANSPORT=kafka`). The topics are named after
    /// the database, so that no test hears of another's.
    fn transport(database: &Database) -> Vec<(String, String)> {
        #[expect(clippy::disallowed_methods, reason = "the runner of the suites tells the tests, not the program")]
        let variable = |name: &str| std::env::var(name).ok();
        match variable("FOREMAN_TEST_TRANSPORT").as_deref() {
            None | Some("") => return Vec::new(),
            Some("kafka") => {}
            Some(other) => panic!("FOREMAN_TEST_TRANSPORT is {other}, and only kafka is known"),
        }
        let brokers =
            variable("FOREMAN_TEST_KAFKA").expect("FOREMAN_TEST_KAFKA is not set: run scripts/with-services --kafka");
        [
            ("KAFKA_BROKERS", brokers.as_str()),
            ("FOREMAN_KAFKA_TOPICS", database.name()),
            ("FOREMAN_KAFKA_GROUP", database.name()),
            ("FOREMAN_KAFKA_DELIVERY_TIMEOUT", "2s"),
            ("FOREMAN_KAFKA_UNANSWERED_AFTER", "4s"),
            ("FOREMAN_KAFKA_UNCLAIMED_AFTER", "4s"),
            ("FOREMAN_KAFKA_RECONCILE_EVERY", "200ms"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }

    /// The suite runs with Kafka between the roles.
    pub fn has_relays(&self) -> bool {
        self.is_fed
    }

    /// Nobody in it yet; `variables` go to everybody.
    pub fn new(database: &Database, pace: Pace, variables: &[(&str, &str)]) -> Self {
        let directory = TempDir::with_prefix("foreman-team-").unwrap();
        let mut all = pace.variables();
        all.push(("DATABASE_URL".into(), database.url.clone()));
        // Nobody balances here, so nobody has to notice.
        all.push(("FOREMAN_SHUTDOWN_NOT_READY".into(), "0s".into()));
        // The targets are on this machine, where a role calls nobody unless it is told to.
        all.push(("FOREMAN_EGRESS_ALLOW".into(), "127.0.0.0/8".into()));
        let transport = Self::transport(database);
        let is_fed = !transport.is_empty();
        all.extend(transport);
        all.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Self {
            directory,
            processes: Vec::new(),
            faults: Faults::default(),
            variables: all,
            is_fed,
            needs_relays: is_fed,
            program: None,
        }
    }

    pub async fn start_plan(&mut self, plan: Plan, worker_words: &[&str]) {
        let from = self.processes.len();
        let relays = if self.needs_relays && plan.worker > 0 { 2 } else { 0 };
        self.needs_relays &= relays == 0;
        // Relays last: tests know the others by their places in the list.
        let roles = [
            (Role::Api, plan.api),
            (Role::Worker, plan.worker),
            (Role::Scheduler, plan.scheduler),
            (Role::Relay, relays),
        ];
        for (role, count) in roles {
            for _ in 0..count {
                let words = if role == Role::Worker { worker_words } else { &[] };
                let number = self.of(role).count() + 1;
                let mut process = Process::new(role, number, self.directory.path(), words, &self.variables);
                process.program.clone_from(&self.program);
                self.processes.push(process);
            }
        }
        for process in &mut self.processes[from..] {
            process.spawn();
        }
        for process in &mut self.processes[from..] {
            process.ready().await;
        }
        if relays > 0 {
            self.until_fed().await;
        }
    }

    /// Every partition of the four topics belongs to a worker: until then what is announced waits.
    async fn until_fed(&self) {
        until("every partition has a worker", async || {
            let mut partitions = 0.0;
            for worker in self.of(Role::Worker) {
                partitions += worker.metric("foreman_kafka_partitions").await?;
            }
            (partitions > 47.5).then_some(())
        })
        .await;
    }

    /// One more, and where it stands in the list.
    pub async fn add(&mut self, role: Role, words: &[&str]) -> usize {
        self.add_with(role, words, &[]).await
    }

    /// One more that has variables of its own.
    pub async fn add_with(&mut self, role: Role, words: &[&str], variables: &[(&str, &str)]) -> usize {
        let place = self.spawn_with(role, words, variables);
        self.processes[place].ready().await;
        place
    }

    /// The same, which nobody waits for: it may have a reason not to be ready.
    pub fn spawn_with(&mut self, role: Role, words: &[&str], variables: &[(&str, &str)]) -> usize {
        let number = self.of(role).count() + 1;
        let mut all = self.variables.clone();
        all.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let mut process = Process::new(role, number, self.directory.path(), words, &all);
        process.program.clone_from(&self.program);
        process.spawn();
        self.processes.push(process);
        self.processes.len() - 1
    }

    /// Those of a role.
    pub fn of(&self, role: Role) -> impl Iterator<Item = &Process> {
        self.processes.iter().filter(move |process| process.role == role)
    }

    /// Where those of a role stand in the list.
    pub fn places(&self, role: Role) -> Vec<usize> {
        (0..self.processes.len()).filter(|place| self.processes[*place].role == role).collect()
    }

    /// Where the APIs are.
    pub fn addresses(&self) -> Vec<String> {
        self.of(Role::Api).map(|process| process.address.clone()).collect()
    }

    /// Of the first API.
    pub fn client(&self) -> Client {
        Client::new(&format!("http://{}", self.of(Role::Api).next().expect("an api").address), None).unwrap()
    }

    /// The sessions that are alive, each with the worker it belongs to; `None` when nobody answers.
    pub async fn sessions(&self) -> Option<BTreeSet<(String, String)>> {
        let workers = self.client().workers().await.ok()?.items;
        Some(workers.into_iter().filter(|it| it.state.is_alive()).map(|it| (it.worker, it.id)).collect())
    }

    pub async fn kill_nine(&mut self, place: usize) {
        self.processes[place].kill_nine().await;
        self.faults.count(Fault::Killed(self.processes[place].role));
    }

    pub fn freeze(&mut self, place: usize) {
        self.processes[place].signal(Signal::SIGSTOP);
        self.faults.count(Fault::Frozen(self.processes[place].role));
    }

    pub fn thaw(&mut self, place: usize) {
        self.processes[place].signal(Signal::SIGCONT);
    }

    /// As a deploy stops it: answers its exit code.
    pub async fn stop(&mut self, place: usize) -> Option<i32> {
        let code = self.processes[place].stop().await;
        self.faults.count(Fault::Stopped(self.processes[place].role));
        code
    }

    pub async fn start_again(&mut self, place: usize) {
        self.processes[place].spawn();
        self.processes[place].ready().await;
    }

    /// None of them has ended by itself.
    pub fn assert_alive(&mut self) {
        for process in &mut self.processes {
            process.assert_alive();
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        self.directory.disable_cleanup(true);
        eprintln!("faults so far: {}", self.faults);
        for process in &self.processes {
            let log = process.log();
            let lines: Vec<&str> = log.lines().collect();
            let tail = &lines[lines.len().saturating_sub(30)..];
            eprintln!("--- {} said last, of {} lines:\n{}", process.name, lines.len(), tail.join("\n"));
        }
        eprintln!("--- the logs are kept in {}", self.directory.path().display());
    }
}
