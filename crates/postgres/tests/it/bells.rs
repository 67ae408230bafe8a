//! Wake-ups between processes.

use std::time::Duration;

use foreman_core::ports::{Topic, Wakeups};
use foreman_postgres::Config;
use foreman_postgres::leases::PgLeases;
use foreman_postgres::wakeups::PgWakeups;
use foreman_runtime::leadership::Lease as _;
use foreman_runtime::{Stop, Task, Tasks};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::given::Database;
use crate::wire::behind;

const PATIENCE: Duration = Duration::from_secs(10);

pub struct Process {
    pub wakeups: PgWakeups,
    stop: Stop,
    bell: Task<()>,
}

impl Process {
    pub async fn end(self) {
        self.stop.drain();
        self.bell.await.unwrap();
    }
}

/// A process that listens: everything has rung once when it does.
pub async fn process(database: &Database) -> Process {
    let (bell, wakeups) = PgWakeups::new(&Config::at(database.url())).unwrap();
    let stop = Stop::new();
    let mut heard = wakeups.listen(Topic::Waiting);
    heard.mark_unchanged();
    let bell = Tasks::new().spawn("a bell", bell.run(stop.shutdown()));
    timeout(PATIENCE, heard.changed()).await.unwrap().unwrap();
    Process { wakeups, stop, bell }
}

async fn heard(bell: &mut watch::Receiver<u64>) {
    timeout(PATIENCE, bell.changed()).await.expect("the bell was heard").unwrap();
}

fn listen(process: &Process, topic: Topic) -> watch::Receiver<u64> {
    let mut bell = process.wakeups.listen(topic);
    bell.mark_unchanged();
    bell
}

#[tokio::test]
async fn what_rings_in_one_process_is_heard_in_another() {
    let database = Database::ready().await;
    let (one, two) = (process(&database).await, process(&database).await);
    for topic in Topic::ALL {
        let (mut here, mut there) = (listen(&one, topic), listen(&two, topic));
        one.wakeups.ring(topic);
        assert!(here.has_changed().unwrap(), "at once in the same process");
        heard(&mut there).await;
        here.mark_unchanged();
    }
    for process in [one, two] {
        process.end().await;
    }
}

#[tokio::test]
async fn who_resigns_is_heard_by_whoever_contends() {
    let database = Database::ready().await;
    let contender = process(&database).await;
    let mut bell = listen(&contender, Topic::Resigned);
    let leases = PgLeases::new(&Config::at(database.url())).unwrap();
    let ttl = Duration::from_secs(15);
    let term = leases.acquire("office", "a", ttl).await.unwrap().unwrap();
    assert_eq!(leases.taken_until(), None, "it is ours");
    assert_eq!(leases.acquire("office", "b", ttl).await.unwrap(), None);
    let left = leases.taken_until().expect("another's").saturating_duration_since(Instant::now());
    assert!(left <= ttl && left > ttl / 2, "{left:?}");
    leases.resign("office", term).await.unwrap();
    heard(&mut bell).await;
}

#[tokio::test]
async fn a_burst_of_rings_is_a_few_messages_and_ones_own_are_not_heard_again() {
    let database = Database::ready().await;
    let (one, two) = (process(&database).await, process(&database).await);
    let mut there = listen(&two, Topic::Ready);
    let (before_here, before_there) = (*one.wakeups.listen(Topic::Ready).borrow(), *there.borrow());
    for _ in 0..1_000 {
        one.wakeups.ring(Topic::Ready);
        tokio::task::yield_now().await;
    }
    heard(&mut there).await;
    // Whatever is on its way has arrived when a later ring has.
    let mut last = listen(&two, Topic::Cancelled);
    one.wakeups.ring(Topic::Cancelled);
    heard(&mut last).await;
    let messages = *two.wakeups.listen(Topic::Ready).borrow() - before_there;
    assert!((1..=100).contains(&messages), "{messages} messages for a thousand rings");
    assert_eq!(*one.wakeups.listen(Topic::Ready).borrow() - before_here, 1_000, "its own rings, each once");
}

