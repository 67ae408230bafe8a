//! Secrets of schedules: sealed where they are kept, and kept where they are not given anew.

use std::sync::Arc;

use foreman_core::limits::Limits;
use foreman_core::ports::{ScheduleChange, ScheduleError, ScheduleStore, ScheduleView, Schedules};
use foreman_core::schedule::{ScheduleKey, ScheduleSpec};
use foreman_core::sealed::{Keyring, SealedFor};
use foreman_core::target::{ENV_PLACE, HEADERS_PLACE};
use foreman_core::{Target, TenantId};
use foreman_engine::{ScheduleEditor, scheduler};
use serde_json::{Value, json};

use crate::scene::Scene;

fn us() -> TenantId {
    TenantId::default()
}

fn ring() -> Arc<Keyring> {
    Arc::new("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=".parse().unwrap())
}

fn editor(scene: &Scene) -> ScheduleEditor {
    keyless(scene).sealing_with(Some(ring()))
}

fn keyless(scene: &Scene) -> ScheduleEditor {
    ScheduleEditor::new(scene.store(), scene.store(), Limits::default(), &scheduler::Config::default())
}

fn spec(job: &Value) -> ScheduleSpec {
    serde_json::from_value(json!({"name": "often", "every": "1h", "job": job})).unwrap()
}

fn calling(headers: &Value) -> ScheduleSpec {
    spec(&json!({"url": "https://one.example/a", "headers": headers}))
}

fn patch(fields: &Value) -> ScheduleChange {
    ScheduleChange::Patch(serde_json::value::RawValue::from_string(fields.to_string()).unwrap())
}

fn key() -> ScheduleKey {
    "often".parse().unwrap()
}

/// What its jobs will send.
fn opened(view: &ScheduleView) -> Value {
    let values = match &view.schedule.work.target {
        Target::Http(http) => http.headers.open(Some(&ring()), SealedFor { tenant: &us(), name: HEADERS_PLACE }),
        Target::Command(command) => command.env.open(Some(&ring()), SealedFor { tenant: &us(), name: ENV_PLACE }),
        other => panic!("{other:?}"),
    };
    json!(values.unwrap().into_owned())
}

/// All that the store has of it.
fn kept(view: &ScheduleView) -> String {
    let (spec, work) = (&*view.schedule.spec, &*view.schedule.work);
    format!("{} {}", serde_json::to_string(spec).unwrap(), serde_json::to_string(work).unwrap())
}

