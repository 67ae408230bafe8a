//! One request and its answer.

use std::time::Duration;

use foreman_protocol::document::ProblemDocument;
use reqwest::header::IF_MATCH;
use reqwest::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::{CALL_TIMEOUT, Client, Error, Transport};

/// Whose data an operator's request is about.
const TENANT: &str = "foreman-tenant";

/// One page of a list; `cursor` is `next` of the page before.
#[derive(Serialize)]
pub(crate) struct PageQuery<'a> {
    pub limit: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
}

/// How much of an answer that is not ours is worth repeating.
const EXCERPT: usize = 200;

impl Client {
    /// `path` is below `/api/v1/`; its segments are escaped here.
    pub(crate) fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .expect("an http address has a path, and `address` lets nothing else through")
            .pop_if_empty()
            .extend(["api", "v1"])
            .extend(path);
        url
    }

    pub(crate) fn request(&self, method: Method, url: &Url) -> reqwest::RequestBuilder {
        let request = self.http.request(method, url.clone());
        match &self.tenant {
            Some(tenant) => request.header(TENANT, tenant.clone()),
            None => request,
        }
    }

    pub(crate) async fn get_json<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &impl Serialize,
        timeout: Duration,
    ) -> Result<T, Error> {
        let url = self.url(path);
        let request = self.request(Method::GET, &url).query(query).timeout(timeout);
        read(&url, self.send(&url, request).await?)
    }

    pub(crate) async fn post_json<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
        timeout: Duration,
    ) -> Result<T, Error> {
        let url = self.url(path);
        let request = self.request(Method::POST, &url).json(body).timeout(timeout);
        read(&url, self.send(&url, request).await?)
    }

    /// A question that has a body, too.
    pub(crate) async fn post_json_asking<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &impl Serialize,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let url = self.url(path);
        let request = self.request(Method::POST, &url).query(query).json(body).timeout(CALL_TIMEOUT);
        read(&url, self.send(&url, request).await?)
    }

    /// A verb on a thing, without a body.
    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, Error> {
        let url = self.url(path);
        read(&url, self.send(&url, self.request(Method::POST, &url).timeout(CALL_TIMEOUT)).await?)
    }

    /// A body under a condition: the schedule must be at this version.
    pub(crate) async fn send_if<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&impl Serialize>,
        version: Option<i64>,
    ) -> Result<T, Error> {
        let url = self.url(path);
        let request = Self::if_at(self.request(method, &url), version);
        let request = body.into_iter().fold(request, reqwest::RequestBuilder::json);
        read(&url, self.send(&url, request).await?)
    }

    /// The same without a body, and without a look at the answer.
    pub(crate) async fn call_blind_if(&self, method: Method, path: &[&str], version: Option<i64>) -> Result<(), Error> {
        let url = self.url(path);
        self.send(&url, Self::if_at(self.request(method, &url), version)).await.map(drop)
    }

    fn if_at(request: reqwest::RequestBuilder, version: Option<i64>) -> reqwest::RequestBuilder {
        let request = request.timeout(CALL_TIMEOUT);
        match version {
            Some(version) => request.header(IF_MATCH, format!("\"{version}\"")),
            None => request,
        }
    }

    /// Whatever the answer says beside its status is not looked at.
    pub(crate) async fn call_blind(&self, method: Method, path: &[&str]) -> Result<(), Error> {
        let url = self.url(path);
        self.send(&url, self.request(method, &url).timeout(CALL_TIMEOUT)).await.map(drop)
    }

    async fn send(&self, url: &Url, request: reqwest::RequestBuilder) -> Result<RawAnswer, Error> {
        let failed = |error: reqwest::Error| {
            if error.is_builder() {
                return Error::Setup(format!("could not create the request: {error}"));
            }
            Error::of_transport(url, &error)
        };
        let request = request.build().map_err(failed)?;
        let RawAnswer { status, body } = if let Some(transport) = &self.transport {
            carry(transport.as_ref(), url, &request).await?
        } else {
            let response = self.http.execute(request).await.map_err(failed)?;
            RawAnswer { status: response.status(), body: response.bytes().await.map_err(failed)?.to_vec() }
        };
        if status.is_success() { Ok(RawAnswer { status, body }) } else { Err(refusal(url, status, &body)) }
    }
}

struct RawAnswer {
    status: StatusCode,
    body: Vec<u8>,
}

/// The same request, past the network.
async fn carry(transport: &dyn Transport, url: &Url, request: &reqwest::Request) -> Result<RawAnswer, Error> {
    let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default().to_vec();
    let mut carried = http::Request::new(body);
    *carried.method_mut() = request.method().clone();
    *carried.headers_mut() = request.headers().clone();
    *carried.uri_mut() = request
        .url()
        .as_str()
        .parse()
        .map_err(|error: http::uri::InvalidUri| Error::Setup(format!("could not create the request: {error}")))?;
    let response =
        transport.send(carried).await.map_err(|why| Error::Away { url: url.origin().ascii_serialization(), why })?;
    Ok(RawAnswer { status: response.status(), body: response.into_body() })
}

fn read<T: DeserializeOwned>(url: &Url, answer: RawAnswer) -> Result<T, Error> {
    serde_json::from_slice(&answer.body)
        .map_err(|error| bad(url, format!("status {} with {error}: {}", answer.status, excerpt(&answer.body))))
}

pub(crate) fn refusal(url: &Url, status: StatusCode, body: &[u8]) -> Error {
    match serde_json::from_slice::<ProblemDocument>(body) {
        Ok(problem) => Error::Problem(Box::new(problem)),
        Err(_) => bad(url, format!("status {status}: {}", excerpt(body))),
    }
}

pub(crate) fn bad(url: &Url, why: String) -> Error {
    Error::BadAnswer { url: url.origin().ascii_serialization(), why }
}

fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(EXCERPT)]);
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.trim().is_empty() { "an empty response".into() } else { text.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_the_user_cannot_leave_its_segment_of_the_path() {
        let client = Client::new("http://127.0.0.1:1/below", None).expect("valid");
        let url = client.url(&["jobs", "../../x?y#z"]);
        assert_eq!(url.as_str(), "http://127.0.0.1:1/below/api/v1/jobs/..%2F..%2Fx%3Fy%23z");
    }

    #[test]
    fn an_answer_of_another_program_is_named_as_such() {
        let url: Url = "http://127.0.0.1:1/api/v1/jobs".parse().expect("valid");
        let error = refusal(&url, StatusCode::NOT_FOUND, b"<html>\nnot here</html>");
        assert!(matches!(error, Error::BadAnswer { .. }));
        assert!(error.to_string().contains("<html> not here</html>"), "{error}");
    }
}
