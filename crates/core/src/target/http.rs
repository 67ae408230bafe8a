//! Calls a URL: one request per attempt, with exactly this body.

mod headers;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use url::Url;

use super::{Body, Defaults, Route, Target, TargetKind, TargetOutline, TargetSecrets, TargetSyntax};
use crate::document::Asked;
use crate::limits::Limits;
use crate::retry::Backoff;
use crate::secret_map::SecretMap;
use crate::spec::{JobSpec, Mistakes, fields};

/// What the headers of a target are sealed for.
pub const HEADERS_PLACE: &str = "job/headers";

pub(super) const DEFAULTS: Defaults =
    Defaults { max_attempts: 8, backoff: Backoff::HTTP, timeout: Duration::from_secs(30) };

pub(super) const SYNTAX: TargetSyntax = TargetSyntax {
    field: "url",
    is_given: |spec| spec.url.is_some(),
    own: &[("/method", |spec| spec.method.is_some()), ("/headers", |spec| spec.headers.is_some())],
    read,
    secrets: |spec| spec.headers.as_mut(),
};

/// Call `url` once per attempt, with exactly this body.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HttpTarget {
    pub url: url::Url,
    pub method: String,
    #[serde(default, skip_serializing_if = "SecretMap::is_empty")]
    pub headers: SecretMap,
    #[serde(default, skip_serializing_if = "Body::is_none")]
    pub body: Body,
}

/// As lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpOutline {
    pub url: String,
    pub method: String,
}

impl TargetKind for HttpTarget {
    /// A worker of a version that cannot decrypt headers does not know the route of a request that has some.
    fn route(&self) -> Route {
        if self.headers.is_sealed() { Route::sealed_http() } else { Route::http() }
    }

    fn body(&self) -> &Body {
        &self.body
    }

    fn defaults(&self) -> Defaults {
        DEFAULTS
    }

    fn describe(&self, spec: &mut JobSpec) {
        spec.url = Some(self.url.to_string());
        spec.method = Some(self.method.clone());
        spec.headers = (!self.headers.is_empty()).then(|| self.headers.masked());
    }

    fn outline(&self) -> TargetOutline {
        TargetOutline::Http(HttpOutline { url: self.url.to_string(), method: self.method.clone() })
    }

    fn url(&self) -> Option<&Url> {
        Some(&self.url)
    }

    fn secrets(&self) -> Option<TargetSecrets<'_>> {
        Some(TargetSecrets { values: &self.headers, field: "headers", name: HEADERS_PLACE })
    }

    fn secrets_mut(&mut self) -> Option<&mut SecretMap> {
        Some(&mut self.headers)
    }

    fn voids_secrets_of(&self, kept: &Target) -> Option<&'static str> {
        let Target::Http(kept) = kept else { return None };
        let is_elsewhere = self.url.origin() != kept.url.origin();
        is_elsewhere.then_some("is not sent to another host than the one it was given for")
    }
}

impl HttpOutline {
    pub(super) fn describe(&self, asked: &mut Asked) {
        asked.url = Some(self.url.clone());
        asked.method = Some(self.method.clone());
    }
}

fn read(spec: JobSpec, body: Body, limits: &Limits, mistakes: &mut Mistakes) -> Option<Target> {
    let method = method(spec.method.as_deref(), mistakes);
    let headers = headers::judge(spec.headers.unwrap_or_default(), mistakes);
    let url = fields::url("/url", &spec.url?, limits, mistakes)?;
    Some(Target::Http(HttpTarget { url, method, headers: headers.into(), body }))
}

fn method(given: Option<&str>, mistakes: &mut Mistakes) -> String {
    const METHODS: [&str; 6] = ["POST", "PUT", "PATCH", "GET", "DELETE", "HEAD"];
    let method = given.unwrap_or("POST").to_ascii_uppercase();
    if !METHODS.contains(&method.as_str()) {
        mistakes.add("/method", format!("{method:?} is not one of {}", METHODS.join(", ")));
    }
    method
}
