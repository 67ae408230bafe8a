//! What the courier makes of how deliveries went.

use std::time::Duration;

use foreman_core::audit::Actor;
use foreman_core::ports::{AuditLog, JobStore, UpdateWebhookAnswer, WebhookStore, WebhookUpdate};
use foreman_core::webhook::{About, Disabled, Event, PATIENCE};
use foreman_core::{EditId, JobId, Report, Verdict, WebhookId};
use foreman_engine::courier::Config;
use tokio::time::sleep;

use crate::post::{
    answer, completed, courier, deliveries, ended, endpoint, events, message, patient, start, try_all, us, webhook,
};
use crate::scene::Scene;
use crate::script::{Act, Verb, away};

const MOMENT: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_hours(24);

async fn disabled(scene: &Scene, id: WebhookId) -> Option<Disabled> {
    webhook(scene, id).await.settings.disabled
}

/// What the audit log says was disabled.
async fn audited(scene: &Scene) -> Vec<String> {
    let entries = scene.store.inner.audit_log(None, None, 100).await.unwrap();
    entries
        .into_iter()
        .map(|entry| {
            let act = entry.act;
            assert_eq!((act.actor, act.action.as_str(), &act.tenant), (Actor::System, "webhook.disable", &us()));
            act.object
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_is_gone_is_disabled_at_once_and_the_others_are_told() {
    let scene = Scene::new();
    let gone = endpoint(&scene, &["job.*", "webhook.disabled"]).await;
    let watcher = endpoint(&scene, &["webhook.disabled"]).await;
    let indifferent = endpoint(&scene, &["job.dead"]).await;
    let _courier = start(&scene, patient()).await;
    ended(&scene, completed()).await;
    sleep(MOMENT).await;
    assert_eq!(answer(&scene, 410).await, 1);
    sleep(MOMENT).await;
    assert_eq!(disabled(&scene, gone).await, Some(Disabled::Gone));
    assert_eq!(events(&scene, gone).await, [Event::JobCompleted]);
    assert_eq!(events(&scene, watcher).await, [Event::WebhookDisabled]);
    assert_eq!(events(&scene, indifferent).await, []);
    let [delivery] = &deliveries(&scene, watcher).await[..] else { panic!("one") };
    let About::Webhook { webhook, detail } = message(&scene.view(delivery.job).await).data else {
        panic!("of a webhook")
    };
    assert_eq!((webhook, detail.as_str(), delivery.about), (gone, "it answered 410 Gone", None));
    assert_eq!(audited(&scene).await, [format!("webhook/{gone}")]);
    // What ends from now on is not told to it.
    ended(&scene, completed()).await;
    sleep(MOMENT).await;
    assert_eq!(events(&scene, gone).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn five_days_of_failures_disable_it_and_one_arrival_begins_them_anew() {
    let scene = Scene::new();
    let hook = endpoint(&scene, &["job.*"]).await;
    let watcher = endpoint(&scene, &["webhook.disabled"]).await;
    let _courier = start(&scene, patient()).await;
    let one = async |status: u16| {
        ended(&scene, completed()).await;
        sleep(MOMENT).await;
        assert!(answer(&scene, status).await >= 1);
        sleep(MOMENT).await;
    };
    one(500).await;
    let since = webhook(&scene, hook).await.failing_since;
    assert!(since.is_some());
    sleep(PATIENCE.saturating_sub(DAY)).await;
    one(503).await;
    assert_eq!((disabled(&scene, hook).await, webhook(&scene, hook).await.failing_since), (None, since), "four days");
    one(204).await;
    assert_eq!(webhook(&scene, hook).await.failing_since, None);
    one(302).await;
    sleep(PATIENCE.saturating_sub(DAY)).await;
    one(404).await;
    assert_eq!(disabled(&scene, hook).await, None, "four days again");
    sleep(DAY).await;
    one(500).await;
    assert_eq!(disabled(&scene, hook).await, Some(Disabled::Failing));
    assert_eq!(events(&scene, watcher).await, [Event::WebhookDisabled]);
    assert_eq!(audited(&scene).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_never_sent_is_not_held_against_the_endpoint() {
    let scene = Scene::new();
    let hook = endpoint(&scene, &["job.*"]).await;
    let _courier = start(&scene, patient()).await;
    let no_key = "not sent: this process has no FOREMAN_SECRET_KEY to decrypt the signing secret";
    for _ in 0..2 {
        ended(&scene, completed()).await;
        sleep(MOMENT).await;
        let report = Report::error(no_key);
        try_all(&scene, Verdict::Retry { delay: Duration::from_secs(5), report }).await;
        sleep(PATIENCE + DAY).await;
    }
    let now = webhook(&scene, hook).await;
    assert_eq!((now.settings.disabled, now.failing_since), (None, None));
}

#[tokio::test(start_paused = true)]
async fn a_courier_that_dies_between_disabling_and_telling_is_made_good() {
    for dies_at in [Verb::Advance, Verb::Record, Verb::WebhooksOf] {
        let scene = Scene::new();
        let gone = endpoint(&scene, &["job.*"]).await;
        let watcher = endpoint(&scene, &["webhook.disabled"]).await;
        let first = start(&scene, patient()).await;
        ended(&scene, completed()).await;
        sleep(MOMENT).await;
        scene.store.always(dies_at, away());
        assert_eq!(answer(&scene, 410).await, 1);
        sleep(MOMENT).await;
        assert_eq!(disabled(&scene, gone).await, Some(Disabled::Gone));
        assert_eq!(events(&scene, watcher).await, [], "{dies_at:?}");
        first.abort();
        let _ = first.await;
        scene.store.heal();
        let second = scene.tasks.spawn("courier", courier(&scene, patient()).run(scene.stop.shutdown()));
        sleep(Duration::from_secs(10)).await;
        assert_eq!(events(&scene, watcher).await, [Event::WebhookDisabled], "{dies_at:?}");
        assert_eq!(audited(&scene).await, [format!("webhook/{gone}")], "{dies_at:?}");
        second.abort();
        let _ = second.await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_disabling_whose_telling_was_written_and_not_answered_is_told_once() {
    let scene = Scene::new();
    endpoint(&scene, &["job.*"]).await;
    let watcher = endpoint(&scene, &["webhook.disabled"]).await;
    let _courier = start(&scene, patient()).await;
    ended(&scene, completed()).await;
    sleep(MOMENT).await;
    for verb in [Verb::NoteDeliveries, Verb::Record, Verb::Advance] {
        scene.store.next(verb, Act::LoseAnswer);
    }
    assert_eq!(answer(&scene, 410).await, 1);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(events(&scene, watcher).await, [Event::WebhookDisabled]);
    assert_eq!(audited(&scene).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn tries_that_end_after_the_disabling_tell_nothing_more() {
    let scene = Scene::new();
    let gone = endpoint(&scene, &["job.*"]).await;
    let watcher = endpoint(&scene, &["webhook.disabled"]).await;
    // Each in a slice of its own.
    let _courier = start(&scene, Config { slice: 1, ..patient() }).await;
    for _ in 0..3 {
        ended(&scene, completed()).await;
    }
    sleep(MOMENT).await;
    assert_eq!(answer(&scene, 410).await, 3);
    sleep(MOMENT).await;
    assert_eq!(disabled(&scene, gone).await, Some(Disabled::Gone));
    assert_eq!((events(&scene, watcher).await.len(), audited(&scene).await.len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn one_that_was_enabled_again_and_is_gone_again_is_told_of_again() {
    let scene = Scene::new();
    let gone = endpoint(&scene, &["job.*"]).await;
    let watcher = endpoint(&scene, &["webhook.disabled"]).await;
    let _courier = start(&scene, patient()).await;
    for times in 1..=2 {
        let now = webhook(&scene, gone).await;
        let mut settings = now.settings.clone();
        settings.disabled = None;
        let update = WebhookUpdate {
            edit: EditId::fresh(),
            tenant: us(),
            webhook: gone,
            version: now.version,
            settings,
            signing: now.signing,
        };
        let answered = scene.store.inner.update_webhook(&update).await.unwrap();
        assert!(matches!(answered, UpdateWebhookAnswer::Updated(_)));
        ended(&scene, completed()).await;
        sleep(MOMENT).await;
        // The watcher's own deliveries are tried as well, and are answered alike: that is its end, too, but for this.
        let all = deliveries(&scene, gone).await;
        let latest: JobId = all.last().unwrap().job;
        let others: Vec<JobId> = deliveries(&scene, watcher)
            .await
            .iter()
            .map(|delivery| delivery.job)
            .filter(|job| *job != latest)
            .collect();
        scene.store.inner.cancel(&us(), &others).await.unwrap();
        assert_eq!(answer(&scene, 410).await, 1);
        sleep(MOMENT).await;
        assert_eq!(events(&scene, watcher).await.len(), times);
        assert_eq!(audited(&scene).await.len(), times);
    }
}

#[tokio::test(start_paused = true)]
async fn a_callback_that_fails_disables_nobody() {
    let scene = Scene::new();
    let hook = endpoint(&scene, &["job.dead"]).await;
    let _courier = start(&scene, patient()).await;
    let url = "https://callback.example/".to_owned();
    crate::post::ended_with(&scene, completed(), |work| work.callback_url = Some(url)).await;
    sleep(MOMENT).await;
    assert_eq!(answer(&scene, 410).await, 1);
    sleep(MOMENT).await;
    assert_eq!(disabled(&scene, hook).await, None);
    assert_eq!(audited(&scene).await.len(), 0);
}
