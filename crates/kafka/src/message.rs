//! `foreman.v1`: what a message says, as it lies in Kafka.
//!
//! The schema is `proto/foreman/v1/job_announced.proto`; these types are written by hand beside it, so that building needs no protoc,
//! and a test compares the two. A message that cannot be read is never skipped in silence: [`decode`] says why, and the consumer
//! parks it.

use foreman_core::ports::Announcement;
use foreman_core::{JobId, TenantId, lane::Lane};
use prost::Message as _;
use rdkafka::message::{Header, OwnedHeaders};
use uuid::Uuid;

/// The version that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// The names of the headers.
pub const TRACEPARENT: &str = "traceparent";
pub const CORRELATION_ID: &str = "correlation-id";

/// `foreman.v1.JobAnnounced`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct JobAnnounced {
    #[prost(uint32, tag = "1")]
    pub version: u32,
    #[prost(bytes = "vec", tag = "2")]
    pub job_id: Vec<u8>,
    #[prost(uint32, tag = "3")]
    pub attempt: u32,
    #[prost(enumeration = "AnnouncedLane", tag = "4")]
    pub lane: i32,
    #[prost(string, tag = "5")]
    pub tenant: String,
    #[prost(string, tag = "6")]
    pub queue: String,
    #[prost(string, tag = "7")]
    pub route: String,
}

/// `foreman.v1.Lane`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum AnnouncedLane {
    Unspecified = 0,
    High = 1,
    Normal = 2,
    Low = 3,
}

/// What a consumer needs of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Announced {
    pub job: JobId,
    pub attempt: u32,
    pub lane: Lane,
    pub tenant: TenantId,
}

/// Why a message cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Undecodable {
    #[error("the message is empty")]
    Empty,
    #[error("not a foreman.v1.JobAnnounced: {0}")]
    Malformed(String),
    #[error("version {0} is not known here, only version {VERSION}: this worker may be older than the relay")]
    Version(u32),
    #[error("the job id has {0} bytes instead of 16")]
    JobId(usize),
    #[error("lane {0} is not known here")]
    Lane(i32),
    #[error("the tenant {0:?} cannot be one")]
    Tenant(String),
}

pub(crate) fn encode(announcement: &Announcement) -> Vec<u8> {
    let lane = match announcement.lane {
        Lane::High => AnnouncedLane::High,
        Lane::Normal => AnnouncedLane::Normal,
        Lane::Low => AnnouncedLane::Low,
    };
    let message = JobAnnounced {
        version: VERSION,
        job_id: announcement.job.0.as_bytes().to_vec(),
        attempt: announcement.attempt,
        lane: lane as i32,
        tenant: announcement.tenant.as_str().to_owned(),
        queue: announcement.queue.as_str().to_owned(),
        route: announcement.route.as_str().to_owned(),
    };
    message.encode_to_vec()
}

pub(crate) fn headers(announcement: &Announcement) -> OwnedHeaders {
    // The attempts of a job share a trace that is named after it, here as in what its target receives.
    let span = rand::random::<u64>().max(1);
    let trace = format!("00-{}-{span:016x}-01", announcement.job.0.simple());
    let headers = OwnedHeaders::new_with_capacity(2).insert(Header { key: TRACEPARENT, value: Some(&trace) });
    match &announcement.correlation_id {
        Some(id) => headers.insert(Header { key: CORRELATION_ID, value: Some(id) }),
        None => headers,
    }
}

pub(crate) fn decode(bytes: &[u8]) -> Result<Announced, Undecodable> {
    if bytes.is_empty() {
        return Err(Undecodable::Empty);
    }
    let message = JobAnnounced::decode(bytes).map_err(|error| Undecodable::Malformed(error.to_string()))?;
    if message.version != VERSION {
        return Err(Undecodable::Version(message.version));
    }
    let id = Uuid::from_slice(&message.job_id).map_err(|_| Undecodable::JobId(message.job_id.len()))?;
    let lane = match AnnouncedLane::try_from(message.lane) {
        Ok(AnnouncedLane::High) => Lane::High,
        Ok(AnnouncedLane::Normal) => Lane::Normal,
        Ok(AnnouncedLane::Low) => Lane::Low,
        Ok(AnnouncedLane::Unspecified) | Err(_) => return Err(Undecodable::Lane(message.lane)),
    };
    let tenant = message.tenant.parse().map_err(|_| Undecodable::Tenant(cut(message.tenant)))?;
    Ok(Announced { job: JobId(id), attempt: message.attempt, lane, tenant })
}

