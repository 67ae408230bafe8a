//! Writes down who changed what.
//!
//! A request that changes something runs, with the writing of its entry, in a task of its own: a client that leaves half
//! way does not leave an act behind that nobody finds. The entry is written before the answer is sent. What was refused
//! because the request was wrong changed nothing and is no act, unless its handler says what it had done by then; what failed
//! inside may have changed something and is one.
//!
//! Two processes write their own. One that dies between the act and its entry loses the entry; the log has the request's
//! line only if it got that far. An entry that the store does not take is logged with all it would have said.

mod bounds;
pub(crate) mod entries;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use foreman_core::audit::{Act, Actor};
use foreman_core::key::ApiKey;
use foreman_core::{EntryId, TenantId};
use foreman_runtime::tasks::panic_message;
use futures_util::FutureExt;
use http::StatusCode;

use crate::app::App;
use crate::gate::Peer;
use crate::gate::caller::Caller;
use crate::problem::Problem;
use crate::request::request_id::RequestId;
pub(crate) use bounds::Bounds;

/// Where a request came from, for its entry.
#[derive(Clone, Debug)]
pub(crate) struct RequestOrigin {
    request: Option<String>,
    peer: Option<String>,
}

impl RequestOrigin {
    pub fn of(request: &Request) -> Self {
        Self {
            request: request.extensions().get::<RequestId>().map(|id| id.as_str().to_owned()),
            peer: Peer::text(request),
        }
    }

    pub fn act(&self, caller: &Caller, action: &str, object: String, status: StatusCode) -> Act {
        Act {
            tenant: caller.tenant.clone(),
            actor: caller.actor.clone(),
            action: action.into(),
            object,
            status: status.as_u16(),
            request: self.request.clone(),
            peer: self.peer.clone(),
        }
    }

    /// Somebody showed what opens nothing. Whose it was meant to be nobody knows, so it stands under the default tenant. Written
    /// beside the answer, which does not wait for it.
    pub fn refused(self, app: &App, action: &'static str, object: String) {
        let Self { request, peer } = self;
        let (tenant, actor) = (TenantId::default(), Actor::Nobody);
        let status = StatusCode::UNAUTHORIZED.as_u16();
        let act = Act { tenant, actor, action: action.into(), object, status, request, peer };
        let there = app.clone();
        drop(app.tasks.spawn("refusal", async move {
            record(&there, &act).await;
        }));
    }
}

/// What a key that was refused is called: its id, if it has the form of one, and nothing of it otherwise.
pub(crate) fn name_of_key(shown: &[u8]) -> String {
    let key = std::str::from_utf8(shown).ok().and_then(|text| text.parse::<ApiKey>().ok());
    key.map_or_else(|| "not a key of this server".into(), |key| format!("key/{}", key.id()))
}

/// What the request was about, where its path does not say it: among the extensions of the answer.
#[derive(Clone, Debug)]
pub(crate) struct Touched {
    pub object: String,
    /// Where it is not the caller's tenant, or the one in the path.
    pub tenant: Option<TenantId>,
}

impl Touched {
    pub fn mark(response: &mut Response, object: String) {
        response.extensions_mut().insert(Self { object, tenant: None });
    }
}

const TRIES: u32 = 3;
const BETWEEN_TRIES: Duration = Duration::from_millis(200);

/// What a request names is as long as its writer liked.
const LONGEST: usize = 300;

/// One act that is under way.
pub(crate) struct AuditedAct(Act);

