//! Who can run a job.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::TenantId;

/// Who can run a job: part of the claim, so that a worker takes only what it can run and a backlog that nobody serves
/// is not walked over.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Route(Arc<str>);

impl Route {
    /// How the names of routes begin that belong to one task each: there may be any number of them.
    pub const TASK: &str = "task:";

    pub fn http() -> Self {
        Self("http".into())
    }

    pub fn command() -> Self {
        Self("command".into())
    }

    /// An HTTP call with sealed headers: a worker of an earlier version, which cannot open them, does not know this
    /// route and leaves the job alone.
    pub fn sealed_http() -> Self {
        Self("http+sealed".into())
    }

    /// A command with sealed variables, for the same reason.
    pub fn sealed_command() -> Self {
        Self("command+sealed".into())
    }

    pub fn webhook() -> Self {
        Self("webhook".into())
    }

    pub fn task(name: &str) -> Self {
        Self(format!("{}{name}", Self::TASK).into())
    }

    /// A task that only the workers of its tenant run (decision 0017). No name that a client can give a task has an `@`, and
    /// no tenant has a `/`: so this is never the route of a shared task, and never that of another tenant.
    pub fn own_task(tenant: &TenantId, name: &str) -> Self {
        Self(format!("{}@{tenant}/{name}", Self::TASK).into())
    }

    /// The name of the task, where this is the route of one.
    pub fn as_task(&self) -> Option<&str> {
        self.0.strip_prefix(Self::TASK)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads back what a store kept.
    pub fn from_stored(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::spec::{JobSpec, Validate as _};
    use crate::time::Timestamp;

    fn is_a_task_name(name: &str) -> bool {
        let spec = JobSpec { task: Some(name.into()), ..JobSpec::default() };
        spec.validate(&TenantId::default(), &Limits::default(), Timestamp::from_micros(1)).is_ok()
    }

    #[test]
    fn the_tasks_of_a_tenant_are_on_a_route_that_no_other_job_can_have() {
        let (a, ab) = (TenantId::new("a"), TenantId::new("a-b"));
        let own = Route::own_task(&a, "b/mail");
        assert_eq!(own.as_str(), "task:@a/b/mail");
        for other in [Route::own_task(&ab, "mail"), Route::own_task(&a, "mail"), Route::task("a/b/mail")] {
            assert_ne!(own, other);
        }
        for name in ["a/b/mail", "b:mail", "mail.send_2-x"] {
            assert!(is_a_task_name(name), "{name}");
        }
        let shared = own.as_task().expect("it is pruned and counted with the other tasks");
        assert!(!is_a_task_name(shared), "no client can submit a shared task of that name");
        assert!("a/b".parse::<TenantId>().is_err() && "@a".parse::<TenantId>().is_err());
    }
}
