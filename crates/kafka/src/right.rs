//! What an operator grants a client by an ACL, and brokers may deny it.

use std::fmt;

use rdkafka::error::RDKafkaErrorCode;

/// Ordered as they are listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    ReadGroup(String),
    Read(String),
    Write(String),
    /// Brokers older than 3.0 want it besides WRITE, newer ones have it follow from WRITE on any topic.
    IdempotentWrite,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadGroup(group) => write!(f, "READ on group {group}"),
            Self::Read(topic) => write!(f, "READ on topic {topic}"),
            Self::Write(topic) => write!(f, "WRITE on topic {topic}"),
            Self::IdempotentWrite => f.write_str("WRITE on topics, or IDEMPOTENT_WRITE on the cluster"),
        }
    }
}

/// What a consumer lacks that has met this error.
pub(crate) fn lacking_to_consume(code: RDKafkaErrorCode, topic: &str, group: &str) -> Option<Right> {
    match code {
        RDKafkaErrorCode::GroupAuthorizationFailed => Some(Right::ReadGroup(group.to_owned())),
        RDKafkaErrorCode::TopicAuthorizationFailed => Some(Right::Read(topic.to_owned())),
        _ => None,
    }
}

/// What a producer lacks whose message for this topic has met this error.
pub(crate) fn lacking_to_publish(code: RDKafkaErrorCode, topic: &str) -> Option<Right> {
    match code {
        RDKafkaErrorCode::TopicAuthorizationFailed => Some(Right::Write(topic.to_owned())),
        RDKafkaErrorCode::ClusterAuthorizationFailed => Some(Right::IdempotentWrite),
        _ => None,
    }
}
