//! What a client asks of the stream: its query, and where it wants to go on.

use foreman_core::JobId;
use foreman_core::job::QueueName;
use http::{HeaderMap, HeaderName};
use serde::Deserialize;

use super::filter::StreamFilter;
use crate::problem::Problem;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

const MOST_JOBS: usize = 100;
const MOST_OTHERS: usize = 20;
/// Of a kind or a tag; those of jobs are no longer.
const LONGEST: usize = 200;

#[derive(Default, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamParams {
    /// Only these jobs: comma-separated ids, at most 100.
    #[param(value_type = Option<String>)]
    job: Option<String>,
    /// Only jobs of these queues, comma-separated, at most 20.
    #[param(value_type = Option<String>)]
    queue: Option<String>,
    /// Only jobs of these kinds, comma-separated, at most 20.
    #[param(value_type = Option<String>)]
    kind: Option<String>,
    /// Only jobs with one of these tags, comma-separated, at most 20.
    #[param(value_type = Option<String>)]
    tag: Option<String>,
    /// Send the current state first: the jobs named by `job`, or the newest 1,000 that match. With several queues,
    /// kinds or tags, only the newest 10,000 jobs are searched, and `complete` says whether that was all. Not sent to a
    /// client that resumes.
    #[param(value_type = Option<bool>)]
    snapshot: Option<bool>,
    /// Resume after the event with this `id:`.
    after: Option<String>,
    /// A ticket instead of a key.
    ticket: Option<String>,
    /// The tenant, for operators who cannot send the header `Foreman-Tenant`.
    tenant: Option<String>,
}

#[derive(Debug)]
pub(super) struct StreamRequest {
    pub filter: StreamFilter,
    pub snapshot: bool,
    /// As the client sent it.
    pub after: Option<String>,
}

impl StreamRequest {
    pub fn read(params: StreamParams, headers: &HeaderMap) -> Result<Self, Problem> {
        let jobs = listed("job", params.job.as_deref(), MOST_JOBS, |text| {
            text.parse::<JobId>().map_err(|_| format!("{text:?} is not a job id"))
        })?;
        let queues = listed("queue", params.queue.as_deref(), MOST_OTHERS, |text| {
            text.parse::<QueueName>().map_err(|error| error.to_string())
        })?;
        let kinds = listed("kind", params.kind.as_deref(), MOST_OTHERS, named)?;
        let tags = listed("tag", params.tag.as_deref(), MOST_OTHERS, named)?;
        // What cannot be read is no cursor in the log, like one that was made up.
        let resumed = headers.get(LAST_EVENT_ID).map(|value| value.to_str().unwrap_or("?").to_owned());
        let after = resumed.filter(|text| !text.is_empty()).or(params.after).filter(|text| !text.is_empty());
        Ok(Self {
            filter: StreamFilter { jobs, queues, kinds, tags },
            snapshot: params.snapshot.unwrap_or_default(),
            after,
        })
    }
}

fn named(text: &str) -> Result<String, String> {
    if text.len() > LONGEST { Err(format!("longer than {LONGEST} bytes")) } else { Ok(text.to_owned()) }
}

/// The parts of a list with commas; `None` when it is not given. One that is given and empty would match nothing: a mistake.
fn listed<T: PartialEq>(
    name: &str,
    text: Option<&str>,
    most: usize,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<Vec<T>>, Problem> {
    let wrong = |why: String| Problem::invalid_request(format!("in the query: {name}: {why}"));
    let Some(text) = text else { return Ok(None) };
    let mut parts = Vec::new();
    for part in text.split(',').map(str::trim) {
        if part.is_empty() {
            return Err(wrong("the list has an empty entry; leave the parameter out to see everything".into()));
        }
        if parts.len() == most {
            return Err(wrong(format!("more than {most}; open a second stream, or leave the filter out")));
        }
        let part = read(part).map_err(wrong)?;
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    Ok(Some(parts))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn asked(params: StreamParams, last: Option<&str>) -> Result<StreamRequest, Problem> {
        let value = last.map(|text| HeaderValue::from_str(text).expect("a header"));
        StreamRequest::read(params, &value.into_iter().map(|value| (LAST_EVENT_ID, value)).collect())
    }

    #[test]
    fn the_header_wins_and_what_is_empty_is_not_given() {
        let params = || StreamParams { after: Some("query".into()), ..StreamParams::default() };
        for (last, expected) in [(Some("header"), "header"), (None, "query"), (Some(""), "query")] {
            assert_eq!(asked(params(), last).expect("fits").after.as_deref(), Some(expected));
        }
        let empty = StreamParams { after: Some(String::new()), ..StreamParams::default() };
        assert_eq!(asked(empty, None).expect("fits").after, None);
    }

    #[test]
    fn lists_are_read_part_by_part_and_told_what_is_wrong_with_them() {
        let id = JobId::fresh();
        let params = StreamParams {
            job: Some(format!("{id}, {id}")),
            queue: Some("a,b".into()),
            kind: Some("mail".into()),
            ..StreamParams::default()
        };
        let filter = asked(params, None).expect("fits").filter;
        assert_eq!(filter.jobs, Some(vec![id]), "once is enough");
        assert_eq!(filter.queues.expect("given").len(), 2);
        assert_eq!((filter.kinds, filter.tags), (Some(vec!["mail".to_owned()]), None));

        let of = |name: &str, text: String| {
            let mut params = StreamParams::default();
            match name {
                "job" => params.job = Some(text),
                "queue" => params.queue = Some(text),
                "kind" => params.kind = Some(text),
                _ => params.tag = Some(text),
            }
            asked(params, None).expect_err("refused").detail
        };
        let ids = |count: usize| (0..count).map(|_| JobId::fresh().to_string()).collect::<Vec<_>>().join(",");
        let names = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        for (name, text, why) in [
            ("job", "nonsense".to_owned(), "not a job id"),
            ("job", String::new(), "empty"),
            ("job", ids(101), "more than 100"),
            ("queue", "a b".to_owned(), "not a queue name"),
            ("queue", names(21), "more than 20"),
            ("kind", ",".to_owned(), "empty"),
            ("kind", names(21), "more than 20"),
            ("tag", "x".repeat(201), "longer"),
            ("tag", names(21), "more than 20"),
        ] {
            let detail = of(name, text);
            assert!(detail.starts_with(&format!("in the query: {name}: ")) && detail.contains(why), "{detail}");
        }
    }
}
