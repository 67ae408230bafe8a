//! Authenticates a request: from the key, session or ticket it brings to its caller.
//!
//! A key is found by its id and compared by its hash; one that nobody knows takes as long as one with a wrong secret.
//! What the store said is used for three seconds (`../fresh_cache.rs`), by every process for itself: a key that is revoked
//! anywhere opens nothing after five seconds at the latest, also where nobody heard of it. What this process itself
//! changes it forgets at once.
//!
//! A browser shows a session's cookie instead of a key, and the stream takes a ticket: both lead to a key, which is
//! looked up as if it had been shown itself.
//!
//! While the store is away, keys that were asked about a moment ago go on; the others are told to come back.

mod attempts;
mod passes;
mod uses;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use foreman_core::audit::Actor;
use foreman_core::key::{self, ApiKey, KeyHash, KeyId, KeyRecord, Scopes};
use foreman_core::ports::{Limiter, Pass, Tenancy};
use foreman_core::tenant::{Tenant, TenantLimits, TenantSettings, seconds_up};
use foreman_core::{TenantId, Timestamp};
use foreman_runtime::Tasks;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName};

use crate::fresh_cache::{CachedAnswer, FreshCache};
use crate::gate::caller::{Caller, TenantProfile};
use crate::gate::keys::{self, KeyPolicy};
use crate::gate::session;
use crate::problem::{Kind, Problem};
pub use attempts::Patience;
use attempts::{Attempts, Operators};
use uses::Uses;

/// Names the tenant that an operator's request is about.
pub(crate) const FOREMAN_TENANT: HeaderName = HeaderName::from_static("foreman-tenant");

/// Revoked keys open nothing after 5 s anywhere; this and a look at open streams every second stay below that.
const FRESH: Duration = Duration::from_secs(3);

/// How often somebody looks whether an open stream is still somebody's who may have it.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub(crate) struct Authenticator {
    keys: KeyPolicy,
    tenancy: Arc<dyn Tenancy>,
    defaults: Arc<DefaultLimits>,
    known_keys: FreshCache<KeyId, Option<Arc<KnownKey>>>,
    known_tenants: FreshCache<TenantId, Option<Arc<TenantProfile>>>,
    /// By the hash of what is shown.
    known_sessions: FreshCache<[u8; 32], Option<Arc<Pass>>>,
    attempts: Attempts,
    operators: Operators,
    uses: Arc<Uses>,
}

/// The limits of tenants, but for what was said about each.
pub(crate) struct DefaultLimits {
    pub every: TenantLimits,
    /// Of the tenant `default`.
    pub own: TenantLimits,
}

impl DefaultLimits {
    fn of(&self, tenant: &TenantId) -> &TenantLimits {
        if *tenant == TenantId::default() { &self.own } else { &self.every }
    }

    fn profile(&self, tenant: Tenant) -> Arc<TenantProfile> {
        let limits = self.of(&tenant.id);
        Arc::new(TenantProfile::new(tenant, limits))
    }
}

/// The part of a request that authentication looks at.
pub(crate) struct Visitor<'r> {
    pub headers: &'r HeaderMap,
    /// The name the server was asked by.
    pub host: Option<&'r str>,
    pub peer: IpAddr,
    /// Whether its method changes nothing.
    pub is_safe: bool,
    /// What stands in the query, where the operation takes it from there.
    pub ticket: Option<String>,
    pub tenant: Option<String>,
}

/// A key as the store knew it at a moment.
#[derive(Debug)]
struct KnownKey {
    key: KeyRecord,
    profile: Arc<TenantProfile>,
    now: Timestamp,
}

impl Authenticator {
    pub fn new(
        keys: KeyPolicy,
        tenancy: Arc<dyn Tenancy>,
        defaults: DefaultLimits,
        attempts: (Patience, Arc<dyn Limiter>),
        tasks: &Tasks,
    ) -> Self {
        let (patience, limiter) = attempts;
        Self {
            keys,
            defaults: Arc::new(defaults),
            known_keys: FreshCache::new(FRESH, tasks.clone()),
            known_tenants: FreshCache::new(FRESH, tasks.clone()),
            known_sessions: FreshCache::new(FRESH, tasks.clone()),
            attempts: Attempts::new(patience, limiter),
            operators: Operators::default(),
            uses: Uses::new(Arc::clone(&tenancy), tasks.clone()),
            tenancy,
        }
    }

