//! From the end of a job to its receiver, all of it: courier, worker, runner and a real socket.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::limits::Limits;
use foreman_core::ports::{Begin, FollowerName, Followers, JobStore, Tenancy, WebhookStore};
use foreman_core::signing::{ID, SigningSecret};
use foreman_core::spec::{JobSpec, Validate as _};
use foreman_core::webhook::{Disabled, Event};
use foreman_core::{JobId, State};
use foreman_engine::courier::{self, Courier};
use foreman_engine::follower::Follower;
use foreman_engine::target::Targets;
use foreman_engine::worker::{self, Worker};
use foreman_runtime::{Stop, Tasks};
use serde_json::{Value, json};

use crate::given::until;
use crate::sealing::{House, now, us, verify};
use crate::server::{Seen, Server};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
const GONE: &[u8] = b"HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n";

struct Life {
    house: House,
    stop: Stop,
    tasks: Tasks,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.stop.abort();
    }
}

impl Life {
    async fn begin() -> Self {
        let (house, stop, tasks) = (House::new(), Stop::new(), Tasks::new());
        let store = Arc::new(house.store.clone());
        store.follow(None, &FollowerName::COURIER, Begin::End).await.unwrap();
        let tenancy: Arc<dyn Tenancy> = Arc::clone(&store) as _;
        let config = courier::Config::default();
        let courier = Courier::new(Arc::clone(&store) as _, tenancy, config);
        let courier = Follower::new(courier, Arc::clone(&store) as _, Arc::clone(&house.wakeups));
        let targets = Targets::default().with(Arc::new(house.http())).with(Arc::new(house.webhooks()));
        let config = worker::Config::default();
        let worker = Worker::new(store, Arc::clone(&house.wakeups), targets, tasks.clone(), config);
        drop(tasks.spawn("courier", courier.run(stop.shutdown())));
        drop(tasks.spawn("worker", worker.run(stop.shutdown())));
        Self { house, stop, tasks }
    }

    async fn submit(&self, spec: Value) -> JobId {
        let spec: JobSpec = serde_json::from_value(spec).unwrap();
        let job = spec.validate(&us(), &Limits::default(), now()).unwrap();
        self.house.store.submit(std::slice::from_ref(&job)).await.unwrap();
        job.id
    }
}

fn ids(seen: &Seen) -> Vec<String> {
    seen.received.lock().unwrap().iter().map(|received| received.header(ID).unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_end_of_a_job_arrives_at_its_receiver_and_can_be_sent_again_under_the_same_name() {
    let life = Life::begin().await;
    let (target, receiver) = (Server::answering(OK).await, Server::answering(OK).await);
    let secret = SigningSecret::fresh();
    let hook = life.house.endpoint(&receiver.url(), &secret).await;
    let job = life.submit(json!({"url": target.url()})).await;
    until("it has arrived", || receiver.seen.requests() == 1).await;
    let received = receiver.seen.last();
    assert_eq!(verify(&received, &[&secret]), Ok(()));
    let message: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!((&message["type"], &message["data"]["job"]["id"]), (&json!("job.completed"), &json!(job)));
    assert_eq!(message["data"]["outcome"]["attempt"]["response"]["status"], 200);

    let listed = life.house.store.deliveries(&us(), hook.id, None, 10).await.unwrap();
    assert_eq!((listed.len(), listed[0].event, listed[0].about), (1, Event::JobCompleted, Some(job)));
    let delivery = listed[0].job;
    until_final(&life, delivery, State::Completed).await;
    life.house.store.redrive(&us(), &[delivery]).await.unwrap();
    until("it has arrived again", || receiver.seen.requests() == 2).await;
    assert_eq!(ids(&receiver.seen), [&*format!("msg_{}", delivery.0.simple()); 2]);
    assert_eq!(receiver.seen.last().body, received.body, "to the letter");
    assert_eq!(verify(&receiver.seen.last(), &[&secret]), Ok(()));
}

async fn until_final(life: &Life, job: JobId, state: State) {
    use foreman_core::ports::JobQuery;
    for _ in 0..3_000 {
        if life.house.store.get(&us(), job).await.unwrap().unwrap().state == state {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{job} never was {state}");
}

#[tokio::test]
async fn a_receiver_that_says_it_is_gone_is_disabled_and_another_is_told() {
    let life = Life::begin().await;
    let (target, gone, watcher) =
        (Server::answering(OK).await, Server::answering(GONE).await, Server::answering(OK).await);
    let secret = SigningSecret::fresh();
    let hook = life.house.endpoint_for(&gone.url(), &secret, &["job.*"]).await;
    life.house.endpoint_for(&watcher.url(), &secret, &["webhook.disabled"]).await;
    life.submit(json!({"url": target.url()})).await;
    until("the other has been told", || watcher.seen.requests() == 1).await;
    let message: Value = serde_json::from_slice(&watcher.seen.last().body).unwrap();
    assert_eq!((&message["type"], &message["data"]["webhook"]), (&json!("webhook.disabled"), &json!(hook.id)));
    let now = life.house.store.webhook(&us(), hook.id).await.unwrap().unwrap();
    assert_eq!((now.settings.disabled, gone.seen.requests()), (Some(Disabled::Gone), 1));
    life.stop.drain();
    life.tasks.wait(Duration::from_secs(30)).await.unwrap();
}
