//! The Rust SDK: submit jobs to a Foreman server and follow them.
//!
//! A [`Client`] is cheap to clone and holds a pool of connections. Every call has a timeout. Nothing is retried behind
//! the caller's back: a submission whose answer was lost may have been accepted, and only an `idempotency_key` makes it
//! safe to send again.
//!
//! ```no_run
//! use std::time::Duration;
//! use foreman_client::{Client, JobSpec, State};
//!
//! # async fn example() -> Result<(), foreman_client::Error> {
//! let client = Client::new("http://127.0.0.1:8080", None)?;
//! let job = client
//!     .submit(&JobSpec {
//!         url: Some("http://127.0.0.1:8080/dev/echo".into()),
//!         body: Some("hello".into()),
//!         idempotency_key: Some("greeting-1".into()),
//!         ..JobSpec::default()
//!     })
//!     .await?;
//! let job = client.wait(&job.id, Some(Duration::from_secs(60))).await?;
//! assert_eq!(job.state, State::Completed);
//! # Ok(())
//! # }
//! ```
//!
//! Whoever wants to know what happens follows the [`Stream`], which resumes by itself after every break:
//!
//! ```no_run
//! # async fn example(client: foreman_client::Client) -> Result<(), foreman_client::Error> {
//! use foreman_client::{Event, Follow, StreamItem};
//!
//! let mut stream = client.stream(Follow::everything().queue("mail").with_snapshot()).await?;
//! loop {
//!     match stream.next().await? {
//!         StreamItem::Event(received) => match received.event {
//!             Event::Job(job) => println!("{} is {}", job.id, job.state),
//!             Event::Reset(reset) => println!("something may have been missed: {}", reset.detail),
//!             _ => {}
//!         },
//!         StreamItem::Broken { why, .. } => println!("{why}"),
//!         StreamItem::Resumed => println!("back"),
//!     }
//! }
//! # }
//! ```

mod audit;
mod batch;
mod call;
mod error;
mod jobs;
mod keys;
mod pages;
mod parked;
mod queues;
mod schedules;
mod stream;
mod tenants;
mod transport;
mod wait;
mod wait_for;
mod webhooks;

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Once};
use std::time::Duration;

use foreman_protocol::id::{NotATenantId, TenantId};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use url::{Host, Url};

pub use batch::BatchItem;
pub use error::Error;
pub use foreman_protocol::document::{
    AttemptDocument, AuditDocument, BulkAnswer, DeliveryDocument, FailureGroupDocument, FailureGroupsDocument,
    FilterDocument, HeartbeatEvent, JobDocument, JobEvent, KeyDocument, KeyState, ListDocument, MadeKeyDocument,
    NewKeyDocument, NewTenantDocument, PreviewDocument, ProblemDocument, QueueDocument, QueueEvent, ResetEvent,
    ResetReason, RotateKeyDocument, RotateSecretDocument, ScheduleDocument, ScheduleEvent, ScheduleFields,
    ScheduleState, ScheduleWhat, SecretDocument, SnapshotEvent, TenantDocument, TenantPatchDocument, TickDocument,
    TicketDocument, WebhookDocument, WhoamiDocument, WorkerDocument, WorkerEvent,
};
pub use foreman_protocol::duration::Span;
pub use foreman_protocol::output::{OutputChunk, OutputLine, OutputStream};
pub use foreman_protocol::schedule::{
    DstGap, DstOverlap, Missed, Overlap, PreviewItem, ScheduleSpec, TickReason, TickState,
};
pub use foreman_protocol::scope::{Scope, Scopes};
pub use foreman_protocol::spec::{BackoffSpec, CommandSpec, JobSpec};
pub use foreman_protocol::tenant::{Limit, LimitOverrides, Programs, Variables, Weight};
pub use foreman_protocol::webhook::{WebhookPatch, WebhookSpec};
pub use foreman_protocol::{Lane, State, Timestamp};
pub use pages::Pages;
pub use stream::{Event, Follow, Stream, StreamEvent, StreamItem};
pub use transport::{ResponseFuture, Transport};

/// A connection that is not there after this will not come.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// For a call that does not wait for anything on the server.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// A bulk call walks through every job that matches.
const BULK_TIMEOUT: Duration = Duration::from_mins(10);

/// What a request that never reaches the network names as its server.
const NO_ADDRESS: &str = "http://127.0.0.1";