#[tokio::test]
async fn who_lost_its_connection_hears_every_bell_once_it_is_back() {
    let database = Database::ready().await;
    let (one, two) = (process(&database).await, process(&database).await);
    let work = Topic::ALL.into_iter().filter(|topic| topic.is_about_work());
    let mut bells: Vec<_> = work.map(|topic| listen(&two, topic)).collect();
    let client = database.client().await;
    let ended = client
        .execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
            &[],
        )
        .await
        .unwrap();
    assert!(ended >= 2, "the listeners were connected");
    for bell in &mut bells {
        heard(bell).await;
    }
    let mut there = listen(&two, Topic::Cancelled);
    // Sent on a connection that was lost, the first may be; the next is not.
    let rung = async {
        loop {
            one.wakeups.ring(Topic::Cancelled);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        () = heard(&mut there) => {}
        () = rung => {}
    }
}

/// While an upgrade is under way, some ring for what the others have never heard of.
#[tokio::test]
async fn a_bell_of_another_version_is_passed_by() {
    let database = Database::ready().await;
    let process = process(&database).await;
    let mut bells = Topic::ALL.map(|topic| listen(&process, topic));
    let client = database.client().await;
    for said in ["later tomorrow", "nonsense", "", "later ready now", "later waiting"] {
        client.batch_execute(&format!("NOTIFY foreman_foreman, '{said}'")).await.unwrap();
    }
    heard(&mut bells[1]).await;
    let rung = bells.each_ref().map(|bell| bell.has_changed().unwrap());
    assert_eq!(rung, [false; Topic::ALL.len()], "only the last of them is known");
}

#[tokio::test]
async fn what_is_rung_last_is_sent_before_the_process_ends() {
    let database = Database::ready().await;
    let (one, two) = (process(&database).await, process(&database).await);
    one.stop.drain();
    one.bell.await.unwrap();
    let mut there = listen(&two, Topic::Ready);
    let mut log = listen(&two, Topic::Changed);
    one.wakeups.ring(Topic::Ready);
    one.wakeups.ring(Topic::Changed);
    one.wakeups.flush().await;
    heard(&mut there).await;
    heard(&mut log).await;
}

/// The growth of the log is told one message after a job that fell due, and without another ring.
#[tokio::test]
async fn a_bell_that_is_put_off_is_heard_too() {
    let database = Database::ready().await;
    let (one, two) = (process(&database).await, process(&database).await);
    let (mut ready, mut log) = (listen(&two, Topic::Ready), listen(&two, Topic::Changed));
    // From the second round on most rings come in the pause after a message, and wake the sender once.
    for _ in 0..10 {
        one.wakeups.ring(Topic::Ready);
        one.wakeups.ring(Topic::Changed);
        heard(&mut ready).await;
        heard(&mut log).await;
    }
}

/// Stands between: takes what it is sent and answers nothing until it is told to carry, and again when it is told to stop.
async fn stand_between(carries: &watch::Sender<bool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let carries = carries.subscribe();
    drop(Tasks::new().spawn("between", async move {
        let (tasks, mut silent) = (Tasks::new(), Vec::new());
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            if !*carries.borrow() {
                silent.push(near);
                continue;
            }
            let mut stopped = carries.clone();
            drop(tasks.spawn("a connection between", async move {
                let mut far = TcpStream::connect(behind()).await.unwrap();
                let silence = async { stopped.wait_for(|carries| !carries).await.is_ok() };
                let is_silent = tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => false,
                    is_silent = silence => is_silent,
                };
                if is_silent {
                    std::future::pending::<()>().await;
                }
            }));
        }
    }));
    address
}

#[tokio::test]
async fn who_is_not_answered_asks_anew_on_another_connection() {
    let database = Database::ready().await;
    let carries = watch::Sender::new(false);
    let between = stand_between(&carries).await;
    let mut config = Config::at(database.url().replace(&behind(), &between));
    config.connect_timeout = Duration::from_millis(300);
    let (bell, wakeups) = PgWakeups::new(&config).unwrap();
    let stop = Stop::new();
    drop(Tasks::new().spawn("a bell", bell.run(stop.shutdown())));
    let mut there = wakeups.listen(Topic::Waiting);
    // The connection is taken, and nothing comes of it.
    tokio::time::sleep(Duration::from_millis(100)).await;
    carries.send_replace(true);
    heard(&mut there).await;
    // It listens; then what it listens on falls silent, without being closed.
    carries.send_replace(false);
    tokio::time::sleep(Duration::from_millis(100)).await;
    carries.send_replace(true);
    heard(&mut there).await;
    // What it rings is heard as well, though the connection it was sent on is as dead.
    let other = process(&database).await;
    let mut ready = listen(&other, Topic::Ready);
    let rung = async {
        loop {
            wakeups.ring(Topic::Ready);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        () = heard(&mut ready) => {}
        () = rung => {}
    }
    stop.drain();
}