    /// Who asks, and for which tenant.
    pub async fn authenticate(&self, visitor: &Visitor<'_>) -> Result<Caller, Problem> {
        let caller = match (keys::shown(visitor.headers)?, &visitor.ticket) {
            (Some(_), Some(_)) => {
                return Err(Problem::new(
                    Kind::Unauthorized,
                    "the request has both a key and a ticket; send only one of them",
                ));
            }
            (Some(shown), None) => self.key_holder(shown, visitor.peer).await?,
            (None, Some(ticket)) => {
                let caller = self.ticket_holder(ticket, visitor.peer).await?;
                return Self::only_for_its_own(self.on_behalf(caller.clone(), visitor).await?, &caller);
            }
            (None, None) => self.without_key(visitor).await?,
        };
        self.on_behalf(caller, visitor).await
    }

    /// Whoever shows this key.
    pub async fn key_holder(&self, shown: &[u8], peer: IpAddr) -> Result<Caller, Problem> {
        match &self.keys {
            KeyPolicy::Direct => self.direct(peer).await,
            KeyPolicy::None if !shown.starts_with(b"fm_") => self.everything(Actor::Nobody).await,
            KeyPolicy::Asked(admin) if self.is_admin(shown, admin, peer).await? => {
                self.everything(Actor::Bootstrap).await
            }
            KeyPolicy::None | KeyPolicy::Asked(_) => self.holder(shown, peer).await,
        }
    }

    /// Whether this is the key of the configuration. A person chose it, so guesses at it are slowed down like any other. An operator who
    /// was here lately does not wait, and a few in a second are compared all the same: one stranger behind an address does not lock
    /// out its operator.
    async fn is_admin(&self, shown: &[u8], admin: &KeyHash, peer: IpAddr) -> Result<bool, Problem> {
        if shown.starts_with(b"fm_") && std::str::from_utf8(shown).is_ok_and(|text| text.parse::<ApiKey>().is_ok()) {
            // A key of the store, whose place in line is not taken from it.
            return Ok(KeyHash::of(shown) == *admin);
        }
        let is_admin = KeyHash::of(shown) == *admin;
        if !(is_admin && self.operators.was_here(peer))
            && let Some(wait) = self.attempts.wait(peer).await
            && !self.attempts.may_look_up(peer).await
        {
            return Err(too_many_attempts(wait));
        }
        if is_admin {
            self.operators.came(peer);
        }
        Ok(is_admin)
    }

    /// A browser with a session, or anybody where no key is asked for.
    async fn without_key(&self, visitor: &Visitor<'_>) -> Result<Caller, Problem> {
        if let Some(text) = session::shown(visitor.headers) {
            if let Some(caller) = self.session_holder(&text).await? {
                session::expect_own_page(visitor.headers, visitor.host, visitor.is_safe)?;
                return Ok(caller);
            }
            if let KeyPolicy::Asked(_) = self.keys {
                return Err(Problem::new(Kind::Unauthorized, "the session has ended; sign in again"));
            }
        }
        match self.keys {
            KeyPolicy::None => self.everything(Actor::Nobody).await,
            KeyPolicy::Direct => self.direct(visitor.peer).await,
            KeyPolicy::Asked(_) => Err(asks_for_a_key()),
        }
    }

    /// A command inside this process. It must work when little else does, so a default tenant that cannot be read does not
    /// stop it. What came over a network is not one, whatever the server was composed with.
    async fn direct(&self, peer: IpAddr) -> Result<Caller, Problem> {
        if !peer.is_unspecified() {
            return Err(Problem::new(Kind::Unauthorized, "this server only accepts requests from its own process"));
        }
        let tenant = TenantId::default();
        let profile = self.profile(&tenant).await.ok().flatten();
        let profile = profile.unwrap_or_else(|| {
            let (id, settings, never) = (tenant.clone(), TenantSettings::default(), Timestamp::from_micros(0));
            self.defaults.profile(Tenant { id, settings, version: 0, created_at: never, edited_at: never })
        });
        Ok(Caller { tenant, actor: Actor::Direct, scopes: Scopes::ALL, expires_at: None, profile, session: None })
    }

