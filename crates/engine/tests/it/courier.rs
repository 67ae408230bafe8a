//! The courier on the reference store: what is told to whom, and how often.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use foreman_core::ports::{ChangeLog, JobStore, StoreError, WebhookStore};
use foreman_core::target::Addressee;
use foreman_core::webhook::{About, Event, Wish};
use foreman_core::{JobId, Lane, Report, State, TenantId, Verdict, Work};
use foreman_engine::courier::Config;
use foreman_runtime::leadership::{self, AlwaysLeader};
use foreman_runtime::{Leadership, Stop};
use tokio::time::{Instant, sleep};

use crate::post::{
    answer, appointed, completed, courier, deliveries, end_all, ended, ended_with, endpoint, endpoint_of, events, json,
    letters, message, narrow, patient, queue, readable_endpoint, start, target, told, us,
};
use crate::scene::{Scene, job, job_with, until, until_async};
use crate::script::{Act, Verb, away};

const MOMENT: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn every_ending_is_told_to_who_asked_for_it() {
    let scene = Scene::new();
    let (all, dead) = (endpoint(&scene, &["job.*"]).await, endpoint(&scene, &["job.dead"]).await);
    let stranger = endpoint_of(&scene, TenantId::new("other"), &["*"]).await;
    let courier = start(&scene, patient()).await;
    for verdict in [completed(), Verdict::Failed(Report::error("no")), Verdict::Dead(Report::error("spent"))] {
        ended(&scene, verdict).await;
        sleep(MOMENT).await;
    }
    let cancelled = scene.submitted("").await;
    scene.store.inner.cancel(&us(), &[cancelled]).await.unwrap();
    let retried = ended(&scene, Verdict::Retry { delay: Duration::from_hours(9), report: Report::default() }).await;
    sleep(MOMENT).await;
    let told = events(&scene, all).await;
    assert_eq!(told, [Event::JobCompleted, Event::JobFailed, Event::JobDead, Event::JobCancelled]);
    assert_eq!(events(&scene, dead).await, [Event::JobDead]);
    assert!(scene.store.inner.deliveries(&stranger.tenant, stranger.id, None, 9).await.unwrap().is_empty());
    assert!(deliveries(&scene, all).await.iter().all(|delivery| delivery.about != Some(retried)));
    scene.stop.drain();
    courier.await.unwrap().unwrap();
    scene.nothing_left().await;
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_letter_says_which_job_how_it_ended_and_how_often() {
    let scene = Scene::new();
    endpoint(&scene, &["*"]).await;
    let _courier = start(&scene, patient()).await;
    let id = ended_with(&scene, Verdict::Dead(Report::error("spent")), |work| {
        work.lane = Lane::High;
        work.correlation_id = Some("order-7".into());
    })
    .await;
    sleep(MOMENT).await;
    let letters = letters(&scene).await;
    let [letter] = &letters[..] else { panic!("{letters:?}") };
    let work = &letter.job.work;
    assert_eq!((work.lane, work.correlation_id.as_deref(), work.max_attempts), (Lane::High, Some("order-7"), 10));
    assert_eq!((work.queue.clone(), work.kind.as_deref()), (queue(), Some("foreman.webhook")));
    let body = json(letter);
    assert_eq!(body["type"], "job.dead");
    let data = &body["data"];
    assert_eq!((&data["sequence"], &data["job"]["id"]), (&1.into(), &id.to_string().into()));
    assert_eq!((&data["job"]["state"], &data["outcome"]["state"]), (&"dead".into(), &"dead".into()));
    assert_eq!((&data["outcome"]["error"], &data["outcome"]["attempt"]["number"]), (&"spent".into(), &1.into()));
    assert!(data["job"].get("attempts").is_none());
    assert_eq!(body["timestamp"], data["job"]["finished_at"]);
}

#[tokio::test(start_paused = true)]
async fn a_callback_is_told_without_an_endpoint() {
    let scene = Scene::new();
    let _courier = start(&scene, patient()).await;
    ended(&scene, completed()).await;
    let url = "https://callback.example/done?order=7";
    let id = ended_with(&scene, completed(), |work| work.callback_url = Some(url.into())).await;
    sleep(MOMENT).await;
    let told = told(&scene).await;
    assert_eq!(told.into_iter().collect::<Vec<_>>(), [((id.to_string(), url.to_owned()), 1)]);
}

/// Settled one by one, so that each ending is a row of its own.
#[tokio::test(start_paused = true)]
async fn a_drain_is_told_of_in_few_calls() {
    const JOBS: usize = 5_000;
    let scene = Scene::new();
    let hook = endpoint(&scene, &["job.*"]).await;
    appointed(&scene).await;
    let with_callback = |work: &mut Work| work.callback_url = Some("https://callback.example/done".into());
    let jobs: Vec<_> = (0..JOBS).map(|n| if n % 2 == 0 { job("") } else { job_with("", with_callback) }).collect();
    scene.submit(&jobs).await;
    assert_eq!(end_all(&scene, &completed()).await, JOBS);
    let _courier = start(&scene, patient()).await;
    until_async("all are told", async || deliveries(&scene, hook).await.len() == JOBS).await;
    sleep(MOMENT).await;
    assert_eq!(told(&scene).await.len(), JOBS + JOBS / 2);
    let verbs = [Verb::Changes, Verb::WebhooksOf, Verb::WithCallback, Verb::EndedAtOnce, Verb::Advance, Verb::Get];
    let calls = verbs.map(|verb| scene.store.calls(verb));
    assert_eq!(calls[5], 0, "no job was read by itself");
    let sum: usize = calls.iter().sum();
    assert!(sum <= JOBS / 50, "{calls:?} calls for {JOBS} endings");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_run_again_is_told_of_again_in_order() {
    let scene = Scene::new();
    let hook = endpoint(&scene, &["job.*"]).await;
    // Nobody reads the log meanwhile: by the first round the job has ended twice, and waits for its third life.
    appointed(&scene).await;
    let id = ended(&scene, Verdict::Failed(Report::error("first"))).await;
    sleep(MOMENT).await;
    scene.store.inner.redrive(&us(), &[id]).await.unwrap();
    sleep(MOMENT).await;
    end_all(&scene, &Verdict::Failed(Report::error("second"))).await;
    scene.store.inner.redrive(&us(), &[id]).await.unwrap();
    let _courier = start(&scene, patient()).await;
    sleep(MOMENT).await;
    end_all(&scene, &completed()).await;
    sleep(MOMENT).await;
    let mut told = Vec::new();
    for delivery in deliveries(&scene, hook).await {
        let view = scene.view(delivery.job).await;
        let About::Job { job, outcome, sequence } = message(&view).data else { panic!("of a job") };
        told.push((sequence, job.state, outcome.error, outcome.attempt.unwrap().number));
    }
    let failed = |words: &str| Some(words.to_owned());
    assert_eq!(
        told,
        [
            (1, State::Failed, failed("first"), 1),
            (2, State::Failed, failed("second"), 2),
            (3, State::Completed, None, 3)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn endings_are_counted_right_while_a_job_that_has_many_runs_on() {
    const MANY: u32 = 30;
    let scene = Arc::new(Scene::new());
    let hook = endpoint(&scene, &["job.*"]).await;
    let _courier = start(&scene, patient()).await;
    let failed = Verdict::Failed(Report::error("again"));
    let id = ended(&scene, failed.clone()).await;
    for number in 2..=MANY {
        sleep(MOMENT).await;
        scene.store.inner.redrive(&us(), &[id]).await.unwrap();
        if number == MANY {
            let (scene, failed) = (Arc::clone(&scene), failed.clone());
            scene.clone().store.before_attempts(async move {
                scene.store.inner.redrive(&us(), &[id]).await.unwrap();
                end_all(&scene, &failed).await;
            });
        }
        end_all(&scene, &failed).await;
    }
    sleep(MOMENT).await;
    let mut told = Vec::new();
    for delivery in deliveries(&scene, hook).await {
        let About::Job { sequence, .. } = message(&scene.view(delivery.job).await).data else { panic!("of a job") };
        told.push(sequence);
    }
    told.sort_unstable();
    assert_eq!(told, (1..=MANY + 1).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_thousand_endings_are_each_told_once_to_each_of_three() {
    let scene = Scene::new();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(endpoint(&scene, &["job.completed"]).await);
    }
    appointed(&scene).await;
    let jobs: Vec<_> = (0..1_000).map(|_| job("")).collect();
    scene.submit(&jobs).await;
    assert_eq!(end_all(&scene, &completed()).await, 1_000);
    // Every third write is done and not answered, or not done at all; and now and then a courier dies where it stands.
    for n in 0..400 {
        match n % 6 {
            0 => scene.store.next(Verb::Advance, Act::LoseAnswer),
            3 => scene.store.next(Verb::Advance, away()),
            _ => scene.store.next(Verb::Advance, Act::Delay(Duration::from_millis(3))),
        }
    }
    for life in 0..40 {
        let task = scene.tasks.spawn("courier", courier(&scene, narrow()).run(scene.stop.shutdown()));
        sleep(Duration::from_millis(300 + 7 * life)).await;
        task.abort();
        let _ = task.await;
    }
    scene.store.heal();
    let _courier = start(&scene, narrow()).await;
    until_async("all are told", async || letters(&scene).await.len() >= 3_000).await;
    sleep(Duration::from_mins(1)).await;
    let told = told(&scene).await;
    assert_eq!((told.len(), told.values().max()), (3_000, Some(&1)));
    let whom: BTreeSet<&String> = told.keys().map(|(_, to)| to).collect();
    assert_eq!(whom, ids.iter().map(ToString::to_string).collect::<Vec<_>>().iter().collect());
    scene.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn two_couriers_at_once_tell_everything_once() {
    let scene = Scene::new();
    endpoint(&scene, &["*"]).await;
    let _one = start(&scene, narrow()).await;
    let _other = start(&scene, narrow()).await;
    scene.store.always(Verb::Advance, Act::Delay(Duration::from_millis(11)));
    for _ in 0..20 {
        let jobs: Vec<_> = (0..20).map(|_| job("")).collect();
        scene.submit(&jobs).await;
        end_all(&scene, &completed()).await;
        sleep(Duration::from_millis(100)).await;
    }
    until_async("all are told", async || letters(&scene).await.len() >= 400).await;
    sleep(Duration::from_mins(1)).await;
    let told = told(&scene).await;
    assert_eq!((told.len(), told.values().max()), (400, Some(&1)));
}

#[tokio::test(start_paused = true)]
async fn a_round_whose_answer_is_lost_is_written_once() {
    let scene = Scene::new();
    let hook = endpoint(&scene, &["*"]).await;
    scene.store.next(Verb::Advance, Act::LoseAnswer);
    let _courier = start(&scene, patient()).await;
    ended(&scene, completed()).await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(events(&scene, hook).await, [Event::JobCompleted]);
    ended(&scene, completed()).await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(events(&scene, hook).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_of_tellings() {
    let scene = Scene::new();
    let hook = endpoint(&scene, &["*"]).await;
    let _courier = start(&scene, patient()).await;
    ended(&scene, completed()).await;
    sleep(MOMENT).await;
    assert_eq!(answer(&scene, 200).await, 1);
    sleep(MOMENT).await;
    assert_eq!(events(&scene, hook).await, [Event::JobCompleted]);
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_made_a_moment_ago_is_told_of_what_ends_from_then_on() {
    let scene = Scene::new();
    let _courier = start(&scene, patient()).await;
    ended(&scene, completed()).await;
    sleep(MOMENT).await;
    let hook = endpoint(&scene, &["*"]).await;
    let id = ended(&scene, completed()).await;
    sleep(MOMENT).await;
    let about: Vec<_> = deliveries(&scene, hook).await.iter().map(|delivery| delivery.about).collect();
    assert_eq!(about, [Some(id)]);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_was_removed_meanwhile_is_passed_by() {
    let scene = Scene::new();
    let hook = endpoint(&scene, &["*"]).await;
    appointed(&scene).await;
    let gone = ended(&scene, completed()).await;
    let there = ended(&scene, completed()).await;
    scene.store.inner.remove(&us(), &[gone]).await.unwrap();
    let _courier = start(&scene, patient()).await;
    sleep(MOMENT).await;
    let about: Vec<_> = deliveries(&scene, hook).await.iter().map(|delivery| delivery.about).collect();
    assert_eq!(about, [Some(there)]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_does_not_stop_it() {
    let scene = Scene::new();
    let hook = endpoint(&scene, &["*"]).await;
    appointed(&scene).await;
    let first = ended(&scene, completed()).await;
    let lost = ended(&scene, completed()).await;
    scene.store.spoil_row(scene.store.inner.head().await.unwrap());
    let unreadable = ended(&scene, completed()).await;
    scene.store.spoil_job(unreadable);
    let last = ended(&scene, completed()).await;
    let _courier = start(&scene, patient()).await;
    sleep(MOMENT).await;
    let about: Vec<_> = deliveries(&scene, hook).await.iter().filter_map(|delivery| delivery.about).collect();
    assert_eq!(about.iter().collect::<BTreeSet<_>>(), BTreeSet::from([&first, &last]), "and not {lost}");
}

/// In the middle of an upgrade: a newer API has written what this courier cannot read.
#[tokio::test(start_paused = true)]
async fn a_webhook_of_a_later_version_keeps_its_deliveries_and_silences_no_other() {
    let scene = Scene::new();
    let newer = endpoint(&scene, &["job.dead"]).await;
    scene.store.spoil_webhooks_of(us());
    let readable = readable_endpoint(&scene, &["*"]).await;
    let _courier = start(&scene, patient()).await;
    scene.submit(&[job("")]).await;
    assert_eq!(end_all(&scene, &completed()).await, 1);
    sleep(MOMENT).await;
    assert_eq!(events(&scene, readable).await, [Event::JobCompleted], "it is told as ever");
    assert_eq!(
        events(&scene, newer).await,
        [Event::JobCompleted],
        "whether it wants that is for those who can read it"
    );
    for view in letters(&scene).await {
        let wish = if target(&view).to == Addressee::Webhook(newer) { Wish::Unknown } else { Wish::Known };
        assert_eq!(target(&view).wish, wish);
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_in_which_nothing_can_be_read_ends_it() {
    let scene = Scene::new();
    endpoint(&scene, &["*"]).await;
    appointed(&scene).await;
    ended(&scene, completed()).await;
    scene.store.always(Verb::Changes, Act::Fail(StoreError::Damaged("page 7".into())));
    let courier = start(&scene, patient()).await;
    let error = courier.await.unwrap().unwrap_err();
    assert!(matches!(error.source, StoreError::Damaged(_)), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_log_in_which_nobody_is_interested_costs_a_write_a_second() {
    let scene = Scene::new();
    let _courier = start(&scene, patient()).await;
    for _ in 0..200 {
        ended(&scene, completed()).await;
        sleep(Duration::from_millis(50)).await;
    }
    sleep(Duration::from_secs(5)).await;
    let posts = scene.store.calls(Verb::Advance);
    assert!((5..=15).contains(&posts), "{posts} writes in ten seconds");
    assert_eq!(appointed(&scene).await, scene.store.inner.head().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_wake_up_that_was_lost_costs_one_period() {
    let scene = Scene::new();
    let hook = endpoint(&scene, &["*"]).await;
    appointed(&scene).await;
    let tenancy = std::sync::Arc::new(scene.store.clone());
    let deaf = std::sync::Arc::new(foreman_core::memory::LocalWakeups::new());
    let courier = foreman_engine::Courier::new(scene.store(), tenancy, Config::default());
    let courier = foreman_engine::Follower::new(courier, scene.store(), deaf);
    let _courier = scene.tasks.spawn("courier", courier.run(scene.stop.shutdown()));
    sleep(MOMENT).await;
    ended(&scene, completed()).await;
    sleep(Duration::from_secs(7)).await;
    assert_eq!(events(&scene, hook).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_stops_at_once_when_idle() {
    let scene = Scene::new();
    let courier = start(&scene, Config::default()).await;
    until("it has looked", || scene.store.calls(Verb::Changes) > 0).await;
    sleep(MOMENT).await;
    let begun = Instant::now();
    scene.stop.drain();
    courier.await.unwrap().unwrap();
    assert!(begun.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn it_finishes_the_round_it_is_in() {
    let scene = Scene::new();
    let hook = endpoint(&scene, &["*"]).await;
    scene.store.always(Verb::Advance, Act::Delay(Duration::from_secs(3)));
    let courier = start(&scene, patient()).await;
    ended(&scene, completed()).await;
    sleep(MOMENT).await;
    scene.stop.drain();
    courier.await.unwrap().unwrap();
    assert_eq!(events(&scene, hook).await.len(), 1);
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_at_the_deadline() {
    let scene = Scene::new();
    endpoint(&scene, &["*"]).await;
    scene.store.always(Verb::Advance, Act::Hang);
    let courier = start(&scene, patient()).await;
    ended(&scene, completed()).await;
    sleep(MOMENT).await;
    scene.stop.drain();
    sleep(MOMENT).await;
    assert!(!courier.is_finished());
    scene.stop.abort();
    courier.await.unwrap().unwrap();
    scene.nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn it_survives_an_outage() {
    let scene = Scene::new();
    let hook = endpoint(&scene, &["*"]).await;
    for verb in [Verb::Changes, Verb::Follow, Verb::Advance, Verb::Get, Verb::WebhooksOf] {
        scene.store.always(verb, away());
    }
    let _courier = start(&scene, patient()).await;
    let id = ended(&scene, completed()).await;
    sleep(Duration::from_hours(1)).await;
    scene.store.heal();
    sleep(Duration::from_secs(6)).await;
    let about: Vec<_> = deliveries(&scene, hook).await.iter().map(|delivery| delivery.about).collect();
    assert_eq!(about, [Some(id)]);
}

#[tokio::test(start_paused = true)]
async fn only_the_leader_tells() {
    let scene = Scene::new();
    let hook = endpoint(&scene, &["*"]).await;
    appointed(&scene).await;
    let office =
        Leadership::new(std::sync::Arc::new(AlwaysLeader::default()), "courier", leadership::Config::default());
    let (lead, elections) = (office.lead(), Stop::new());
    let led = courier(&scene, patient()).led_by("courier", lead);
    let task = scene.tasks.spawn("courier", led.run(scene.stop.shutdown()));
    ended(&scene, completed()).await;
    sleep(MOMENT).await;
    assert!(events(&scene, hook).await.is_empty(), "nobody was elected");
    let elected = scene.tasks.spawn("leadership", office.run(elections.shutdown()));
    until_async("it is told", async || events(&scene, hook).await.len() == 1).await;
    // The store has heard of a later term.
    scene.store.depose_before(u64::MAX);
    ended(&scene, completed()).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(events(&scene, hook).await.len(), 1, "a deposed leader writes nothing");
    assert!(scene.store.calls(Verb::Advance) < 60, "nor does it hammer: {}", scene.store.calls(Verb::Advance));
    scene.stop.drain();
    task.await.unwrap().unwrap();
    elections.drain();
    let _ = elected.await;
}

#[tokio::test(start_paused = true)]
async fn its_lag_is_the_age_of_what_is_unread() {
    let scene = Scene::new();
    endpoint(&scene, &["*"]).await;
    appointed(&scene).await;
    let courier = courier(&scene, patient()).timed_by(scene.clock());
    let (lag, tally) = (courier.lag(), courier.follow().tally());
    ended(&scene, completed()).await;
    sleep(Duration::from_mins(20)).await;
    scene.store.always(Verb::Advance, away());
    let task = scene.tasks.spawn("courier", courier.run(scene.stop.shutdown()));
    sleep(MOMENT).await;
    assert!(lag.get() >= Duration::from_mins(20), "{:?}", lag.get());
    assert_eq!(tally.deliveries(), 0);
    scene.store.heal();
    sleep(Duration::from_secs(20)).await;
    assert_eq!((lag.get(), tally.deliveries()), (Duration::ZERO, 1));
    scene.stop.drain();
    task.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_message_larger_than_a_round_is_written_all_the_same() {
    let scene = Scene::new();
    let hook = endpoint(&scene, &["*"]).await;
    let _courier = start(&scene, Config { most_bytes: 10, ..narrow() }).await;
    let ids: Vec<JobId> = vec![ended(&scene, completed()).await, ended(&scene, completed()).await];
    sleep(MOMENT).await;
    let about: BTreeSet<JobId> = deliveries(&scene, hook).await.iter().filter_map(|delivery| delivery.about).collect();
    assert_eq!(about, ids.into_iter().collect());
    assert!(letters(&scene).await.iter().all(|letter| !target(letter).body.get().is_empty()));
}
