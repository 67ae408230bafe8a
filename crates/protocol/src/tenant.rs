//! What an administrator says about a tenant: its limits, what its jobs may run, and its share.

mod limits;
mod programs;
mod variables;

use serde::{Deserialize, Serialize};

pub use limits::{Limit, LimitOverrides, NotALimit, TenantLimits};
pub use programs::{NotAProgram, Programs};
pub use variables::{NotAVariable, Variables};

/// A tenant's share where several wait in one queue and lane: 1 to 1,000, and twice the weight is twice the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Weight(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a weight is a number from 1 to 1000, not {0}")]
pub struct NotAWeight(u32);

impl Weight {
    pub fn get(self) -> u32 {
        self.0
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self(1)
    }
}

impl TryFrom<u32> for Weight {
    type Error = NotAWeight;

    fn try_from(weight: u32) -> Result<Self, NotAWeight> {
        if (1..=1_000).contains(&weight) { Ok(Self(weight)) } else { Err(NotAWeight(weight)) }
    }
}

impl From<Weight> for u32 {
    fn from(weight: Weight) -> Self {
        weight.0
    }
}
