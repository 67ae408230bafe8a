//! What can be wrong before anything flows.

#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// An operator changes a setting; until then nothing works.
    #[error("{0}")]
    Settings(String),
    /// Try again later.
    #[error("no broker answers: {0}")]
    Unreachable(String),
    /// An operator changes the credentials or certificates, here or at the brokers.
    #[error("{0}")]
    Refused(String),
    /// An operator changes the topics, or what this client may do; until then it is not safe to go on.
    #[error("{0}")]
    Topics(String),
    /// The client could not be made.
    #[error("the Kafka client could not be started: {0}")]
    Client(String),
}
