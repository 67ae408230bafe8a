//! Who asks, for the length of one request.
//!
//! The gate puts it among the request's extensions. A handler that finds none there was reached past the gate: it fails
//! instead of working for the default tenant.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use foreman_core::audit::Actor;
use foreman_core::key::{KeyHash, Scope, Scopes};
use foreman_core::target::Program;
use foreman_core::tenant::{Tenant, TenantLimits, may_run};
use foreman_core::{TenantId, Timestamp};
use http::request::Parts;

use crate::problem::{Kind, Problem};

#[derive(Clone, Debug)]
pub struct Caller {
    /// Whose data the request is about.
    pub tenant: TenantId,
    pub actor: Actor,
    pub scopes: Scopes,
    /// When its key ends by itself.
    pub expires_at: Option<Timestamp>,
    /// The tenant's settings and limits, at most a few seconds old.
    pub profile: Arc<TenantProfile>,
    /// The session that was shown instead of a key.
    pub(crate) session: Option<KeyHash>,
}

/// A tenant, and the limits that its settings come to.
#[derive(Clone, Debug)]
pub struct TenantProfile {
    pub tenant: Tenant,
    pub limits: TenantLimits,
}

impl TenantProfile {
    pub fn new(tenant: Tenant, defaults: &TenantLimits) -> Self {
        let limits = defaults.with(&tenant.settings.limits);
        Self { tenant, limits }
    }
}

impl Caller {
    pub fn may(&self, scope: Scope) -> Result<(), Problem> {
        if self.scopes.allow(scope) { Ok(()) } else { Err(self.lacks(scope)) }
    }

    /// Whether an answer may tell what a job carries and what came of it.
    pub fn reads_jobs(&self) -> bool {
        self.scopes.allow(Scope::JobsRead)
    }

    /// Whether an answer may show what a schedule's job carries.
    pub fn reads_schedules(&self) -> bool {
        self.scopes.allow(Scope::SchedulesRead)
    }

    /// For who runs this server: may name any tenant.
    pub fn is_operator(&self) -> bool {
        self.scopes.allow(Scope::Admin)
    }

    /// Under whose name the connections, bodies and answers of this caller are counted. The operator has a name of its own, which no
    /// tenant can have: what a tenant does must not keep the operator from disabling it.
    pub fn account(&self) -> TenantId {
        if self.is_operator() { TenantId::new(" operator") } else { self.tenant.clone() }
    }

    /// The tenant's lock on commands. Whoever needs no key is asked for no list either; the worker goes by the list all the same.
    pub fn may_run(&self, program: &Program) -> bool {
        self.actor == Actor::Nobody || may_run(&self.profile.tenant.settings.commands, program)
    }

    /// The same for a variable that a program is given.
    pub fn may_give(&self, name: &str) -> bool {
        self.actor == Actor::Nobody || self.profile.tenant.settings.permitted().allow_variable(name)
    }

    fn lacks(&self, scope: Scope) -> Problem {
        Problem {
            scope: Some(scope),
            ..Problem::new(
                Kind::Forbidden,
                format!(
                    "the key lacks the scope `{scope}` (it has {}); ask an operator for a key with that scope",
                    self.scopes
                ),
            )
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        of(parts).cloned()
    }
}

pub(crate) fn of(parts: &Parts) -> Result<&Caller, Problem> {
    let found = parts.extensions.get::<Caller>();
    found.ok_or_else(|| Problem::internal("a handler was reached without passing the gate"))
}
