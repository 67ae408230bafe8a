//! What a feed of due jobs promises to the dispatcher, however it learns of them; and what one promises that takes them from a broker.
//!
//! [`transport_suite!`](crate::transport_suite) stamps the first part onto any feed, [`broker_suite!`](crate::broker_suite) both parts onto a
//! publisher with the feeds of its workers. Waits are for a level; only where nothing may happen, time passes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, timeout};

use foreman_core::job::QueueName;
use foreman_core::lane::{LanePlan, Pick};
use foreman_core::ports::{Announcement, Arrival, Feed, Offer, Publisher};
use foreman_core::target::Route;
use foreman_core::{JobId, Lane, TenantId};

/// Generous: whatever happens at all happens much sooner.
const PATIENCE: Duration = Duration::from_mins(1);

/// So long nothing may come where nothing is to come.
const SILENCE: Duration = Duration::from_millis(500);

/// A way on which workers learn of due jobs.
#[async_trait]
pub trait TransportSubject: Send + Sync {
    /// These are due, and their workers are to know it.
    async fn announce(&self, jobs: &[Announcement]);

    /// A worker that starts, with a feed of its own.
    async fn worker(&self) -> Box<dyn TransportWorker>;
}

#[async_trait]
pub trait TransportWorker: Send + Sync {
    fn feed(&self) -> &dyn Feed;

    /// It stops in good order.
    async fn stop(self: Box<Self>);
}

/// A way that leads through a broker.
pub trait BrokerSubject: TransportSubject {
    fn publisher(&self) -> Arc<dyn Publisher>;
}

/// That it is due, and nothing else of note.
pub fn a_job(lane: Lane) -> Announcement {
    Announcement {
        job: JobId::fresh(),
        attempt: 0,
        lane,
        tenant: TenantId::default(),
        queue: QueueName::default(),
        route: Route::http(),
        correlation_id: None,
    }
}

fn some_jobs(count: usize) -> Vec<Announcement> {
    Lane::ALL.into_iter().cycle().take(count).map(a_job).collect()
}

fn ids(jobs: &[Announcement]) -> BTreeSet<JobId> {
    jobs.iter().map(|job| job.job).collect()
}

fn ids_of(arrivals: &[Arrival]) -> BTreeSet<JobId> {
    arrivals.iter().map(|arrival| arrival.job).collect()
}

async fn arrived(feed: &dyn Feed) {
    timeout(PATIENCE, feed.arrived()).await.expect("nothing arrived");
}

/// Ids, if there are any.
fn offered(feed: &dyn Feed, plan: &LanePlan, limit: usize) -> Vec<Arrival> {
    match feed.offer(plan, limit) {
        Offer::Ids(arrivals) => arrivals,
        Offer::Nothing => Vec::new(),
        Offer::ByOrder => panic!("a broker knows which jobs it carries"),
    }
}

/// Takes until it has so many.
async fn take(feed: &dyn Feed, count: usize) -> Vec<Arrival> {
    let mut taken = Vec::new();
    let until = Instant::now() + PATIENCE;
    while taken.len() < count {
        assert!(Instant::now() < until, "{} of {count} arrived", taken.len());
        if timeout(Duration::from_secs(1), feed.arrived()).await.is_ok() {
            taken.extend(offered(feed, &LanePlan::strict(count), count - taken.len()));
        }
    }
    taken
}

/// Takes whatever comes until nothing comes any more.
async fn take_the_rest(feed: &dyn Feed) -> Vec<Arrival> {
    let mut taken = Vec::new();
    while timeout(SILENCE, feed.arrived()).await.is_ok() {
        taken.extend(offered(feed, &LanePlan::strict(1_000), 1_000));
    }
    taken
}

// --- any feed

/// However the worker learns of it, it has a reason to look then.
pub async fn who_waits_is_woken_by_what_falls_due(subject: &dyn TransportSubject) {
    let worker = subject.worker().await;
    worker.feed().offer(&LanePlan::strict(10), 10);
    let jobs = some_jobs(1);
    tokio::join!(subject.announce(&jobs), arrived(worker.feed()));
    assert_ne!(worker.feed().offer(&LanePlan::strict(10), 10), Offer::Nothing);
    worker.stop().await;
}

pub async fn what_falls_due_before_the_wait_is_heard_too(subject: &dyn TransportSubject) {
    let worker = subject.worker().await;
    for _ in 0..5 {
        worker.feed().offer(&LanePlan::strict(10), 10);
        subject.announce(&some_jobs(1)).await;
        arrived(worker.feed()).await;
    }
    worker.stop().await;
}