    /// One who may do everything, in the default tenant, whatever became of that.
    async fn everything(&self, actor: Actor) -> Result<Caller, Problem> {
        let tenant = TenantId::default();
        let profile = self.profile(&tenant).await?;
        let profile = profile.ok_or_else(|| Problem::internal("the default tenant does not exist"))?;
        Ok(Caller { tenant, actor, scopes: Scopes::ALL, expires_at: None, profile, session: None })
    }

    /// The holder of a key of the store.
    async fn holder(&self, shown: &[u8], peer: IpAddr) -> Result<Caller, Problem> {
        let shown = std::str::from_utf8(shown).ok().and_then(|text| text.parse::<ApiKey>().ok());
        // The limiter may be a call away: what is known needs none.
        if !shown.as_ref().is_some_and(|shown| self.is_known(shown))
            && let Some(wait) = self.attempts.wait(peer).await
            && !(shown.is_some() && self.attempts.may_look_up(peer).await)
        {
            return Err(too_many_attempts(wait));
        }
        let Some(shown) = shown else { return Err(self.stranger(peer).await) };
        let answer = self.look_up(shown.id()).await?;
        let (known, age) = (answer.value, answer.age);
        let kept = key::admit(&shown, known.as_ref().map(|known| known.key.clone()));
        let (Some(_), Some(known)) = (kept, known) else { return Err(self.stranger(peer).await) };
        self.caller(&known, age)
    }

    /// Whoever has this key, if it is good so long after it was asked about.
    fn caller(&self, known: &KnownKey, age: Duration) -> Result<Caller, Problem> {
        let now = known.is_good(age)?;
        self.uses.note(&known.key, now);
        Ok(Caller {
            tenant: known.key.tenant.clone(),
            actor: Actor::Key(known.key.id.clone()),
            scopes: known.key.scopes,
            expires_at: known.key.expires_at,
            profile: Arc::clone(&known.profile),
            session: None,
        })
    }

    fn is_known(&self, shown: &ApiKey) -> bool {
        self.known_keys.is_known(shown.id(), |known| known.as_ref().is_some_and(|known| known.key.hash == shown.hash()))
    }

    async fn stranger(&self, peer: IpAddr) -> Problem {
        self.attempts.failed(peer).await;
        Problem::new(Kind::Unauthorized, "the key is unknown")
    }

    async fn look_up(&self, id: &KeyId) -> Result<CachedAnswer<Option<Arc<KnownKey>>>, Problem> {
        let ask = || {
            let (tenancy, id, defaults) = (Arc::clone(&self.tenancy), id.clone(), Arc::clone(&self.defaults));
            async move {
                let found = tenancy.look_up_key(&id).await?;
                Ok(found
                    .map(|at| Arc::new(KnownKey { key: at.key, profile: defaults.profile(at.tenant), now: at.now })))
            }
        };
        Ok(self.known_keys.get(id, ask).await?)
    }

    pub fn default_limits(&self, tenant: &TenantId) -> &TenantLimits {
        self.defaults.of(tenant)
    }

    /// A tenant with its limits, at most a few seconds old.
    pub async fn profile(&self, tenant: &TenantId) -> Result<Option<Arc<TenantProfile>>, Problem> {
        let ask = || {
            let (tenancy, tenant, defaults) = (Arc::clone(&self.tenancy), tenant.clone(), Arc::clone(&self.defaults));
            async move { Ok(tenancy.tenant(&tenant).await?.map(|tenant| defaults.profile(tenant))) }
        };
        Ok(self.known_tenants.get(tenant, ask).await?.value)
    }

    /// An operator may name the tenant a request is about; anybody else only their own.
    async fn on_behalf(&self, caller: Caller, visitor: &Visitor<'_>) -> Result<Caller, Problem> {
        let mut named = visitor.headers.get_all(FOREMAN_TENANT).iter();
        let (in_header, in_query) = (named.next(), visitor.tenant.as_deref());
        if named.next().is_some() {
            return Err(Problem::invalid_request("the header Foreman-Tenant is given more than once"));
        }
        match (in_header.map(|name| name.to_str().unwrap_or("?").trim()), in_query) {
            (None, None) => Ok(caller),
            (Some(name), Some(other)) if name != other => Err(Problem::invalid_request(
                "the header Foreman-Tenant and the parameter tenant name different tenants",
            )),
            (Some(name), _) => self.for_tenant(caller, name, "the header Foreman-Tenant").await,
            (None, Some(name)) => self.for_tenant(caller, name, "the parameter tenant").await,
        }
    }

