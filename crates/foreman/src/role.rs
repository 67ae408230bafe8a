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
    /// Tells a broker which jobs are due.
    Relay,
}

impl Role {
    pub const fn name(self) -> &'static str {
        match self {
            Role::Dev => "dev",
            Role::Api => "api",
            Role::Worker => "worker",
            Role::Scheduler => "scheduler",
            Role::Relay => "relay",
        }
    }

    pub const fn serves_the_api(self) -> bool {
        matches!(self, Role::Dev | Role::Api)
    }

    pub const fn runs_jobs(self) -> bool {
        matches!(self, Role::Dev | Role::Worker)
    }

    /// It sends to a broker, or is fed by one, where there is one.
    pub const fn uses_a_broker(self) -> bool {
        matches!(self, Role::Dev | Role::Worker | Role::Relay)
    }

    /// It tells the broker which jobs are due.
    pub const fn announces(self) -> bool {
        matches!(self, Role::Dev | Role::Relay)
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