pub async fn a_wait_can_be_given_up_and_begun_again(subject: &dyn TransportSubject) {
    let worker = subject.worker().await;
    worker.feed().offer(&LanePlan::strict(10), 10);
    for _ in 0..10 {
        let _ = timeout(Duration::from_millis(5), worker.feed().arrived()).await;
    }
    subject.announce(&some_jobs(1)).await;
    arrived(worker.feed()).await;
    assert_ne!(worker.feed().offer(&LanePlan::strict(10), 10), Offer::Nothing);
    worker.stop().await;
}

// --- a broker

pub async fn every_message_has_its_answer(subject: &dyn BrokerSubject) {
    let jobs = some_jobs(150);
    let publisher = subject.publisher();
    let (one, other) = tokio::join!(publisher.publish(&jobs[..100]), publisher.publish(&jobs[100..]));
    assert_eq!((one.len(), other.len()), (100, 50));
    assert!(one.iter().chain(&other).all(Result::is_ok), "{one:?} {other:?}");
    assert!(publisher.publish(&[]).await.is_empty());
}

pub async fn what_was_announced_is_offered_as_it_was_announced(subject: &dyn BrokerSubject) {
    let worker = subject.worker().await;
    let mut jobs = some_jobs(100);
    for (place, job) in jobs.iter_mut().enumerate() {
        job.attempt = place as u32 % 3;
        job.tenant = TenantId::new(format!("tenant-{}", place % 5));
    }
    subject.announce(&jobs).await;
    let taken = take(worker.feed(), jobs.len()).await;
    let seen: BTreeMap<JobId, (u32, Lane, TenantId)> =
        taken.into_iter().map(|it| (it.job, (it.attempt, it.lane, it.tenant))).collect();
    let said = jobs.into_iter().map(|it| (it.job, (it.attempt, it.lane, it.tenant))).collect();
    assert_eq!(seen, said);
    worker.stop().await;
}

pub async fn what_was_offered_is_not_offered_again_by_itself(subject: &dyn BrokerSubject) {
    let worker = subject.worker().await;
    let jobs = some_jobs(60);
    subject.announce(&jobs).await;
    let taken = take(worker.feed(), jobs.len()).await;
    assert_eq!(ids_of(&taken), ids(&jobs));
    assert_eq!(take_the_rest(worker.feed()).await, []);
    worker.feed().settled(taken);
    assert_eq!(take_the_rest(worker.feed()).await, []);
    worker.stop().await;
}

pub async fn what_is_put_back_is_offered_again(subject: &dyn BrokerSubject) {
    let worker = subject.worker().await;
    let jobs = some_jobs(30);
    subject.announce(&jobs).await;
    let mut taken = take(worker.feed(), jobs.len()).await;
    let back = taken.split_off(10);
    worker.feed().settled(taken);
    worker.feed().put_back(back.clone());
    arrived(worker.feed()).await;
    assert_eq!(ids_of(&take(worker.feed(), back.len()).await), ids_of(&back));
    worker.stop().await;
}

pub async fn no_offer_is_longer_than_was_asked_for(subject: &dyn BrokerSubject) {
    let worker = subject.worker().await;
    let jobs = some_jobs(30);
    subject.announce(&jobs).await;
    worker.feed().put_back(take(worker.feed(), jobs.len()).await);
    assert_eq!(worker.feed().offer(&LanePlan::strict(30), 0), Offer::Nothing);
    for limit in [1, 7, 3] {
        assert_eq!(offered(worker.feed(), &LanePlan::strict(30), limit).len(), limit);
    }
    worker.stop().await;
}

/// Also where they come by the topic of retries: the lane is in the message.
pub async fn lanes_are_offered_by_the_plan(subject: &dyn BrokerSubject) {
    let worker = subject.worker().await;
    let mut jobs = some_jobs(30);
    jobs.iter_mut().step_by(2).for_each(|job| job.attempt = 4);
    subject.announce(&jobs).await;
    worker.feed().put_back(take(worker.feed(), jobs.len()).await);
    let pick = |lane, up_to| Pick { lane, up_to };
    let plan = LanePlan(vec![pick(Lane::Low, 2), pick(Lane::High, 30), pick(Lane::Normal, 4), pick(Lane::Low, 30)]);
    let lanes: Vec<Lane> = offered(worker.feed(), &plan, 20).iter().map(|arrival| arrival.lane).collect();
    let mut expected = vec![Lane::Low; 2];
    expected.extend([Lane::High; 10]);
    expected.extend([Lane::Normal; 4]);
    expected.extend([Lane::Low; 4]);
    assert_eq!(lanes, expected);
    worker.stop().await;
}

