//! The door: what a process needs of Kafka, made from one set of settings.

use std::sync::Arc;

use foreman_runtime::Tasks;

use crate::config::Config;
use crate::error::Error;
use crate::feed::KafkaFeed;
use crate::health::Health;
use crate::keeper::TopicKeeper;
use crate::parking::Parking;
use crate::publisher::KafkaPublisher;
use crate::topics::Topics;

/// Made once for each process. Making it asks no broker: a process starts while Kafka is away, and [`Health`] says so.
pub struct Kafka {
    config: Arc<Config>,
    health: Arc<Health>,
    topics: Arc<Topics>,
    tasks: Tasks,
}

impl Kafka {
    pub fn new(config: Config, tasks: Tasks) -> Result<Self, Error> {
        config.check()?;
        let (config, health) = (Arc::new(config), Arc::new(Health::default()));
        let topics = Arc::new(Topics::new(Arc::clone(&config), Arc::clone(&health), tasks.clone())?);
        Ok(Self { config, health, topics, tasks })
    }

    /// How it is, as far as the others here have noticed. Without a [`Kafka::keeper`] that runs, nobody looks at the topics.
    pub fn health(&self) -> Arc<Health> {
        Arc::clone(&self.health)
    }

    pub fn topics(&self) -> Arc<Topics> {
        Arc::clone(&self.topics)
    }

    /// The loop that creates topics and looks at them.
    pub fn keeper(&self) -> TopicKeeper {
        TopicKeeper::new(self.topics(), self.health(), self.config.check_every)
    }

    pub fn publisher(&self) -> Result<KafkaPublisher, Error> {
        KafkaPublisher::new(Arc::clone(&self.config), self.health())
    }

    /// Joins the consumer groups, in the background.
    pub fn feed(&self, parking: Arc<dyn Parking>) -> Result<KafkaFeed, Error> {
        KafkaFeed::start(&self.config, &self.health, parking, &self.tasks)
    }
}
