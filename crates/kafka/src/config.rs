//! How Kafka is used: which brokers, which topics, how messages are sent and taken.

use std::time::Duration;

use crate::error::Error;
use crate::security::Security;

/// The client says a little later that a message's time was over.
const LATE_ANSWER: Duration = Duration::from_secs(1);

/// Typed and complete; only the brokers have no default worth having.
#[derive(Clone, Debug)]
pub struct Config {
    /// `host:port`, several separated by commas. Others of the cluster are found through them.
    pub brokers: String,
    pub security: Security,
    /// How this process is named to the brokers: in their logs, quotas and metrics.
    pub client_id: String,
    /// What the names of the topics begin with: `PREFIX.high`, `.normal`, `.low` and `.retry`.
    pub topic_prefix: String,
    /// How many partitions a topic is created with. At most so many workers of a topic have messages at a time.
    pub partitions: i32,
    /// On how many brokers each message is. `None`: a topic is created with the default of the brokers, and any number will do.
    pub replication: Option<i32>,
    /// How long Kafka keeps messages. Whatever it loses is announced again from the store, so it need not be long.
    pub retention: Duration,
    pub compression: Compression,
    /// How long the publisher waits for more messages before it sends those it has.
    pub linger: Duration,
    /// How long the publisher tries to send a message before it says that it could not.
    pub delivery_timeout: Duration,
    /// How many messages the publisher has on their way at most. More wait outside.
    pub publish_queue: usize,
    /// Consumer groups are called `GROUP.high` and so on: those of one fleet share them.
    pub group: String,
    /// A name that this worker keeps when it is restarted, unlike that of any other (static membership): it then finds its partitions
    /// again without the others having to give any up. `None`: a restart is a new member.
    pub instance: Option<String>,
    pub protocol: GroupProtocol,
    /// How long the group waits for a member that is silent. With the group protocol `consumer` the broker decides
    /// (`group.consumer.session.timeout.ms`).
    pub session_timeout: Duration,
    /// A consumer that does not ask for messages for so long is taken out of the group. Ours always ask, however full they are.
    pub max_poll_interval: Duration,
    /// How many messages of a topic this process keeps that it has not offered yet. Then it takes no more of that topic.
    pub lane_capacity: usize,
    /// How often offsets are committed.
    pub commit_every: Duration,
    /// How often topics and lag are looked at.
    pub check_every: Duration,
    /// How long one request to a broker may take.
    pub request_timeout: Duration,
}

/// How messages are compressed on their way to the brokers and there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    None,
    #[default]
    Lz4,
    Snappy,
}

/// Who assigns partitions to the members of a consumer group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupProtocol {
    /// The broker where it can, else the members.
    #[default]
    Auto,
    /// The broker (KIP-848): needs Apache Kafka 4.0 or newer. A member has messages a moment after it joined.
    Consumer,
    /// The members, cooperatively: a member has messages seconds after it joined.
    Classic,
}

impl Config {
    pub fn at(brokers: impl Into<String>) -> Self {
        Self {
            brokers: brokers.into(),
            security: Security::default(),
            client_id: "foreman".into(),
            topic_prefix: "foreman.jobs".into(),
            partitions: 12,
            replication: None,
            retention: Duration::from_hours(24),
            compression: Compression::default(),
            linger: Duration::from_millis(1),
            delivery_timeout: Duration::from_secs(10),
            publish_queue: 10_000,
            group: "foreman.workers".into(),
            instance: None,
            protocol: GroupProtocol::default(),
            session_timeout: Duration::from_secs(20),
            max_poll_interval: Duration::from_mins(1),
            lane_capacity: 10_000,
            commit_every: Duration::from_millis(500),
            check_every: Duration::from_secs(15),
            request_timeout: Duration::from_secs(5),
        }
    }
}

impl Config {
    /// A call of the publisher has its answers by then: those that the client gives late count as missing.
    pub fn longest_publish(&self) -> Duration {
        self.delivery_timeout + LATE_ANSWER
    }

    /// What cannot work, before anything is asked of a broker.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Settings(text.into()));
        let is_name = |text: &str| {
            !text.is_empty()
                && text.len() <= 200
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        if self.brokers.split(',').all(|broker| broker.trim().is_empty()) {
            return wrong("no broker is named");
        }
        if !is_name(&self.topic_prefix) {
            return wrong("the prefix of the topics must be 1 to 200 letters, digits, dots, underscores and hyphens");
        }
        if self.partitions < 1 || self.replication.is_some_and(|count| count < 1) {
            return wrong("a topic has at least one partition, on at least one broker");
        }
        if self.max_poll_interval < self.session_timeout {
            return wrong("the poll interval must not be shorter than the session timeout");
        }
        self.security.check()
    }
}

impl Compression {
    pub const ALL: [Self; 3] = [Self::None, Self::Lz4, Self::Snappy];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Snappy => "snappy",
        }
    }

    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == text)
    }
}

impl GroupProtocol {
    pub const ALL: [Self; 3] = [Self::Auto, Self::Consumer, Self::Classic];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Consumer => "consumer",
            Self::Classic => "classic",
        }
    }

    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_refused() {
        assert!(Config::at("a:9092,b:9092").check().is_ok());
        for broken in [
            Config::at(" , "),
            Config { topic_prefix: "foreman jobs".into(), ..Config::at("a") },
            Config { partitions: 0, ..Config::at("a") },
            Config { replication: Some(0), ..Config::at("a") },
            Config { max_poll_interval: Duration::from_secs(1), ..Config::at("a") },
        ] {
            assert!(matches!(broken.check(), Err(Error::Settings(_))), "{broken:?}");
        }
    }

    #[test]
    fn what_a_setting_is_called_is_how_it_is_read() {
        for compression in Compression::ALL {
            assert_eq!(Compression::named(compression.as_str()), Some(compression));
        }
        for protocol in GroupProtocol::ALL {
            assert_eq!(GroupProtocol::named(protocol.as_str()), Some(protocol));
        }
        assert_eq!((Compression::named("zstd"), GroupProtocol::named("")), (None, None));
    }
}
