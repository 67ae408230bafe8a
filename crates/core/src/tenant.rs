//! Tenants: whose jobs they are, how much they may ask for, and what they may run.
//!
//! The tenant `default` is always there and cannot be deleted: it is what a server without keys works for. An id is never
//! given to a second tenant, not even after the first was deleted: what a slow process may still write under it must not
//! become somebody else's.

mod bucket;
mod programs;
mod queue_names;
mod variables;

use serde::{Deserialize, Serialize};

use crate::id::TenantId;
use crate::signing::SigningKeys;
use crate::time::Timestamp;

pub use bucket::{Quota, Rate, Take, TokenBucket, seconds_up};
pub use foreman_protocol::tenant::{
    Limit, LimitOverrides, NotALimit, NotAProgram, NotAVariable, NotAWeight, Programs, TenantLimits, Variables, Weight,
};
pub use programs::may_run;
pub use queue_names::{Batch, QueueNames};
pub use variables::Permitted;

/// A tenant as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    pub id: TenantId,
    pub settings: TenantSettings,
    /// Rises with every change, from 1.
    pub version: i64,
    pub created_at: Timestamp,
    pub edited_at: Timestamp,
}

/// What an administrator says about a tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TenantSettings {
    /// Its keys are rejected, and none of its jobs, schedules or deliveries run. What waits is kept.
    pub is_disabled: bool,
    /// Where it differs from the limits of every tenant.
    pub limits: LimitOverrides,
    /// What its jobs may run on a worker that runs commands: nothing, until something is named.
    pub commands: Programs,
    /// What it may give programs that are on the list: nothing, until something is named. Where the list allows
    /// everything, so is this.
    // Left out while it is empty: a process of the version before refuses settings that it does not know.
    #[serde(skip_serializing_if = "Variables::is_empty")]
    pub variables: Variables,
    pub weight: Weight,
    /// What its pushes and callbacks are signed with; nothing signs until there is one.
    #[serde(skip_serializing_if = "SigningKeys::is_empty")]
    pub signing: SigningKeys,
}

impl TenantSettings {
    /// What its jobs may run, and what they may give it.
    pub fn permitted(&self) -> Permitted {
        Permitted { programs: self.commands.clone(), variables: self.variables.clone() }
    }
}

/// Where a tenant's signing secret is sealed for.
pub const SIGNING_PLACE: &str = "tenant/signing";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_their_json_and_need_none_of_it() {
        let plain: TenantSettings = serde_json::from_str("{}").expect("all has a default");
        assert_eq!(plain, TenantSettings::default());
        assert!(!plain.is_disabled && plain.weight.get() == 1);
        let json = r#"{"is_disabled":true,"limits":{"schedules":7,"queued_jobs":"unlimited"},"commands":["/bin/true"],"variables":["A","B_*"],"weight":5}"#;
        let full: TenantSettings = serde_json::from_str(json).expect("settings");
        let again = serde_json::to_string(&full).expect("plain data");
        assert_eq!(serde_json::from_str::<TenantSettings>(&again).expect("settings"), full);
        assert_eq!((full.weight.get(), full.limits.schedules), (5, Some(Limit::AtMost(7))));
        assert!(
            !serde_json::to_string(&plain).expect("plain data").contains("variables"),
            "as before, while it is empty"
        );
    }

    #[test]
    fn settings_that_mean_nothing_are_refused() {
        for wrong in
            [r#"{"wieght":1}"#, r#"{"weight":0}"#, r#"{"weight":1001}"#, r#"{"weight":-1}"#, r#"{"limits":{"job":1}}"#]
        {
            assert!(serde_json::from_str::<TenantSettings>(wrong).is_err(), "{wrong}");
        }
    }
}
