//! What a target answered: judged by its status, read up to a limit, kept in part.

use std::time::Duration;

use foreman_core::Timestamp;
use foreman_core::outcome::{AttemptEnd, HttpReport, Report};
use foreman_runtime::clock;
use http::header::{self, HeaderMap, HeaderName};
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::Config;
use super::call::Judge;
use super::connect::{Authority, root_cause};
use super::pool::Wire;
use super::retry_after::retry_after;
use crate::target::TryEnding;
use crate::target::excerpt::{Excerpt, readable};

/// The status line and headers, with the body still to come.
pub(super) type Head = Response<Incoming>;

/// What is worth keeping of the headers, and nothing that may be a secret, such as a cookie.
const KEPT_HEADERS: [HeaderName; 9] = [
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::CONTENT_ENCODING,
    header::LOCATION,
    header::RETRY_AFTER,
    header::DATE,
    header::SERVER,
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("traceparent"),
];
const MAX_HEADER_VALUE: usize = 1_024;

pub(super) struct HttpAnswer {
    status: StatusCode,
    headers: Vec<(String, String)>,
    retry_after: Option<Duration>,
    body: Incoming,
    excerpt: Excerpt,
    read_limit: usize,
    bytes_read: usize,
}

pub(super) enum BodyRead {
    /// To its end.
    Whole,
    /// There was more than we read.
    TooLong,
    /// It ended before its end, and why.
    Broken(String),
}

impl HttpAnswer {
    pub(super) fn begin(head: Head, config: &Config) -> Self {
        let (head, body) = head.into_parts();
        Self {
            status: head.status,
            headers: kept(&head.headers),
            retry_after: retry_after(&head.headers, Timestamp::from_micros(clock::now())),
            body,
            excerpt: Excerpt::new(config.keep_limit),
            read_limit: config.read_limit,
            bytes_read: 0,
        }
    }

    /// May be dropped at any await: what was read until then is kept.
    pub(super) async fn read(&mut self, wire: &mut Wire) -> BodyRead {
        while let Some(frame) = wire.drive(self.body.frame()).await {
            let frame = match frame {
                Ok(frame) => frame,
                Err(error) => return BodyRead::Broken(root_cause(&error)),
            };
            let Some(bytes) = frame.data_ref() else { continue };
            self.excerpt.push(bytes);
            self.bytes_read += bytes.len();
            if self.bytes_read > self.read_limit {
                return BodyRead::TooLong;
            }
        }
        BodyRead::Whole
    }

    pub(super) fn end(mut self, authority: &Authority, read: &BodyRead, judge: Judge) -> TryEnding {
        let said = judge(self.status.as_u16(), self.retry_after);
        let (ended, error) = match (said, read) {
            // It said yes and then broke off: the work may be half done, and nobody can tell.
            (AttemptEnd::Completed, BodyRead::Broken(why)) => {
                let error = format!(
                    "{authority} answered {}, but the response broke off after {} bytes: {why}",
                    self.status, self.bytes_read
                );
                (AttemptEnd::Again { after: None }, Some(error))
            }
            (AttemptEnd::Completed, _) => (said, None),
            _ if self.status.is_redirection() => {
                (said, Some(format!("{authority} answered {}; redirects are not followed", self.status)))
            }
            _ => (said, Some(format!("{authority} answered {}", self.status))),
        };
        if matches!(read, BodyRead::TooLong) {
            self.excerpt.mark_cut();
        }
        TryEnding { ended, report: self.into_report(error) }
    }

    /// Stopped while the body was still coming.
    pub(super) fn end_stopped(self, authority: &Authority) -> TryEnding {
        let error = format!("stopped while {authority} was answering {}, after {} bytes", self.status, self.bytes_read);
        TryEnding { ended: AttemptEnd::Interrupted, report: self.into_report(Some(error)) }
    }

    fn into_report(self, error: Option<String>) -> Report {
        let (body, truncated) = self.excerpt.into_text();
        let response = HttpReport { status: self.status.as_u16(), headers: self.headers, body, truncated };
        Report { error, response: Some(response), ..Report::default() }
    }
}

fn kept(headers: &HeaderMap) -> Vec<(String, String)> {
    let values = |name: &HeaderName| headers.get(name).map(|value| (name.to_string(), shortened(value.as_bytes())));
    KEPT_HEADERS.iter().filter_map(values).collect()
}

fn shortened(value: &[u8]) -> String {
    let mut text = readable(value);
    text.truncate(text.floor_char_boundary(MAX_HEADER_VALUE));
    text
}

/// Why no answer came over a connection that was open.
pub(super) fn lost(authority: &Authority, error: &hyper::Error) -> String {
    if error.is_incomplete_message() || error.is_canceled() {
        format!("{authority} closed the connection before it answered")
    } else if error.is_parse() {
        format!("{authority} did not answer with valid HTTP/1.1: {}", root_cause(error))
    } else {
        format!("the connection to {authority} broke before it answered: {}", root_cause(error))
    }
}