pub async fn a_job_that_is_announced_twice_is_in_no_offer_twice(subject: &dyn BrokerSubject) {
    let worker = subject.worker().await;
    let jobs = some_jobs(20);
    for _ in 0..3 {
        subject.announce(&jobs).await;
    }
    let mut left = ids(&jobs);
    let until = Instant::now() + PATIENCE;
    while !left.is_empty() || timeout(SILENCE, worker.feed().arrived()).await.is_ok() {
        assert!(Instant::now() < until, "{} jobs are missing", left.len());
        let now = offered(worker.feed(), &LanePlan::strict(1_000), 1_000);
        assert_eq!(ids_of(&now).len(), now.len(), "{now:?}");
        for arrival in &now {
            left.remove(&arrival.job);
        }
        worker.feed().settled(now);
        let _ = timeout(Duration::from_millis(100), worker.feed().arrived()).await;
    }
    worker.stop().await;
    // None of its messages was forgotten.
    let next = subject.worker().await;
    let more = some_jobs(3);
    subject.announce(&more).await;
    assert_eq!(ids_of(&take(next.feed(), 3).await), ids(&more));
    next.stop().await;
}

pub async fn what_was_not_settled_is_delivered_to_the_next_worker(subject: &dyn BrokerSubject) {
    let worker = subject.worker().await;
    let jobs = some_jobs(60);
    subject.announce(&jobs).await;
    let taken = take(worker.feed(), jobs.len()).await;
    assert_eq!(ids_of(&taken), ids(&jobs));
    worker.stop().await;
    let next = subject.worker().await;
    assert_eq!(ids_of(&take(next.feed(), jobs.len()).await), ids(&jobs));
    next.stop().await;
}

pub async fn what_was_settled_is_not_delivered_again(subject: &dyn BrokerSubject) {
    let worker = subject.worker().await;
    let jobs = some_jobs(60);
    subject.announce(&jobs).await;
    let taken = take(worker.feed(), jobs.len()).await;
    worker.feed().settled(taken);
    worker.stop().await;
    let next = subject.worker().await;
    let more = some_jobs(6);
    subject.announce(&more).await;
    assert_eq!(ids_of(&take(next.feed(), more.len()).await), ids(&more));
    assert_eq!(take_the_rest(next.feed()).await, []);
    next.stop().await;
}

/// A worker that is gone cannot say anything any more; one that says it too late says nothing.
pub async fn a_late_word_about_what_others_have_is_ignored(subject: &dyn BrokerSubject) {
    let worker = subject.worker().await;
    let jobs = some_jobs(9);
    subject.announce(&jobs).await;
    let taken = take(worker.feed(), jobs.len()).await;
    worker.feed().settled(taken.clone());
    worker.feed().settled(taken.clone());
    worker.feed().put_back(taken);
    assert_eq!(take_the_rest(worker.feed()).await, [], "settled is settled");
    worker.stop().await;
}

/// Stamps what any feed promises: `transport_suite!(make_subject)`, with an `async fn() -> impl TransportSubject`.
#[macro_export]
macro_rules! transport_suite {
    ($make:ident) => {
        mod any_feed {
            use super::$make as make_subject;
            $crate::for_every_feed_promise!($crate::stamp_transport);
        }
    };
}

/// Stamps what a publisher and the feeds of its workers promise, the promises of any feed among it. The subject is a `BrokerSubject`.
#[macro_export]
macro_rules! broker_suite {
    ($make:ident) => {
        $crate::transport_suite!($make);
        mod broker {
            use super::$make as make_subject;
            $crate::for_every_broker_promise!($crate::stamp_transport);
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! stamp_transport {
    ($($file:ident { $($promise:ident,)+ })+) => {
        $($(#[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $promise() {
            let subject = make_subject().await;
            $crate::$file::$promise(&subject).await;
        })+)+
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! for_every_feed_promise {
    ($($callback:tt)+) => {
        $($callback)+! {
            transport {
                who_waits_is_woken_by_what_falls_due,
                what_falls_due_before_the_wait_is_heard_too,
                a_wait_can_be_given_up_and_begun_again,
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! for_every_broker_promise {
    ($($callback:tt)+) => {
        $($callback)+! {
            transport {
                every_message_has_its_answer,
                what_was_announced_is_offered_as_it_was_announced,
                what_was_offered_is_not_offered_again_by_itself,
                what_is_put_back_is_offered_again,
                no_offer_is_longer_than_was_asked_for,
                lanes_are_offered_by_the_plan,
                a_job_that_is_announced_twice_is_in_no_offer_twice,
                what_was_not_settled_is_delivered_to_the_next_worker,
                what_was_settled_is_not_delivered_again,
                a_late_word_about_what_others_have_is_ignored,
            }
        }
    };
}
