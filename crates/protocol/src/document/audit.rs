//! The audit log as the API tells of it.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Who did what to which object, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditDocument {
    pub id: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// The tenant that owns the object.
    pub tenant: String,
    /// The id of a key, or `bootstrap`, `nobody`, `direct` or `system`.
    #[cfg_attr(feature = "openapi", schema(example = "4k2m9x7q1w3z"))]
    pub actor: String,
    #[cfg_attr(feature = "openapi", schema(example = "key.revoke"))]
    pub action: String,
    #[cfg_attr(feature = "openapi", schema(example = "key/8d3j5h2n6p0r"))]
    pub object: String,
    /// The HTTP status of the response.
    pub status: u16,
    /// The request's id.
    pub request: Option<String>,
    /// The address it came from.
    pub peer: Option<String>,
}