/// Speaks to one server.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    /// Carries requests in place of the network.
    transport: Option<Arc<dyn Transport>>,
    base: Url,
    tenant: Option<HeaderValue>,
}

impl Client {
    /// `base_url` is where the server listens, such as `http://127.0.0.1:8080`; the key is sent as a bearer token.
    ///
    /// A server on the loopback is reached directly, whatever proxy the environment names.
    pub fn new(base_url: &str, api_key: Option<&str>) -> Result<Self, Error> {
        let base = address(base_url)?;
        install_tls();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("foreman-client/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            // A hidden second request is a second job.
            .retry(reqwest::retry::never());
        if is_loopback(&base) {
            builder = builder.no_proxy();
        }
        if let Some(key) = api_key {
            builder = builder.default_headers(bearer(key)?);
        }
        let http = builder.build().map_err(|error| Error::Setup(error.to_string()))?;
        Ok(Self { http, transport: None, base, tenant: None })
    }

    /// Sends every call through `transport` instead of over the network. There is no event stream that way.
    pub fn through(transport: Arc<dyn Transport>) -> Result<Self, Error> {
        Ok(Self { transport: Some(transport), ..Self::new(NO_ADDRESS, None)? })
    }

    /// The same, for the data of this tenant. An operator's key opens every tenant's; any other opens its own and no other.
    pub fn for_tenant(&self, tenant: &str) -> Result<Self, Error> {
        let tenant: TenantId = tenant.parse().map_err(|error: NotATenantId| Error::Setup(error.to_string()))?;
        let value = HeaderValue::from_str(tenant.as_str())
            .map_err(|_| Error::Setup("the tenant id cannot be sent in a header".into()))?;
        Ok(Self { tenant: Some(value), ..self.clone() })
    }

    /// Where it was told the server is.
    pub fn base_url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

fn address(text: &str) -> Result<Url, Error> {
    let refuse = |why: String| Error::Setup(format!("{text:?} is not a server URL: {why}"));
    let mut url = Url::parse(text).map_err(|error| refuse(format!("{error}; write it like http://127.0.0.1:8080")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse("it must begin with http:// or https://".into()));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("it must not have a query or a fragment".into()));
    }
    // Paths are joined below the base, and a base without its slash would lose its last segment.
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}

fn bearer(key: &str) -> Result<HeaderMap, Error> {
    let mut value = HeaderValue::try_from(format!("Bearer {key}"))
        .map_err(|_| Error::Setup("the API key contains characters that cannot be sent in a header".into()))?;
    value.set_sensitive(true);
    Ok(HeaderMap::from_iter([(AUTHORIZATION, value)]))
}

/// TLS needs one provider for the whole process. Whoever installed one before us is right.
fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Already installed by the program we are linked into: theirs is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_path_and_says_what_is_wrong_with_it() {
        assert_eq!(address("http://127.0.0.1:8080").expect("valid").as_str(), "http://127.0.0.1:8080/");
        assert_eq!(address("https://jobs.example/foreman").expect("valid").as_str(), "https://jobs.example/foreman/");
        for wrong in ["127.0.0.1:8080", "localhost:8080", "ftp://here", "http://a/?b", ""] {
            let said = address(wrong).expect_err(wrong).to_string();
            assert!(said.contains(wrong) && said.contains("not a server URL"), "{said}");
        }
    }

    #[test]
    fn a_server_on_the_loopback_is_known_as_such() {
        for (text, expected) in [
            ("http://127.0.0.1:1", true),
            ("http://127.8.8.8", true),
            ("http://[::1]:80", true),
            ("http://localhost", true),
            ("http://foreman.localhost", true),
            ("http://10.0.0.1", false),
            ("https://localhost.example.com", false),
        ] {
            assert_eq!(is_loopback(&address(text).expect("valid")), expected, "{text}");
        }
    }

    #[test]
    fn a_key_is_neither_printed_nor_sent_broken() {
        let client = Client::new("http://127.0.0.1:1", Some("sk-secret")).expect("valid");
        assert!(!format!("{client:?}").contains("secret"));
        let said = Client::new("http://127.0.0.1:1", Some("a\nb")).expect_err("not a header").to_string();
        assert!(said.contains("API key") && !said.contains("a\nb"), "{said}");
    }
}
