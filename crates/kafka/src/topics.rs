//! The topics: what they are called, that they are there, and that they are as the settings say.
//!
//! Missing ones are created. What exists is never changed: a topic with too few partitions or replicas is an error that says what to
//! do, and nothing is ready until it is done. Two processes that create the same topic at once do no harm: the second finds it.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::Announcement;
use foreman_core::{JobId, Lane};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use foreman_runtime::Tasks;
use tokio::time::{Instant, sleep};

use crate::client::{ClientEvents, millis, settings};
use crate::config::Config;
use crate::error::Error;
use crate::health::Health;

/// The topics, in the order in which workers ask for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TopicKind {
    High,
    Normal,
    Low,
    /// Jobs of every lane that have been tried before.
    Retry,
}

impl TopicKind {
    pub const ALL: [Self; 4] = [Self::High, Self::Normal, Self::Low, Self::Retry];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
            Self::Retry => "retry",
        }
    }

    pub(crate) fn of(announcement: &Announcement) -> Self {
        match (announcement.attempt, announcement.lane) {
            (0, Lane::High) => Self::High,
            (0, Lane::Normal) => Self::Normal,
            (0, Lane::Low) => Self::Low,
            _ => Self::Retry,
        }
    }

    pub(crate) fn place(self) -> usize {
        self as usize
    }
}

impl Config {
    pub fn topic(&self, kind: TopicKind) -> String {
        format!("{}.{}", self.topic_prefix, kind.as_str())
    }

    /// The consumer group of a topic. Each topic has its own, so that one that is slow to join holds up no other.
    pub fn group_of(&self, kind: TopicKind) -> String {
        format!("{}.{}", self.group, kind.as_str())
    }
}

/// The key of a message: any tool shows which job it is about.
pub(crate) fn key(job: JobId) -> String {
    job.to_string()
}

/// Creates and checks the topics.
pub struct Topics {
    pub(crate) config: Arc<Config>,
    admin: Arc<AdminClient<ClientEvents>>,
    pub(crate) tasks: Tasks,
}

/// What the brokers say of a topic.
pub(crate) struct Description {
    pub partitions: i32,
    /// The fewest of any partition.
    replicas: i32,
}

impl Topics {
    pub(crate) fn new(config: Arc<Config>, health: Arc<Health>, tasks: Tasks) -> Result<Self, Error> {
        let settings: ClientConfig = settings(&config);
        let admin: AdminClient<ClientEvents> =
            rdkafka::config::FromClientConfigAndContext::from_config_and_context(&settings, ClientEvents { health })
                .map_err(|error: KafkaError| Error::Client(error.to_string()))?;
        Ok(Self { config, admin: Arc::new(admin), tasks })
    }

    pub(crate) fn health(&self) -> Arc<Health> {
        Arc::clone(&self.admin.inner().context().health)
    }

    /// Creates what is missing, then checks all of it.
    pub async fn ensure(&self) -> Result<(), Error> {
        let missing = self.missing().await?;
        if !missing.is_empty() {
            self.create(&missing).await?;
        }
        self.check().await
    }

    /// Checks all of it and creates nothing.
    pub async fn check(&self) -> Result<(), Error> {
        let give_up = Instant::now() + self.config.request_timeout;
        for kind in TopicKind::ALL {
            let name = self.config.topic(kind);
            // A broker may not have heard yet of what another one has just created.
            let found = loop {
                match self.describe(&name).await? {
                    None if Instant::now() < give_up => sleep(Duration::from_millis(50)).await,
                    found => break found,
                }
            };
            let Some(found) = found else { return Err(Error::Topics(self.says_missing(&name, "it does not exist"))) };
            self.judge(&name, &found)?;
        }
        self.check_settings().await
    }

    async fn missing(&self) -> Result<Vec<String>, Error> {
        let mut missing = Vec::new();
        for kind in TopicKind::ALL {
            let name = self.config.topic(kind);
            if self.describe(&name).await?.is_none() {
                missing.push(name);
            }
        }
        Ok(missing)
    }

    async fn create(&self, names: &[String]) -> Result<(), Error> {
        let retention = millis(self.config.retention);
        // Below zero: as the brokers are set.
        let replication = self.config.replication.unwrap_or(-1);
        let topics: Vec<NewTopic<'_>> = names
            .iter()
            .map(|name| {
                NewTopic::new(name, self.config.partitions, TopicReplication::Fixed(replication))
                    .set("retention.ms", &retention)
                    .set("cleanup.policy", "delete")
            })
            .collect();
        let answers = self.admin.create_topics(&topics, &self.options()).await;
        for answer in answers.map_err(|error| unreachable_by(&error))? {
            match answer {
                Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
                Err((name, code)) => {
                    return Err(Error::Topics(self.says_missing(&name, &format!("it cannot be created: {code}"))));
                }
            }
        }
        Ok(())
    }

