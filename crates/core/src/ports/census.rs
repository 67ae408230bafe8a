//! The proof that every job is in exactly one place.

/// What a full look at a store found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    pub jobs: u64,
    pub ready: u64,
    pub held: u64,
    pub outcomes: u64,
    /// What is wrong, each in one sentence that names the job. Empty when all is well. At most a hundred are listed.
    pub violations: Vec<String>,
}

impl Census {
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty() && self.jobs == self.ready + self.held + self.outcomes
    }
}
