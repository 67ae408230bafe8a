//! Messages of a broker that could not be read, as the API tells of them.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// A message that a worker received and could not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ParkedDocument {
    /// Increases with every parked message.
    pub number: i64,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub parked_at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(example = "foreman.jobs.normal"))]
    pub topic: String,
    pub partition: i32,
    pub offset: i64,
    /// Why it could not be read.
    pub reason: String,
    /// How many bytes the message had.
    pub size: u64,
    /// Its key in base64, if it had one.
    pub key: Option<String>,
    /// Its bytes in base64; of a large message, the first.
    pub content: String,
}
