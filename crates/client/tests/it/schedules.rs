use foreman_client::{Client, JobSpec, ScheduleFields, ScheduleSpec, ScheduleState, State, TickState};

use crate::stub::{Asked, Stub};

fn schedule(version: i64) -> String {
    serde_json::json!({
        "id": "0197", "name": "daily", "version": version, "state": "active", "description": "At 09:00",
        "next_fire_at": "2026-11-16T08:00:00Z", "held_for": null,
        "last_tick": {
            "nominal": "2026-11-15T08:00:00Z", "state": "fired", "reason": null, "at": "2026-11-15T08:00:00.01Z",
            "job": "0198", "job_state": "completed", "last": null, "count": 1,
        },
        "created_at": "2026-11-14T09:00:00Z", "updated_at": "2026-11-14T09:00:00Z",
        "cron": "0 9 * * *", "timezone": "Europe/Berlin",
        "job": {"url": "http://127.0.0.1/", "payload": {"n": 1.0}},
        "a_field_of_a_later_version": true,
    })
    .to_string()
}

fn spec() -> ScheduleSpec {
    ScheduleSpec {
        name: "daily".into(),
        cron: Some("0 9 * * *".into()),
        job: JobSpec { url: Some("http://127.0.0.1/".into()), ..JobSpec::default() },
        ..ScheduleSpec::default()
    }
}

fn condition(asked: &Asked) -> Option<&str> {
    asked.headers.iter().find_map(|header| header.strip_prefix("if-match: "))
}

#[tokio::test]
async fn a_schedule_is_read_as_it_was_written() {
    let stub = Stub::answering([(200, schedule(3))]);
    let read = Client::new(&stub.url, None).unwrap().schedule("daily").await.unwrap();
    assert_eq!(stub.next_asked().line, "GET /api/v1/schedules/daily HTTP/1.1");
    assert_eq!((read.version, read.state, read.cron.as_deref()), (3, ScheduleState::Active, Some("0 9 * * *")));
    assert_eq!(read.job.payload.unwrap().get(), r#"{"n":1.0}"#, "to the letter");
    let tick = read.last_tick.unwrap();
    assert_eq!((tick.state, tick.job_state), (TickState::Fired, Some(State::Completed)));
}

#[tokio::test]
async fn every_call_goes_where_the_api_expects_it() {
    let mut answers = vec![(201, schedule(1)), (200, schedule(2)), (200, schedule(3)), (204, String::new())];
    answers.extend([(200, schedule(4)), (200, schedule(5))]);
    let stub = Stub::answering(answers);
    let client = Client::new(&stub.url, None).unwrap();

    client.create_schedule(&spec()).await.unwrap();
    let asked = stub.next_asked();
    assert_eq!(asked.line, "POST /api/v1/schedules HTTP/1.1");
    assert_eq!(asked.body, r#"{"name":"daily","cron":"0 9 * * *","job":{"url":"http://127.0.0.1/"}}"#);

    client.replace_schedule(&spec(), Some(1)).await.unwrap();
    let asked = stub.next_asked();
    assert_eq!((asked.line.as_str(), condition(&asked)), ("PUT /api/v1/schedules/daily HTTP/1.1", Some("\"1\"")));

    client.update_schedule("daily", &serde_json::json!({"jitter": null}), None).await.unwrap();
    let asked = stub.next_asked();
    assert_eq!((asked.line.as_str(), condition(&asked)), ("PATCH /api/v1/schedules/daily HTTP/1.1", None));
    assert_eq!(asked.body, r#"{"jitter":null}"#);

    client.delete_schedule("daily", Some(3)).await.unwrap();
    let asked = stub.next_asked();
    assert_eq!((asked.line.as_str(), condition(&asked)), ("DELETE /api/v1/schedules/daily HTTP/1.1", Some("\"3\"")));

    client.pause_schedule("daily").await.unwrap();
    assert_eq!(stub.next_asked().line, "POST /api/v1/schedules/daily/pause HTTP/1.1");
    client.resume_schedule("a/b").await.unwrap();
    assert_eq!(stub.next_asked().line, "POST /api/v1/schedules/a%2Fb/resume HTTP/1.1");
}

#[tokio::test]
async fn a_preview_and_a_history_are_asked_for_with_their_limits() {
    let shown = r#"{"items":[{"at":"2026-03-29T01:00:00Z","local":"2026-03-29T03:00:00+02:00","note":"moved"}],"description":"d"}"#;
    let page = r#"{"items":[],"next":null}"#;
    let stub = Stub::answering([(200, shown.into()), (200, shown.into()), (200, page.into()), (200, page.into())]);
    let client = Client::new(&stub.url, None).unwrap();
    let from = "2026-03-28T00:00:00Z".parse().unwrap();

    let preview = client.preview_schedule("daily", 3, Some(from)).await.unwrap();
    assert_eq!(preview.items[0].note.as_deref(), Some("moved"));
    let line = stub.next_asked().line;
    assert_eq!(line, "GET /api/v1/schedules/daily/preview?n=3&from=2026-03-28T00%3A00%3A00.000000Z HTTP/1.1");

    let unsaved = ScheduleFields { cron: Some("30 2 * * *".into()), ..ScheduleFields::default() };
    client.preview(&unsaved, 20, None).await.unwrap();
    let asked = stub.next_asked();
    assert_eq!(asked.line, "POST /api/v1/schedules/preview?n=20 HTTP/1.1");
    assert_eq!(asked.body, r#"{"cron":"30 2 * * *"}"#);

    client.ticks("daily", 50, Some("2026-03-28T00:00:00Z")).await.unwrap();
    let line = stub.next_asked().line;
    assert_eq!(line, "GET /api/v1/schedules/daily/ticks?limit=50&cursor=2026-03-28T00%3A00%3A00Z HTTP/1.1");
    client.schedules(500, Some("daily")).await.unwrap();
    assert_eq!(stub.next_asked().line, "GET /api/v1/schedules?limit=500&cursor=daily HTTP/1.1");
}

#[tokio::test]
async fn a_schedule_that_is_at_another_version_says_at_which() {
    let problem =
        r#"{"type":"/errors/precondition-failed","title":"T","status":412,"detail":"it is at version 4","version":4}"#;
    let stub = Stub::answering([(412, problem.into())]);
    let error = Client::new(&stub.url, None).unwrap().replace_schedule(&spec(), Some(3)).await.unwrap_err();
    assert_eq!(error.status(), Some(412));
    let foreman_client::Error::Problem(problem) = error else { panic!("{error}") };
    assert_eq!(problem.version, Some(4));
}
