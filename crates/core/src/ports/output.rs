//! What a running command has printed so far.

pub use foreman_protocol::output::{OutputChunk, OutputLine, OutputStream};

use crate::id::JobId;

pub trait LiveOutput: Send + Sync {
    /// What the attempt of this job under way has printed from line `after` on (lines count from 0, over both streams);
    /// `None` when nothing of it runs here. Old lines make room for new ones: `first_line` tells where the answer starts.
    fn read(&self, job: JobId, after: u64) -> Option<OutputChunk>;
}
