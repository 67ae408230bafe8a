//! What a running command has printed so far.

use serde::{Deserialize, Serialize};

use crate::id::JobId;

pub trait LiveOutput: Send + Sync {
    /// What the attempt of this job under way has printed from line `after` on (lines count from 0, over both streams);
    /// `None` when nothing of it runs here. Old lines make room for new ones: `first_line` tells where the answer starts.
    fn read(&self, job: JobId, after: u64) -> Option<OutputChunk>;
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OutputChunk {
    pub first_line: u64,
    pub lines: Vec<OutputLine>,
    /// Pass this as `after` to continue.
    pub next_line: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OutputLine {
    pub stream: OutputStream,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum OutputStream {
    Stdout,
    Stderr,
}
