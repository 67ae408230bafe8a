//! Messages from Kafka that could not be read. For an operator's key.

use foreman_protocol::document::{ListDocument, ParkedDocument};
use serde::Serialize;

use crate::{CALL_TIMEOUT, Client, Error};

#[derive(Serialize)]
struct ParkedQuery<'a> {
    limit: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'a str>,
}

impl Client {
    /// One page, the newest first; `after` is `next` of the page before.
    pub async fn parked(&self, limit: usize, after: Option<&str>) -> Result<ListDocument<ParkedDocument>, Error> {
        self.get_json(&["parked"], &ParkedQuery { limit, cursor: after }, CALL_TIMEOUT).await
    }
}
