//! Calls a URL.

pub(crate) mod headers;

use serde::{Deserialize, Serialize};

use super::Body;
use crate::secret_map::SecretMap;

/// What the headers of a target are sealed for.
pub const HEADERS_PLACE: &str = "job/headers";

/// Call `url` once per attempt, with exactly this body.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HttpTarget {
    pub url: url::Url,
    pub method: String,
    #[serde(default, skip_serializing_if = "SecretMap::is_empty")]
    pub headers: SecretMap,
    #[serde(default, skip_serializing_if = "Body::is_none")]
    pub body: Body,
}
