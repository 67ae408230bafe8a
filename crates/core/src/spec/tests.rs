use super::*;
use crate::lane::Lane;
use crate::retry::Backoff;

const NOW: Timestamp = Timestamp::from_micros(1_763_200_000_000_000);

fn judge(json: &str) -> Result<NewJob, Invalid> {
    let spec: JobSpec = serde_json::from_str(json).expect("a job's shape");
    spec.validate(&TenantId::default(), &Limits::default(), NOW)
}

fn mistakes(json: &str) -> Vec<String> {
    judge(json).expect_err(json).mistakes.into_iter().map(|mistake| mistake.pointer).collect()
}

#[test]
fn the_defaults_are_the_documented_ones() {
    let http = judge(r#"{"url":"https://example.com/hook"}"#).expect("valid").work;
    assert_eq!((http.max_attempts, http.timeout, http.lane), (8, Duration::from_secs(30), Lane::Normal));
    assert_eq!(http.queue.as_str(), "default");
    let command = judge(r#"{"command":["true"]}"#).expect("valid").work;
    assert_eq!((command.max_attempts, command.backoff), (3, Backoff::COMMAND));
    let task = judge(r#"{"task":"mail.send"}"#).expect("valid").work;
    assert_eq!((task.max_attempts, task.kind.as_deref()), (25, Some("mail.send")));
}

#[test]
fn exactly_one_target_is_required() {
    assert_eq!(mistakes(r#"{"payload":1}"#), [""]);
    assert_eq!(mistakes(r#"{"url":"http://a.example/","task":"t"}"#), [""]);
}

#[test]
fn every_mistake_is_reported_at_once() {
    let found =
        mistakes(r#"{"url":"ftp://x/","queue":"a b","max_attempts":0,"timeout":"0s","delay":"800d","method":"BREW"}"#);
    for pointer in ["/url", "/queue", "/max_attempts", "/timeout", "/delay", "/method"] {
        assert!(found.iter().any(|found| found == pointer), "{pointer} not in {found:?}");
    }
}

#[test]
fn each_field_names_its_own_mistake() {
    let big = format!(r#"{{"url":"http://a.example/","body":"{}"}}"#, "x".repeat(256 * 1024 + 1));
    for (json, pointer) in [
        (r#"{"command":[]}"#, "/command"),
        (r#"{"command":"  "}"#, "/command"),
        (r#"{"command":["a\u0000b"]}"#, "/command"),
        (r#"{"url":"http://user:pw@a.example/"}"#, "/url"),
        (r#"{"url":"not a url"}"#, "/url"),
        (r#"{"url":"http://a.example/","payload":1,"body":"x"}"#, "/body"),
        (r#"{"url":"http://a.example/","env":{"A":"b"}}"#, "/env"),
        (r#"{"command":["a"],"headers":{"a":"b"}}"#, "/headers"),
        (r#"{"command":["a"],"env":{"1A":"b"}}"#, "/env/1A"),
        (r#"{"command":["a"],"cwd":"relative"}"#, "/cwd"),
        (r#"{"url":"http://a.example/","headers":{"Host":"b"}}"#, "/headers/Host"),
        (r#"{"url":"http://a.example/","headers":{"Foreman-Fence":"1"}}"#, "/headers/Foreman-Fence"),
        (r#"{"url":"http://a.example/","headers":{"a":"x\r\ny"}}"#, "/headers/a"),
        (r#"{"url":"http://a.example/","run_at":"2026-11-15T09:00:00Z","delay":"1s"}"#, "/delay"),
        (r#"{"url":"http://a.example/","run_at":"2099-11-15T09:00:00Z"}"#, "/run_at"),
        (r#"{"url":"http://a.example/","expires_at":"2020-11-15T09:00:00Z"}"#, "/expires_at"),
        (r#"{"url":"http://a.example/","backoff":{"base":"10s","cap":"1s"}}"#, "/backoff/cap"),
        (r#"{"url":"http://a.example/","backoff":{"factor":0.5}}"#, "/backoff/factor"),
        (r#"{"url":"http://a.example/","tags":["ok",""]}"#, "/tags/1"),
        (r#"{"url":"http://a.example/","idempotency_key":""}"#, "/idempotency_key"),
        (r#"{"url":"http://a.example/","callback_url":"x"}"#, "/callback_url"),
        (r#"{"task":"a","kind":"b"}"#, "/kind"),
        (r#"{"task":"a b"}"#, "/task"),
        (&big, "/body"),
    ] {
        assert_eq!(mistakes(json), [pointer], "{json}");
    }
}

#[test]
fn an_unknown_field_is_refused_by_name() {
    let error = serde_json::from_str::<JobSpec>(r#"{"url":"http://a.example/","quue":"x"}"#).expect_err("unknown");
    assert!(error.to_string().contains("quue"), "{error}");
}

#[test]
fn a_time_in_the_past_runs_now() {
    assert_eq!(judge(r#"{"task":"t","run_at":"2001-01-01T00:00:00Z"}"#).expect("valid").start, Start::Now);
}

#[test]
fn null_is_a_payload() {
    let job = judge(r#"{"task":"t","payload":null}"#).expect("valid");
    let Target::Task(task) = &job.work.target else { panic!("another target") };
    assert_eq!(task.payload.as_str(), "null");
}

#[test]
fn the_same_submission_has_the_same_fingerprint_and_another_has_not() {
    let print = |json: &str| judge(json).expect("valid").idempotency.expect("a key").fingerprint;
    let first = print(r#"{"url":"http://a.example/","payload":{"a":1},"idempotency_key":"k"}"#);
    assert_eq!(first, print(r#"{"idempotency_key":"k","payload":{"a":1},"url":"http://a.example/"}"#));
    assert_ne!(first, print(r#"{"url":"http://a.example/","payload":{"a":2},"idempotency_key":"k"}"#));
    assert_ne!(first, print(r#"{"url":"http://a.example/","payload":{"a":1},"idempotency_key":"k","delay":"1s"}"#));
}

#[test]
fn work_turns_back_into_what_a_client_would_write() {
    let json = r#"{"command":["a","b"],"payload":{"n":1},"queue":"q","tags":["t"],"timeout":"1m30s"}"#;
    let work = judge(json).expect("valid").work;
    let again = JobSpec::from(work.as_ref()).validate(&TenantId::default(), &Limits::default(), NOW).expect("valid");
    assert_eq!(serde_json::to_string(&again.work).expect("json"), serde_json::to_string(&work).expect("json"));
}

#[test]
fn values_that_may_be_secret_do_not_turn_back() {
    for (json, pointer) in [
        (r#"{"command":["a"],"env":{"X":"hush"}}"#, "/env/X"),
        (r#"{"url":"http://a.example/","headers":{"x-key":"hush"}}"#, "/headers/x-key"),
    ] {
        let work = judge(json).expect("a job").work;
        let shown = serde_json::to_value(JobSpec::from(work.as_ref())).expect("plain");
        assert_eq!(
            shown.pointer(pointer).and_then(serde_json::Value::as_str),
            Some(crate::secret_map::MASK),
            "{shown}"
        );
    }
}

#[test]
fn foremans_own_queues_are_not_for_users() {
    let wrong = judge(r#"{"url":"http://a.example/","queue":"foreman.webhooks"}"#).expect_err("reserved");
    assert_eq!(wrong.mistakes[0].pointer, "/queue");
    let wrong = judge(r#"{"url":"http://a.example/","tags":["a","foreman:callback"]}"#).expect_err("reserved");
    assert_eq!(wrong.mistakes[0].pointer, "/tags/1");
}

#[test]
fn a_url_that_leads_where_it_may_not_is_refused_where_it_stands() {
    let limits = Limits { egress: crate::egress::Policy::default(), ..Limits::default() };
    for (json, pointer) in [
        (r#"{"url":"https://169.254.169.254/latest"}"#, "/url"),
        (r#"{"url":"https://a.example.com/","callback_url":"https://10.0.0.1/"}"#, "/callback_url"),
    ] {
        let spec: JobSpec = serde_json::from_str(json).expect("a spec");
        let wrong = spec.validate(&TenantId::default(), &limits, Timestamp::default()).expect_err("refused");
        assert_eq!(wrong.mistakes.iter().map(|mistake| mistake.pointer.as_str()).collect::<Vec<_>>(), [pointer]);
        assert!(wrong.to_string().contains("target not allowed"), "{wrong}");
    }
}