    /// A ticket opens the tenant that it was made for, an operator's too.
    fn only_for_its_own(named: Caller, holder: &Caller) -> Result<Caller, Problem> {
        if named.tenant == holder.tenant {
            return Ok(named);
        }
        let detail = format!("the ticket is for the tenant {}, but the request names {}", holder.tenant, named.tenant);
        Err(Problem { scope: Some(key::Scope::Admin), ..Problem::new(Kind::Forbidden, detail) })
    }

    async fn for_tenant(&self, caller: Caller, name: &str, place: &str) -> Result<Caller, Problem> {
        if name == caller.tenant.as_str() {
            return Ok(caller);
        }
        if !caller.is_operator() {
            let detail = format!(
                "{place} names {name:?}, but this key belongs to the tenant {}; only an operator's key (scope admin) \
                 may name another tenant",
                caller.tenant
            );
            return Err(Problem { scope: Some(key::Scope::Admin), ..Problem::new(Kind::Forbidden, detail) });
        }
        // What cannot be the name of a tenant is the name of none.
        let Ok(tenant) = name.parse::<TenantId>() else { return Err(Problem::tenant_not_found(name)) };
        let profile = self.profile(&tenant).await?.ok_or_else(|| Problem::tenant_not_found(name))?;
        Ok(Caller { tenant, profile, ..caller })
    }

    /// Whether a caller who was let in some time ago still would be.
    pub async fn still(&self, caller: &Caller) -> Result<(), Problem> {
        if let Some(hash) = &caller.session
            && self.session(hash).await?.is_none()
        {
            return Err(Problem::new(Kind::Unauthorized, "the session is over"));
        }
        let Actor::Key(id) = &caller.actor else { return Ok(()) };
        let answer = self.look_up(id).await?;
        let known = answer.value.ok_or_else(|| Problem::new(Kind::Unauthorized, "the key no longer exists"))?;
        known.is_good(answer.age).map(drop)
    }

    /// Comes to an end when the caller would not be let in any more: what an open stream ends with. While the store is away
    /// nobody is sent off; what is written then needs [`Authenticator::still`] first.
    pub async fn gone(&self, caller: &Caller) -> Problem {
        if caller.session.is_none() && !matches!(caller.actor, Actor::Key(_)) {
            // Whoever shows the key of the configuration, or needs none, is let in as long as this process lives.
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            match self.still(caller).await {
                Err(problem) if problem.kind == Kind::Unauthorized => return problem,
                Ok(()) | Err(_) => {}
            }
        }
    }

    /// A key was changed by this process.
    pub fn forget_key(&self, id: &KeyId) {
        self.known_keys.forget(id);
    }

    /// A tenant was changed by this process.
    pub fn forget_tenant(&self, tenant: &TenantId) {
        self.known_tenants.forget(tenant);
        self.known_keys.forget_where(|known| known.as_ref().is_some_and(|known| known.key.tenant == *tenant));
    }
}

impl KnownKey {
    /// Whether the key opens anything, so long after it was asked about; and what the store's clock says now.
    fn is_good(&self, age: Duration) -> Result<Timestamp, Problem> {
        let now = self.now.plus(age);
        self.key.is_live(now).map_err(|refused| Problem::new(Kind::Unauthorized, refused.to_string()))?;
        if self.profile.tenant.settings.is_disabled {
            let detail = format!("the tenant {} is disabled, so its keys are rejected", self.key.tenant);
            return Err(Problem::new(Kind::Unauthorized, detail));
        }
        Ok(now)
    }
}

fn asks_for_a_key() -> Problem {
    Problem::new(Kind::Unauthorized, "this server requires an API key; send it as `Authorization: Bearer …`")
}

fn too_many_attempts(wait: Duration) -> Problem {
    let secs = seconds_up(wait).max(1);
    let detail = format!("too many wrong keys came from this address; wait {secs} s before you try again");
    Problem::new(Kind::TooManyRequests, detail).with_header(RETRY_AFTER, secs.to_string())
}
