//! The promises of the transport port, on a real broker.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foreman_conformance::transport::{BrokerSubject, TransportSubject, TransportWorker};
use foreman_core::ports::{Announcement, Feed, Publisher};
use foreman_kafka::KafkaFeed;

use crate::broker::shared;
use crate::stage::{Drawer, Site, config, publish};

struct OnKafka {
    site: Site,
    publisher: Arc<dyn Publisher>,
}

struct KafkaWorker(KafkaFeed);

async fn on_kafka() -> OnKafka {
    let site = Site::of(config(&shared(), 3)).await;
    let publisher = Arc::new(site.publisher());
    OnKafka { site, publisher }
}

#[async_trait]
impl TransportSubject for OnKafka {
    async fn announce(&self, jobs: &[Announcement]) {
        publish(&*self.publisher, jobs).await;
    }

    async fn worker(&self) -> Box<dyn TransportWorker> {
        Box::new(KafkaWorker(self.site.feed(&Arc::<Drawer>::default())))
    }
}

impl BrokerSubject for OnKafka {
    fn publisher(&self) -> Arc<dyn Publisher> {
        Arc::clone(&self.publisher)
    }
}

#[async_trait]
impl TransportWorker for KafkaWorker {
    fn feed(&self) -> &dyn Feed {
        &self.0
    }

    async fn stop(self: Box<Self>) {
        self.0.close(Duration::from_secs(30)).await;
    }
}

foreman_conformance::broker_suite!(on_kafka);
