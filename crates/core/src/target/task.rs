//! Runs a handler by its name.

use serde::{Deserialize, Serialize};

use super::Body;

/// Run by whoever knows the task's name: a Rust handler in the worker, or a worker that pulls.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskTarget {
    pub name: String,
    #[serde(default, skip_serializing_if = "Body::is_none")]
    pub payload: Body,
}
