//! The same histories with a broker between the store and its workers: claims name what was announced, sent and delivered.
//!
//! The relay dies now and then before it can say that a batch was sent, and what was announced is announced again too early:
//! messages come twice, and name jobs that are held or final.

use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use tokio::time::timeout;

use super::{Mood, Play};
use crate::AnnounceSubject;
use crate::announce::up_to;
use foreman_core::id::JobId;
use foreman_core::lane::LanePlan;
use foreman_core::ports::{AnnounceStore, ClaimRequest, Feed, Offer, Publisher, WantedJobs};

/// Far more than a message takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// So many jobs are announced, and claimed, at once.
const AT_ONCE: usize = 4;

/// What stands between the store and its workers.
#[derive(Clone)]
pub struct Broker {
    pub publisher: Arc<dyn Publisher>,
    pub feed: Arc<dyn Feed>,
}

/// How jobs come to the workers of a history.
pub(super) struct Road {
    broker: Broker,
    store: Arc<dyn AnnounceStore>,
    /// Attempts that began with a delivery.
    attempts: usize,
}

/// Plays one history to its end. Answers how many attempts began with a delivery.
pub async fn history_over(broker: &Broker, subject: &dyn AnnounceSubject, mood: Mood, seed: u64) -> usize {
    let mut play = Play::new(subject, mood, seed);
    play.road = Some(Road { broker: broker.clone(), store: subject.announcing(), attempts: 0 });
    play.run(mood).await;
    play.road.map_or(0, |road| road.attempts)
}

impl Play<'_> {
    /// Announces what is due, and claims what arrives of it or of what was announced before.
    pub(super) async fn claim_delivered(&mut self, mut road: Road) -> Road {
        self.announce(&road).await;
        let feed = Arc::clone(&road.broker.feed);
        let actor = self.actor();
        let request = self.request(actor);
        let Offer::Ids(arrivals) = feed.offer(&LanePlan::strict(AT_ONCE), AT_ONCE) else { return road };
        let named: Vec<JobId> = arrivals.iter().map(|arrival| arrival.job).collect();
        let request = ClaimRequest { wanted: WantedJobs::ByIds(named), ..request };
        road.attempts += self.call(actor, &request, None).await.len();
        // Now and then the answer is lost, and the call is given up.
        let is_lost = self.rng.random_bool(0.1);
        if is_lost {
            self.actors[actor].given_up.push(request.token);
        }
        if is_lost || self.actors[actor].is_draining {
            feed.put_back(arrivals);
        } else {
            feed.settled(arrivals);
        }
        road
    }

    async fn announce(&mut self, road: &Road) {
        let Some(batch) = road.store.announce(&up_to(AT_ONCE)).await.expect("the store answers") else { return };
        let answers = road.broker.publisher.publish(&batch.jobs).await;
        assert!(answers.iter().all(Result::is_ok), "the broker is there: {answers:?}");
        self.trail.note(&format!("announced {}", batch.jobs.len()));
        if self.rng.random_bool(0.9) {
            road.store.acknowledge(batch.number, &[]).await.expect("the store answers");
        }
        if self.rng.random_bool(0.1) {
            road.store.reannounce(Duration::ZERO, Duration::ZERO).await.expect("the store answers");
        }
        timeout(PATIENCE, road.broker.feed.arrived()).await.expect("what was sent arrives");
    }
}