impl AuditedAct {
    pub fn new(
        action: &'static str,
        caller: &Caller,
        route: Option<&MatchedPath>,
        path: &str,
        request: &str,
        peer: Option<String>,
    ) -> Self {
        let ids = route.map_or_else(Vec::new, |route| ids(route.as_str(), path));
        let named = ids.iter().find(|(name, _)| *name == "tenant").and_then(|(_, text)| text.parse().ok());
        let kind = action.split('.').next().unwrap_or(action);
        let object = ids.last().map_or_else(String::new, |(name, text)| match *name {
            "tenant" if kind != "tenant" => format!("{kind} of tenant/{text}"),
            _ => format!("{kind}/{text}"),
        });
        Self(Act {
            tenant: named.unwrap_or_else(|| caller.tenant.clone()),
            actor: caller.actor.clone(),
            action: action.into(),
            object: shortened(object),
            status: 0,
            request: Some(request.into()),
            peer,
        })
    }

    fn finished(self, response: &Response) -> Option<Act> {
        let Self(mut act) = self;
        let touched = response.extensions().get().cloned();
        if response.status().is_client_error() && touched.is_none() {
            return None;
        }
        act.status = response.status().as_u16();
        if let Some(Touched { object, tenant }) = touched {
            act.object = shortened(object);
            act.tenant = tenant.unwrap_or(act.tenant);
        }
        Some(act)
    }
}

/// What stands in the path where its template has names.
fn ids<'t>(template: &'t str, path: &str) -> Vec<(&'t str, String)> {
    let name = |part: &'t str| part.strip_prefix('{')?.strip_suffix('}');
    let parts = template.split('/').zip(path.split('/'));
    parts.filter_map(|(part, text)| Some((name(part)?, plain(text)))).collect()
}

/// As it came, but for what could break a line.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Runs the request and writes down what it did.
pub(crate) async fn watched(app: &App, watch: AuditedAct, request: Request, next: Next) -> Response {
    let app_there = app.clone();
    let act = async move {
        let response = unwatched(request, next).await;
        match watch.finished(&response) {
            // Whoever works on the database itself is the only one who could notice.
            Some(act) if !record(&app_there, &act).await && act.actor == Actor::Direct => {
                Problem::internal("the change was made, but could not be written to the audit log").into_response()
            }
            _ => response,
        }
    };
    match app.tasks.spawn("act", act).await {
        Ok(response) => response,
        Err(failed) => Problem::internal(failed.to_string()).into_response(),
    }
}

/// Runs the request.
pub(crate) async fn unwatched(request: Request, next: Next) -> Response {
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    answer.unwrap_or_else(|panic| {
        Problem::internal(format!("the handler panicked: {}", panic_message(panic.as_ref()))).into_response()
    })
}

/// Tells the store, and if it does not listen the log. Of what one key does very often only some is told; see [`Bounds`]. Says
/// whether the store has it, or does not need it.
pub(crate) async fn record(app: &App, act: &Act) -> bool {
    let Some(act) = app.bounds().admit(act) else { return true };
    let act = &*act;
    let id = EntryId::fresh();
    let mut why = String::new();
    for tried in 0..TRIES {
        if tried > 0 {
            tokio::time::sleep(BETWEEN_TRIES * tried).await;
        }
        match app.tenancy.record(id, act).await {
            Ok(()) => return true,
            Err(error) => why = error.to_string(),
        }
    }
    let Act { tenant, actor, action, object, status, request, peer } = act;
    let (request, peer) = (request.as_deref().unwrap_or("-"), peer.as_deref().unwrap_or("-"));
    tracing::error!(
        %tenant, %actor, action, object, status, request.id = request, peer,
        "cannot write to the audit log that {actor} did {action} to {object}: {why}"
    );
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_path_names_is_found_by_its_template() {
        let found = ids("/api/v1/tenants/{tenant}/keys/{key}", "/api/v1/tenants/acme/keys/4k2m%0a\u{7}");
        assert_eq!(found, [("tenant", "acme".to_owned()), ("key", "4k2m%0a?".to_owned())]);
        assert!(ids("/api/v1/jobs/cancel", "/api/v1/jobs/cancel").is_empty());
        let long = shortened("ü".repeat(1_000));
        assert_eq!(long.chars().count(), LONGEST + 1);
    }
}