    /// `None`: there is no such topic.
    pub(crate) async fn describe(&self, name: &str) -> Result<Option<Description>, Error> {
        let (admin, timeout, topic) = (Arc::clone(&self.admin), self.config.request_timeout, name.to_owned());
        let asked =
            self.tasks.spawn_blocking("kafka metadata", move || admin.inner().fetch_metadata(Some(&topic), timeout));
        let metadata =
            asked.await.map_err(|error| Error::Client(error.to_string()))?.map_err(|error| unreachable_by(&error))?;
        let Some(topic) = metadata.topics().iter().find(|topic| topic.name() == name) else { return Ok(None) };
        match topic.error().map(RDKafkaErrorCode::from) {
            None if topic.partitions().is_empty() => Ok(None),
            None => {
                let replicas = topic.partitions().iter().map(|partition| partition.replicas().len()).min().unwrap_or(0);
                Ok(Some(Description { partitions: topic.partitions().len() as i32, replicas: replicas as i32 }))
            }
            Some(
                RDKafkaErrorCode::UnknownTopicOrPartition
                | RDKafkaErrorCode::UnknownTopic
                | RDKafkaErrorCode::UnknownPartition,
            ) => Ok(None),
            Some(RDKafkaErrorCode::LeaderNotAvailable) => Ok(None),
            Some(RDKafkaErrorCode::TopicAuthorizationFailed) => Err(Error::Topics(format!(
                "the brokers do not let this client see topic {name}: give it READ, WRITE and DESCRIBE on it"
            ))),
            Some(code) => Err(Error::Topics(format!("topic {name} cannot be used: {code}"))),
        }
    }

    fn judge(&self, name: &str, found: &Description) -> Result<(), Error> {
        let wanted = self.config.partitions;
        if found.partitions < wanted {
            return Err(Error::Topics(format!(
                "topic {name} has {} partitions and should have {wanted}: run `kafka-topics.sh --alter --topic {name} --partitions {wanted}`, \
                 or set the number of partitions to {}",
                found.partitions, found.partitions
            )));
        }
        match self.config.replication {
            Some(wanted) if found.replicas < wanted => Err(Error::Topics(format!(
                "topic {name} has replication {} and should have {wanted}: reassign its partitions (`kafka-reassign-partitions.sh`), \
                 delete it so that it is created again, or set the replication to {}",
                found.replicas, found.replicas
            ))),
            _ => Ok(()),
        }
    }

    /// What an operator may have set so that messages could not be read, or never went away.
    async fn check_settings(&self) -> Result<(), Error> {
        let names: Vec<String> = TopicKind::ALL.into_iter().map(|kind| self.config.topic(kind)).collect();
        let asked: Vec<ResourceSpecifier<'_>> = names.iter().map(|name| ResourceSpecifier::Topic(name)).collect();
        let Ok(answers) = self.admin.describe_configs(&asked, &self.options()).await else { return Ok(()) };
        // Whoever may not look at settings has to do without this.
        for (name, settings) in names.iter().zip(answers.into_iter().map(Result::ok)) {
            let read = |setting: &str| settings.as_ref()?.get(setting)?.value.clone();
            if let Some(compression) = read("compression.type").filter(|it| it == "gzip" || it == "zstd") {
                return Err(Error::Topics(format!(
                    "topic {name} has compression.type={compression}, which this binary cannot read: set it to producer"
                )));
            }
            if let Some(policy) = read("cleanup.policy").filter(|it| !it.contains("delete")) {
                return Err(Error::Topics(format!(
                    "topic {name} has cleanup.policy={policy}, so that no message would ever go: set it to delete"
                )));
            }
        }
        Ok(())
    }

    fn options(&self) -> AdminOptions {
        let timeout = Some(self.config.request_timeout);
        AdminOptions::new().request_timeout(timeout).operation_timeout(timeout)
    }

    fn says_missing(&self, name: &str, why: &str) -> String {
        let (partitions, replication) = (self.config.partitions, self.config.replication);
        let replication = replication.map(|count| format!(" --replication-factor {count}")).unwrap_or_default();
        format!(
            "topic {name}: {why}. Let this client create topics (CREATE), or run \
             `kafka-topics.sh --create --topic {name} --partitions {partitions}{replication}`"
        )
    }
}

pub(crate) fn unreachable_by(error: &KafkaError) -> Error {
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::ClusterAuthorizationFailed | RDKafkaErrorCode::TopicAuthorizationFailed) => {
            Error::Topics(format!("the brokers do not let this client do what it must: {error}"))
        }
        _ => Error::Unreachable(error.to_string()),
    }
}
