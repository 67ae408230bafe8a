//! The third lock on commands: which programs a tenant's jobs may run.
//!
//! Asked at each attempt, for a list may have become shorter since the job was accepted. Who answers remembers it for a few
//! seconds ([`crate::Tenants`]). When nobody can say, nothing is run: the attempt is made again later.

use std::sync::Arc;

use async_trait::async_trait;
use foreman_core::ports::StoreError;
use foreman_core::target::Program;
use foreman_core::tenant::Permitted;
use foreman_core::{Target, TenantId};

use crate::target::{Try, TryEnding};

/// Says what the jobs of a tenant may run.
#[async_trait]
pub trait Permits: Send + Sync {
    async fn permitted(&self, tenant: &TenantId) -> Result<Permitted, StoreError>;
}

/// How an attempt ends that must not begin.
pub(super) async fn refusal(permits: &dyn Permits, attempt: &Try, program: &Program) -> Option<TryEnding> {
    let tenant = &attempt.job.tenant;
    match permits.permitted(tenant).await {
        Ok(permitted) if permitted.allow(program) => {
            let Target::Command(command) = &attempt.job.work.target else { return None };
            let name = command.env.names().find(|name| !permitted.allow_variable(name))?;
            let why = "it is not on the list of allowed variables, and could change what the program runs";
            Some(TryEnding::failed(format!("the tenant {tenant} may not set the variable {name}: {why}")))
        }
        Ok(_) => Some(TryEnding::failed(match program {
            Program::Argv(argv) => {
                let name = argv.first().map_or("", String::as_str);
                format!("the tenant {tenant} may not run {name}: it is not on its list of allowed programs")
            }
            Program::Shell(_) => {
                format!("the tenant {tenant} may not run shell commands: sh is not on its list of allowed programs")
            }
        })),
        Err(error) => Some(TryEnding::again(format!("could not check what the tenant {tenant} may run: {error}"))),
    }
}

/// Everything, for everyone: no tenants are told apart.
#[derive(Clone, Copy, Debug)]
pub struct Unlocked;

#[async_trait]
impl Permits for Unlocked {
    async fn permitted(&self, _: &TenantId) -> Result<Permitted, StoreError> {
        Ok(Permitted::everything())
    }
}

/// Everything for the default tenant, for a server without keys, which is its user's own; for others what they may.
pub struct OpenDefault(pub Arc<dyn Permits>);

#[async_trait]
impl Permits for OpenDefault {
    async fn permitted(&self, tenant: &TenantId) -> Result<Permitted, StoreError> {
        if *tenant == TenantId::default() { Ok(Permitted::everything()) } else { self.0.permitted(tenant).await }
    }
}
