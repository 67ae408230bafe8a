//! The roles a process may have.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// All of them at once.
    Dev,
    /// HTTP in: takes jobs and answers for them.
    Api,
    /// Runs jobs.
    Worker,
    /// Does what must be done regularly; of many, one leads.
    Scheduler,
}

impl Role {
    pub const fn name(self) -> &'static str {
        match self {
            Role::Dev => "dev",
            Role::Api => "api",
            Role::Worker => "worker",
            Role::Scheduler => "scheduler",
        }
    }

    pub const fn serves_the_api(self) -> bool {
        matches!(self, Role::Dev | Role::Api)
    }

    pub const fn runs_jobs(self) -> bool {
        matches!(self, Role::Dev | Role::Worker)
    }

    /// Others of its kind, and of the other kinds, share the store.
    pub const fn shares_its_store(self) -> bool {
        !matches!(self, Role::Dev)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