fn refused(error: ScheduleError) -> Vec<(String, String)> {
    match error {
        ScheduleError::Invalid(invalid) => {
            invalid.mistakes.into_iter().map(|mistake| (mistake.pointer, mistake.detail)).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn pointers(error: ScheduleError) -> Vec<String> {
    refused(error).into_iter().map(|(pointer, _)| pointer).collect()
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_has_the_names_and_not_the_values() {
    let scene = Scene::new();
    let command = json!({"command": ["true"], "env": {"TOKEN": "hush"}});
    for (spec, names) in [(calling(&json!({"Authorization": "hush"})), "authorization"), (spec(&command), "TOKEN")] {
        editor(&scene).create(&us(), spec).await.unwrap();
        let view = scene.store.inner.schedule(&us(), &key()).await.unwrap().unwrap();
        assert!(!kept(&view).contains("hush") && kept(&view).contains(names), "{}", kept(&view));
        assert_eq!(opened(&view), json!({names: "hush"}));
        assert!(!format!("{view:?}").contains("hush"));
        let job = editor(&scene).run(&us(), &key(), None).await.unwrap();
        let work = serde_json::to_string(&*scene.view(job).await.job.work).unwrap();
        assert!(!work.contains("hush") && work.contains(names), "{work}");
        editor(&scene).delete(&us(), &key(), None).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_gives_no_new_values_keeps_those_there_are() {
    let scene = Scene::new();
    let editor = editor(&scene);
    editor.create(&us(), calling(&json!({"authorization": "hush", "x-team": "blue"}))).await.unwrap();
    let both = json!({"authorization": "hush", "x-team": "blue"});
    let edited = async |change: ScheduleChange| editor.change(&us(), &key(), change, None).await.unwrap();
    assert_eq!(opened(&edited(patch(&json!({"every": "2h"}))).await), both);
    assert_eq!(opened(&edited(patch(&json!({"job": {"url": "https://one.example/b"}}))).await), both);
    assert_eq!(opened(&edited(ScheduleChange::Pause).await), both);
    assert_eq!(opened(&edited(ScheduleChange::Resume).await), both);
    let masked = calling(&json!({"Authorization": "***", "X-Team": "***"}));
    assert_eq!(opened(&edited(ScheduleChange::Replace(masked)).await), both);
    let fewer = edited(patch(&json!({"job": {"headers": {"authorization": "***"}}}))).await;
    assert_eq!(opened(&fewer), json!({"authorization": "hush"}));
    let mixed = edited(patch(&json!({"job": {"headers": {"authorization": "***", "x-team": "red"}}}))).await;
    assert_eq!(opened(&mixed), json!({"authorization": "hush", "x-team": "red"}));
    assert!(!kept(&mixed).contains("hush") && !kept(&mixed).contains("red"));
    let none = edited(patch(&json!({"job": {"headers": null}}))).await;
    assert_eq!(opened(&none), json!({}));
}

#[tokio::test(start_paused = true)]
async fn a_hidden_value_that_nobody_keeps_is_refused() {
    let scene = Scene::new();
    let editor = editor(&scene);
    let error = editor.create(&us(), calling(&json!({"authorization": "***"}))).await.unwrap_err();
    assert_eq!(pointers(error), ["/job/headers/authorization"]);
    editor.create(&us(), calling(&json!({"authorization": "hush"}))).await.unwrap();
    let more = json!({"job": {"headers": {"authorization": "***", "x-other": "***"}}});
    let error = editor.change(&us(), &key(), patch(&more), None).await.unwrap_err();
    assert_eq!(pointers(error), ["/job/headers/x-other"]);
    let command = spec(&json!({"command": ["true"], "env": {"authorization": "***"}}));
    let error = editor.change(&us(), &key(), ScheduleChange::Replace(command), None).await.unwrap_err();
    assert_eq!(pointers(error), ["/job/env/authorization"]);
}

#[tokio::test(start_paused = true)]
async fn a_kept_value_is_not_sent_to_another_host() {
    let scene = Scene::new();
    let editor = editor(&scene);
    editor.create(&us(), calling(&json!({"authorization": "hush"}))).await.unwrap();
    for url in ["https://two.example/a", "https://one.example:8443/a", "http://one.example/a"] {
        let error = editor.change(&us(), &key(), patch(&json!({"job": {"url": url}})), None).await.unwrap_err();
        assert_eq!(pointers(error), ["/job/headers/authorization"], "{url}");
    }
    let anew = json!({"job": {"url": "https://two.example/a", "headers": {"authorization": "other"}}});
    let view = editor.change(&us(), &key(), patch(&anew), None).await.unwrap();
    assert_eq!(opened(&view), json!({"authorization": "other"}));
}

#[tokio::test(start_paused = true)]
async fn a_kept_variable_is_not_given_to_another_program() {
    let scene = Scene::new();
    let editor = editor(&scene);
    let job =
        json!({"command": ["/opt/report", "daily"], "env": {"TOKEN": "hush"}, "cwd": "/srv", "payload": {"n": 1}});
    editor.create(&us(), spec(&job)).await.unwrap();
    for other in [
        json!({"command": "echo $TOKEN | base64"}),
        json!({"command": ["/usr/bin/env"]}),
        json!({"command": ["/opt/report", "--print-environment"]}),
        json!({"cwd": "/tmp/mine"}),
        json!({"payload": "env"}),
    ] {
        let told = refused(editor.change(&us(), &key(), patch(&json!({"job": other})), None).await.unwrap_err());
        assert_eq!(told[0].0, "/job/env/TOKEN", "{other}");
        assert!(told[0].1.contains("give the value again"), "{told:?}");
    }
    // What does not change what is run keeps it, and another program has it when it is given again.
    editor.change(&us(), &key(), patch(&json!({"every": "2h", "job": {"queue": "reports"}})), None).await.unwrap();
    let again = json!({"job": {"command": ["/usr/bin/env"], "env": {"TOKEN": "mine"}}});
    editor.change(&us(), &key(), patch(&again), None).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_a_key_nothing_secret_is_taken_in_and_what_is_kept_stays() {
    let scene = Scene::new();
    let error = keyless(&scene).create(&us(), calling(&json!({"authorization": "hush"}))).await.unwrap_err();
    let told = refused(error);
    assert_eq!(told[0].0, "/job/headers");
    assert!(told[0].1.contains("FOREMAN_SECRET_KEY") && !told[0].1.contains("hush"), "{told:?}");
    keyless(&scene).create(&us(), calling(&json!({}))).await.unwrap();
    keyless(&scene).delete(&us(), &key(), None).await.unwrap();
    editor(&scene).create(&us(), calling(&json!({"authorization": "hush", "x-team": "blue"}))).await.unwrap();
    let view = keyless(&scene).change(&us(), &key(), patch(&json!({"every": "3h"})), None).await.unwrap();
    assert_eq!(opened(&view), json!({"authorization": "hush", "x-team": "blue"}));
    let mixed = json!({"job": {"headers": {"authorization": "***"}}});
    let error = keyless(&scene).change(&us(), &key(), patch(&mixed), None).await.unwrap_err();
    assert_eq!(pointers(error), ["/job/headers"]);
}
