//! The `.proto` in the repository says what is on the wire, and neither changes by itself.

use std::collections::BTreeMap;

use foreman_conformance::transport::a_job;
use foreman_core::{JobId, Lane};
use foreman_kafka::TopicKind;
use foreman_kafka::message::{AnnouncedLane, JobAnnounced};
use prost::Message as _;

use crate::broker::shared;
use crate::stage::{Site, config, publish};

const PROTO: &str = include_str!("../../proto/foreman/v1/job_announced.proto");

/// The lines of a block, without comments: `type name = number;` as name and number with its type.
fn block(header: &str) -> BTreeMap<String, (u32, String)> {
    let (_, rest) = PROTO.split_once(&format!("{header} {{\n")).expect("the block is there");
    let (body, _) = rest.split_once("\n}").expect("it ends");
    let mut fields = BTreeMap::new();
    for line in body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        let (left, number) = line.strip_suffix(';').and_then(|line| line.split_once(" = ")).expect("name = number;");
        let (kind, name) = left.rsplit_once(' ').unwrap_or(("", left));
        let before = fields.insert(name.to_owned(), (number.parse().expect("a number"), kind.to_owned()));
        assert!(before.is_none(), "{name} is there twice");
    }
    fields
}

/// The fields of an encoded message: number, wire type and value.
fn wire(mut bytes: &[u8]) -> BTreeMap<u32, (u32, Vec<u8>)> {
    let mut fields = BTreeMap::new();
    while !bytes.is_empty() {
        let tag = prost::encoding::decode_varint(&mut bytes).expect("a tag");
        let (number, kind) = ((tag >> 3) as u32, (tag & 7) as u32);
        let value = match kind {
            0 => prost::encoding::decode_varint(&mut bytes).expect("a number").to_string().into_bytes(),
            2 => {
                let length = prost::encoding::decode_varint(&mut bytes).expect("a length") as usize;
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                value.to_vec()
            }
            other => panic!("no field has wire type {other}"),
        };
        assert!(fields.insert(number, (kind, value)).is_none(), "field {number} is there twice");
    }
    fields
}

#[test]
fn the_numbers_of_fields_are_frozen() {
    let frozen: BTreeMap<String, (u32, String)> = [
        ("version", 1, "uint32"),
        ("job_id", 2, "bytes"),
        ("attempt", 3, "uint32"),
        ("lane", 4, "Lane"),
        ("tenant", 5, "string"),
        ("queue", 6, "string"),
        ("route", 7, "string"),
    ]
    .into_iter()
    .map(|(name, number, kind)| (name.to_owned(), (number, kind.to_owned())))
    .collect();
    assert_eq!(block("message JobAnnounced"), frozen);
    assert!(PROTO.contains("syntax = \"proto3\";") && PROTO.contains("package foreman.v1;"));
}

#[test]
fn what_is_sent_is_what_the_schema_says() {
    let fields = block("message JobAnnounced");
    let message = JobAnnounced {
        version: 11,
        job_id: b"the id".to_vec(),
        attempt: 12,
        lane: AnnouncedLane::Low as i32,
        tenant: "the tenant".into(),
        queue: "the queue".into(),
        route: "the route".into(),
    };
    let sent = wire(&message.encode_to_vec());
    let expected = [
        ("version", "11"),
        ("job_id", "the id"),
        ("attempt", "12"),
        ("lane", "3"),
        ("tenant", "the tenant"),
        ("queue", "the queue"),
        ("route", "the route"),
    ];
    assert_eq!((sent.len(), fields.len()), (expected.len(), expected.len()), "every field is compared");
    for (name, value) in expected {
        let (number, kind) = &fields[name];
        let wire_type = if ["bytes", "string"].contains(&kind.as_str()) { 2 } else { 0 };
        assert_eq!(sent[number], (wire_type, value.as_bytes().to_vec()), "{name}");
    }
}

/// The trace is named after the job, as in the requests that targets receive, so one search finds both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_carries_the_trace_and_the_correlation_in_its_headers() {
    let site = Site::of(config(&shared(), 1)).await;
    let mut jobs = [a_job(Lane::High), a_job(Lane::Low)];
    jobs[0].correlation_id = Some("order 7 ü".into());
    publish(&site.publisher(), &jobs).await;
    let trace = |headers: &[(String, String)], job: JobId| {
        let (name, value) = headers[0].clone();
        let parts: Vec<&str> = value.split('-').collect();
        assert_eq!((name.as_str(), parts[0], parts[3], parts.len()), ("traceparent", "00", "01", 4), "{value}");
        assert_eq!((parts[1], parts[2].len()), (job.0.simple().to_string().as_str(), 16), "{value}");
    };
    let (key, headers) = site.first_message(TopicKind::High);
    trace(&headers, jobs[0].job);
    assert_eq!((key, &headers[1..]), (jobs[0].job.to_string(), &[("correlation-id".into(), "order 7 ü".into())][..]));
    let (_, headers) = site.first_message(TopicKind::Low);
    trace(&headers, jobs[1].job);
    assert_eq!(headers.len(), 1, "a job without a correlation id");
}

#[test]
fn lanes_are_numbered_as_the_schema_says() {
    let lanes = [
        ("LANE_UNSPECIFIED", AnnouncedLane::Unspecified),
        ("LANE_HIGH", AnnouncedLane::High),
        ("LANE_NORMAL", AnnouncedLane::Normal),
        ("LANE_LOW", AnnouncedLane::Low),
    ];
    let numbers: BTreeMap<String, u32> =
        block("enum Lane").into_iter().map(|(name, (number, _))| (name, number)).collect();
    assert_eq!(numbers, lanes.into_iter().map(|(name, lane)| (name.to_owned(), lane as u32)).collect());
}