/// Short enough for a log.
fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(80) {
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use foreman_core::job::QueueName;
    use foreman_core::target::Route;
    use rdkafka::message::Headers as _;

    use super::*;

    fn announcement() -> Announcement {
        Announcement {
            job: JobId::fresh(),
            attempt: 3,
            lane: Lane::High,
            tenant: TenantId::new("acme"),
            queue: QueueName::from_stored("mail"),
            route: Route::task("resize"),
            correlation_id: Some("order 7 ü".into()),
        }
    }

    fn message() -> JobAnnounced {
        JobAnnounced::decode(&*encode(&announcement())).expect("it was encoded here")
    }

    fn refused(change: impl FnOnce(&mut JobAnnounced)) -> Undecodable {
        let mut message = message();
        change(&mut message);
        decode(&message.encode_to_vec()).expect_err("it must not be read")
    }

    #[test]
    fn what_is_announced_is_read_back() {
        for lane in Lane::ALL {
            let sent = Announcement { lane, ..announcement() };
            let Announcement { job, attempt, tenant, .. } = sent.clone();
            assert_eq!(decode(&encode(&sent)), Ok(Announced { job, attempt, lane, tenant }));
        }
    }

    #[test]
    fn fields_of_a_later_time_are_ignored() {
        let mut bytes = encode(&announcement());
        let known = decode(&bytes);
        // Number 900, a string.
        bytes.extend([0xa2, 0x38, 3, b'n', b'e', b'w']);
        assert_eq!(decode(&bytes), known);
        assert!(known.is_ok());
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_reason() {
        assert_eq!(decode(b""), Err(Undecodable::Empty));
        assert!(matches!(decode(b"{\"job\":1}"), Err(Undecodable::Malformed(_))));
        assert_eq!(refused(|it| it.version = 2), Undecodable::Version(2));
        assert_eq!(refused(|it| it.version = 0), Undecodable::Version(0));
        assert_eq!(refused(|it| it.lane = 0), Undecodable::Lane(0));
        assert_eq!(refused(|it| it.lane = 9), Undecodable::Lane(9));
        assert_eq!(refused(|it| it.job_id.truncate(15)), Undecodable::JobId(15));
        assert_eq!(refused(|it| it.tenant = String::new()), Undecodable::Tenant(String::new()));
        let long = refused(|it| it.tenant = "x".repeat(100_000)).to_string();
        assert!(long.len() < 200, "{long}");
    }

    #[test]
    fn bytes_of_any_kind_never_panic() {
        let whole = encode(&announcement());
        for end in 0..whole.len() {
            let _ = decode(&whole[..end]);
        }
        for seed in 0..2_000_u64 {
            let bytes: Vec<u8> = (0..seed % 90).map(|at| (seed.wrapping_mul(at + 77) >> 3) as u8).collect();
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn the_trace_is_named_after_the_job_and_the_correlation_goes_along() {
        let sent = announcement();
        let headers = headers(&sent);
        let trace = String::from_utf8(headers.get(0).value.expect("it has a value").to_vec()).expect("it is text");
        assert_eq!((headers.count(), headers.get(0).key, headers.get(1).key), (2, TRACEPARENT, CORRELATION_ID));
        assert!(trace.starts_with(&format!("00-{}-", sent.job.0.simple())) && trace.len() == 55, "{trace}");
        assert_eq!(headers.get(1).value, Some("order 7 ü".as_bytes()));
        let without = Announcement { correlation_id: None, ..sent };
        assert_eq!(super::headers(&without).count(), 1);
    }
}
