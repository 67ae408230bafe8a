//! Sessions and tickets at the door.
//!
//! A pass says whose it is; what that is worth is looked up as if the key itself had been shown. What the store said of a
//! session is used for as long as what it said of a key; one that this process ends it forgets at once.

use std::net::IpAddr;
use std::sync::Arc;

use foreman_core::Timestamp;
use foreman_core::audit::Actor;
use foreman_core::key::KeyHash;
use foreman_core::ports::{NewPass, Pass, PassHolder, PassKind};

use super::{Authenticator, too_many_attempts};
use crate::gate::caller::Caller;
use crate::gate::keys::KeyPolicy;
use crate::gate::passes::{PassText, keep};
use crate::problem::{Kind, Problem};

impl Authenticator {
    /// Writes down that this pass is the caller's, for the tenant that the request is about. Answers until when.
    pub async fn issue(&self, text: &PassText, caller: &Caller) -> Result<Timestamp, Problem> {
        let holder = match (&caller.actor, &self.keys) {
            (Actor::Key(id), _) => PassHolder::Key(id.clone()),
            (Actor::Bootstrap, KeyPolicy::Asked(admin)) => PassHolder::Bootstrap(text.bound_to(admin)),
            (Actor::Nobody, KeyPolicy::None) => PassHolder::Nobody,
            (actor, _) => return Err(Problem::internal(format!("{actor} asks for a pass over HTTP"))),
        };
        let kind = text.kind();
        let pass = NewPass { hash: text.hash(), kind, holder, tenant: caller.tenant.clone(), keep: keep(kind) };
        Ok(self.tenancy.issue_pass(&pass).await?)
    }

    /// Who shows a session; nobody where it is over.
    pub async fn session_holder(&self, text: &PassText) -> Result<Option<Caller>, Problem> {
        let hash = text.hash();
        let Some(pass) = self.session(&hash).await? else { return Ok(None) };
        let caller = self.pass_holder(text, &pass).await?;
        Ok(Some(Caller { session: Some(hash), ..caller }))
    }

    /// A session that is good now, or was a moment ago.
    pub(super) async fn session(&self, hash: &KeyHash) -> Result<Option<Arc<Pass>>, Problem> {
        let ask = || {
            let (tenancy, hash) = (Arc::clone(&self.tenancy), *hash);
            async move {
                let pass = tenancy.pass(&hash).await?.filter(|pass| pass.kind == PassKind::Session);
                Ok(pass.map(Arc::new))
            }
        };
        Ok(self.known_sessions.get(hash.as_bytes(), ask).await?.value)
    }

    /// From now on it opens nothing.
    pub async fn end(&self, text: &PassText) -> Result<(), Problem> {
        let hash = text.hash();
        self.tenancy.revoke_pass(&hash).await?;
        self.known_sessions.forget(hash.as_bytes());
        Ok(())
    }

    /// Who shows a ticket. It is spent by this, whatever comes of it.
    pub(super) async fn ticket_holder(&self, shown: &str, peer: IpAddr) -> Result<Caller, Problem> {
        if let Some(wait) = self.attempts.wait(peer).await
            && !self.attempts.may_look_up(peer).await
        {
            return Err(too_many_attempts(wait));
        }
        let text = PassText::read(PassKind::Ticket, shown);
        let pass = match &text {
            Some(text) => self.tenancy.spend_ticket(&text.hash()).await?,
            None => None,
        };
        let (Some(text), Some(pass)) = (text, pass) else {
            self.attempts.failed(peer).await;
            let detail = "the ticket is unknown, used or older than 30 s; get a new one from /api/v1/stream/tickets";
            return Err(Problem::new(Kind::Unauthorized, detail));
        };
        self.pass_holder(&text, &pass).await
    }

    /// What the key behind a pass is worth now.
    async fn pass_holder(&self, text: &PassText, pass: &Pass) -> Result<Caller, Problem> {
        let caller = match (&pass.holder, &self.keys) {
            (PassHolder::Nobody, KeyPolicy::None) => self.everything(Actor::Nobody).await?,
            (PassHolder::Bootstrap(bound), KeyPolicy::Asked(admin))
                if *bound == text.bound_to(admin) || bound == admin =>
            {
                // The second is how the version before wrote it down, good for as long as its passes are.
                self.everything(Actor::Bootstrap).await?
            }
            (PassHolder::Key(id), _) => {
                let answer = self.look_up(id).await?;
                let known = answer.value.ok_or_else(gone)?;
                self.caller(&known, answer.age)?
            }
            _ => return Err(gone()),
        };
        self.for_tenant(caller, pass.tenant.as_str(), "the pass").await
    }
}

fn gone() -> Problem {
    Problem::new(Kind::Unauthorized, "the key behind this session or ticket no longer exists; sign in again")
}
