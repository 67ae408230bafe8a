//! Whoever watches misses nothing final, whatever happens to the processes and to the database.

use std::time::Duration;

use foreman_client::{Client, Event, Follow, State};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::stage::{
    Allowed, Answer, Checker, Cluster, Database, Fault, Fleet, LONG, Load, Mix, Pace, Plan, Process, Role, Target,
    Watcher, beside, call, torture,
};

const TEAM: Plan = Plan { api: 2, worker: 2, scheduler: 1 };

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_open_while_the_database_is_away_misses_no_final_state() {
    let _turn = beside().await;
    let outages = if torture() { 8 } else { 2 };
    let cluster = Cluster::start(&[]).await;
    let (database, target) = (Database::on(&cluster).await, Target::start().await);
    let mut fleet = Fleet::start(&database, TEAM, Pace::Defaults).await;
    let addresses = fleet.addresses();
    let mut crowd = Watcher::crowd(4, &addresses[..1]).await;
    crowd.extend(Watcher::crowd(4, &addresses).await);
    let load = Load::start(&addresses, &target, 4, Duration::from_millis(30), Mix::Mixed);
    for _ in 0..outages {
        load.goes_on(40).await;
        cluster.crash().await;
        fleet.faults.count(Fault::DatabaseCrashed);
        sleep(Duration::from_secs(1)).await;
        cluster.start_again().await;
    }
    load.goes_on(40).await;
    let tally = load.stop().await;
    fleet.assert_alive();
    fleet.faults.assert_at_least(&[(Fault::DatabaseCrashed, outages)]);
    let checker = Checker { fleet: &fleet, database: &database, target: &target };
    let jobs = checker.check(&tally, Allowed::NoCrashes).await;
    for watcher in &crowd {
        watcher.assert_saw(&jobs).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_that_is_killed_leaves_its_watchers_to_another_and_they_miss_nothing() {
    let _turn = beside().await;
    let kills = if torture() { 10 } else { 2 };
    let (database, target) = (Database::fresh().await, Target::start().await);
    let mut fleet = Fleet::start(&database, TEAM, Pace::Defaults).await;
    let addresses = fleet.addresses();
    let [first, second] = [addresses[0].clone(), addresses[1].clone()];
    let settled = Watcher::crowd(20, std::slice::from_ref(&second)).await;
    // They begin at the one that dies, and come to the other with the cursors that it gave them.
    let movers = Watcher::crowd(20, &[first, second]).await;
    let load = Load::start(&addresses, &target, 4, Duration::from_millis(30), Mix::Mixed);
    let place = fleet.places(Role::Api)[0];
    for _ in 0..kills {
        load.goes_on(40).await;
        fleet.processes[place].kill_nine().await;
        fleet.faults.count(Fault::Killed(Role::Api));
        load.goes_on(20).await;
        fleet.processes[place].spawn();
        fleet.processes[place].ready().await;
    }
    load.goes_on(20).await;
    let tally = load.stop().await;
    let checker = Checker { fleet: &fleet, database: &database, target: &target };
    let jobs = checker.check(&tally, Allowed::NoCrashes).await;
    for watcher in settled.iter().chain(&movers) {
        watcher.assert_saw(&jobs).await;
    }
    assert!(movers.iter().all(|watcher| watcher.seen().breaks > 0), "each of them was cut off");
    assert!(settled.iter().all(|watcher| watcher.seen().breaks == 0), "and none of the others");
}

#[tokio::test(flavor = "multi_thread")]
async fn watchers_go_through_a_rolling_restart_of_every_process_and_miss_nothing() {
    let _turn = beside().await;
    let (database, target) = (Database::fresh().await, Target::start().await);
    let mut fleet = Fleet::start(&database, TEAM, Pace::Defaults).await;
    let addresses = fleet.addresses();
    let mut crowd = Watcher::crowd(5, &addresses[..1]).await;
    crowd.extend(Watcher::crowd(5, &addresses[1..]).await);
    crowd.extend(Watcher::crowd(5, &addresses).await);
    let load = Load::start(&addresses, &target, 4, Duration::from_millis(30), Mix::Mixed);
    for place in 0..fleet.processes.len() {
        load.goes_on(20).await;
        let role = fleet.processes[place].role;
        assert_eq!(fleet.processes[place].stop().await, Some(0), "an open stream holds up no stop");
        fleet.faults.count(Fault::Stopped(role));
        fleet.processes[place].spawn();
        fleet.processes[place].ready().await;
    }
    load.goes_on(20).await;
    let tally = load.stop().await;
    fleet.faults.assert_at_least(&[(Fault::Stopped(Role::Api), 2), (Fault::Stopped(Role::Worker), 2)]);
    let checker = Checker { fleet: &fleet, database: &database, target: &target };
    let jobs = checker.check(&tally, Allowed::NoCrashes).await;
    for watcher in &crowd {
        watcher.assert_saw(&jobs).await;
        assert!(watcher.seen().breaks > 0, "its server was stopped");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_api_accepts_and_a_worker_runs_is_told_by_the_other_with_every_step() {
    let _turn = beside().await;
    let (database, target) = (Database::fresh().await, Target::start().await);
    let fleet = Fleet::start(&database, TEAM, Pace::Defaults).await;
    let addresses = fleet.addresses();
    let [here, there] = [0, 1].map(|place: usize| Client::new(&format!("http://{}", addresses[place]), None).unwrap());
    let mut stream = there.stream(Follow::everything()).await.unwrap();
    // It is known from where on it is told.
    stream.next_event().await.unwrap();
    let job = here.submit(&call(&target.url(Answer::Ok))).await.unwrap();
    let mut steps = Vec::new();
    timeout(LONG, async {
        while steps.last().is_none_or(|(_, state): &(u32, State)| !state.is_final()) {
            let told = stream.next_event().await.unwrap();
            if let Event::Job(event) = told.event
                && event.id == job.id
            {
                steps.push((event.sequence, event.state));
            }
        }
    })
    .await
    .expect("in time");
    assert_eq!(steps, [(1, State::Pending), (2, State::Running), (3, State::Completed)]);

    let dead = here.submit(&call(&target.url(Answer::Slow(200)))).await.unwrap();
    let ended = timeout(LONG, there.wait_for(&[dead.id], None)).await.expect("in time").unwrap();
    assert_eq!(ended[0].state, State::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_comings_and_goings_of_workers_and_queues_are_told_at_every_api() {
    let _turn = beside().await;
    let database = Database::fresh().await;
    let mut fleet = Fleet::start(&database, Plan { api: 2, worker: 1, scheduler: 1 }, Pace::Quick).await;
    let addresses = fleet.addresses();
    let [here, there] = [0, 1].map(|place: usize| Client::new(&format!("http://{}", addresses[place]), None).unwrap());
    let mut stream = there.stream(Follow::everything()).await.unwrap();
    stream.next_event().await.unwrap();
    here.pause("mail").await.unwrap();
    let worker = fleet.places(Role::Worker)[0];
    fleet.processes[worker].kill_nine().await;
    let mut told = Vec::new();
    timeout(LONG, async {
        while told.len() < 2 {
            match stream.next_event().await.unwrap().event {
                Event::Queue(queue) => told.push(format!("{} {}", queue.name, queue.paused)),
                Event::Worker(worker) if !worker.state.is_alive() => {
                    told.push(format!("{} {}", worker.worker, worker.state.as_str()));
                }
                _ => {}
            }
        }
    })
    .await
    .expect("in time");
    assert_eq!(told, ["mail true", "worker-1 dead"]);
}

/// The head of the answer to a request, and what came with it.
async fn head(address: &str, target: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    let mut piece = [0; 4096];
    timeout(LONG, async {
        while !text.contains("\r\n\r\n") {
            let read = stream.read(&mut piece).await.unwrap();
            assert!(read > 0, "it ended within its head: {text}");
            text.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
    })
    .await
    .expect("in time");
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_of_one_api_opens_one_stream_at_another() {
    const KEY: &str = "a-key-for-tickets-0123456789abcdef";
    let _turn = beside().await;
    let database = Database::fresh().await;
    let mut fleet = Fleet::new(&database, Pace::Defaults, &[("FOREMAN_ADMIN_KEY", KEY)]);
    fleet.start_plan(Plan { api: 2, worker: 0, scheduler: 0 }, &[]).await;
    let addresses = fleet.addresses();
    let client = Client::new(&format!("http://{}", addresses[0]), Some(KEY)).unwrap();
    let ticket = client.stream_ticket().await.unwrap().ticket;
    assert!(head(&addresses[1], "/api/v1/stream").await.starts_with("HTTP/1.1 401"), "nobody without one");
    let target = format!("/api/v1/stream?ticket={ticket}");
    let opened = head(&addresses[1], &target).await;
    assert!(opened.starts_with("HTTP/1.1 200") && opened.contains("text/event-stream"), "{opened}");
    for address in &addresses {
        let again = head(address, &target).await;
        assert!(again.starts_with("HTTP/1.1 401"), "once: {again}");
    }
    let logs: String = fleet.processes.iter().map(Process::log).collect();
    assert!(!logs.contains(&ticket), "a ticket is in a log");
}
