//! An endpoint that answers 410, or to which nothing arrives for five days, is disabled; by the times of the tries.
//!
//! The courier tells how tries went. It may die after telling and tell again, and what it reads is in the order of commits,
//! not of the tries: so a note may come twice, late, and after the owner has set things right.

use std::time::Duration;

use super::TenancySubject;
use super::given::{DAY, HOUR, SECOND, at_once, tenant};
use super::webhooks_kept::{again, change, made, turned};
use foreman_core::id::WebhookId;
use foreman_core::ports::{DeliveryNote, UpdateWebhookAnswer, Went};
use foreman_core::time::Timestamp;
use foreman_core::webhook::{Disabled, PATIENCE, Webhook};

const ANSWERS: &str = "the store answers";
const MICROSECOND: Duration = Duration::from_micros(1);
/// One microsecond too short.
const ALMOST: Duration = PATIENCE.saturating_sub(MICROSECOND);

fn note(webhook: &Webhook, at: Timestamp, went: Went) -> DeliveryNote {
    DeliveryNote { tenant: webhook.tenant.clone(), webhook: webhook.id, at, went }
}

/// What the notes disabled.
async fn disabled_by(subject: &dyn TenancySubject, notes: &[DeliveryNote]) -> Vec<Webhook> {
    subject.tenancy().note_deliveries(notes).await.expect(ANSWERS)
}

/// Notes that disable nothing; the endpoint after them.
async fn noted(subject: &dyn TenancySubject, webhook: &Webhook, notes: &[(Timestamp, Went)]) -> Webhook {
    let notes: Vec<_> = notes.iter().map(|(at, went)| note(webhook, *at, *went)).collect();
    assert_eq!(disabled_by(subject, &notes).await, [], "{notes:?}");
    again(subject, webhook).await
}

/// A note that disables the endpoint.
async fn disabled(subject: &dyn TenancySubject, webhook: &Webhook, at: Timestamp, went: Went) -> Webhook {
    let mut disabled = disabled_by(subject, &[note(webhook, at, went)]).await;
    assert_eq!(disabled.len(), 1, "{went:?} at {at}: {disabled:?}");
    disabled.remove(0)
}

pub async fn an_endpoint_is_failing_since_the_first_failure(subject: &dyn TenancySubject) {
    let (webhook, bystander) = (made(subject, "acme").await, made(subject, "acme").await);
    let start = subject.now().await;
    for (nth, hours) in [0_u32, 1, 30, 100].into_iter().enumerate() {
        let failing = noted(subject, &webhook, &[(start.plus(HOUR * hours), Went::Failed)]).await;
        let expected = Webhook { failing_since: Some(start), ..webhook.clone() };
        assert_eq!(failing, expected, "and nothing else of it has changed, after {} failures", nth + 1);
    }
    assert_eq!(again(subject, &bystander).await, bystander);
}

pub async fn an_arrival_ends_the_failing(subject: &dyn TenancySubject) {
    let webhook = made(subject, "acme").await;
    let start = subject.now().await;
    assert_eq!(noted(subject, &webhook, &[(start, Went::Arrived)]).await, webhook);
    let later = start.plus(DAY * 4);
    noted(subject, &webhook, &[(start.plus(SECOND), Went::Failed), (later, Went::Failed)]).await;
    assert_eq!(noted(subject, &webhook, &[(later.plus(SECOND), Went::Arrived)]).await, webhook);
    let again = later.plus(SECOND * 2);
    let notes = [(again, Went::Failed), (again.plus(ALMOST), Went::Failed)];
    let failing = noted(subject, &webhook, &notes).await;
    assert_eq!(failing.failing_since, Some(again), "five days begin anew");
}

/// Not by when the courier tells of them: it may have been away for a week.
pub async fn five_days_of_failures_disable_by_the_times_of_the_tries(subject: &dyn TenancySubject) {
    let webhook = made(subject, "acme").await;
    let start = subject.now().await;
    subject.advance(DAY * 30).await;
    let now = subject.now().await;
    let almost = start.plus(ALMOST);
    let failing = noted(subject, &webhook, &[(start, Went::Failed), (almost, Went::Failed)]).await;
    assert_eq!(failing.settings.disabled, None, "not one microsecond earlier");
    let off = disabled(subject, &webhook, start.plus(PATIENCE), Went::Failed).await;
    assert_eq!(off.settings.disabled, Some(Disabled::Failing));
    let mut expected = Webhook { failing_since: Some(start), version: 2, edited_at: now, ..webhook.clone() };
    expected.settings.disabled = Some(Disabled::Failing);
    assert_eq!(off, expected);
    assert_eq!(again(subject, &webhook).await, expected);
}

pub async fn a_410_disables_at_once(subject: &dyn TenancySubject) {
    let (webhook, bystander) = (made(subject, "acme").await, made(subject, "acme").await);
    let off = disabled(subject, &webhook, subject.now().await, Went::Gone).await;
    assert_eq!((off.settings.disabled, off.failing_since, off.version), (Some(Disabled::Gone), None, 2));
    assert_eq!(again(subject, &webhook).await, off);
    assert_eq!(again(subject, &bystander).await, bystander);
    let told = subject.tenancy().webhooks_of(&[tenant("acme")]).await.expect(ANSWERS).readable;
    assert_eq!(told, [bystander]);
}

/// Somebody looks at an endpoint; it is disabled; the edit arrives and would enable it without anybody having said so.
pub async fn an_edit_of_what_was_disabled_meanwhile_is_stale(subject: &dyn TenancySubject) {
    let webhook = made(subject, "acme").await;
    let first = change(&webhook, webhook.settings.clone());
    let answer = subject.tenancy().update_webhook(&first).await.expect(ANSWERS);
    let UpdateWebhookAnswer::Updated(before) = answer else { panic!("{answer:?}") };
    let second = change(&before, before.settings.clone());
    let off = disabled(subject, &webhook, subject.now().await.plus(SECOND), Went::Gone).await;
    for late in [first, second] {
        let answer = subject.tenancy().update_webhook(&late).await.expect(ANSWERS);
        assert_eq!(answer, UpdateWebhookAnswer::Stale);
    }
    assert_eq!(again(subject, &webhook).await, off);
}

/// One that fails can be edited: who has seen it, has seen it.
pub async fn health_raises_no_version(subject: &dyn TenancySubject) {
    let webhook = made(subject, "acme").await;
    let start = subject.now().await;
    noted(subject, &webhook, &[(start, Went::Failed)]).await;
    let edited = turned(subject, &webhook, None).await;
    assert_eq!((edited.version, edited.failing_since), (2, Some(start)), "and the edit leaves its health alone");
}

pub async fn a_disabled_endpoint_is_answered_once(subject: &dyn TenancySubject) {
    let (webhook, other) = (made(subject, "acme").await, made(subject, "other").await);
    let now = subject.now().await;
    let gone = |of: &Webhook, seconds| note(of, now.plus(SECOND * seconds), Went::Gone);
    let notes = [gone(&webhook, 1), gone(&other, 1), gone(&webhook, 2)];
    let first = disabled_by(subject, &notes).await;
    assert_eq!(first.iter().map(|off| off.id).collect::<Vec<_>>(), [webhook.id, other.id], "in the order given");
    assert_eq!(disabled_by(subject, &notes).await, [], "told again");
    let off = noted(subject, &webhook, &[(now.plus(DAY), Went::Arrived), (now.plus(DAY * 2), Went::Failed)]).await;
    assert_eq!(off, first[0], "what was on its way still changes nothing");
}

pub async fn of_many_who_tell_at_once_one_disables(subject: &dyn TenancySubject) {
    for went in [Went::Gone, Went::Failed] {
        let webhook = made(subject, "acme").await;
        let start = subject.now().await;
        noted(subject, &webhook, &[(start, Went::Failed)]).await;
        let told = at_once((0..8).map(|_| {
            let (store, note) = (subject.tenancy(), note(&webhook, start.plus(PATIENCE), went));
            async move { store.note_deliveries(&[note]).await.expect(ANSWERS) }
        }))
        .await;
        let there = again(subject, &webhook).await;
        assert_eq!(there.version, 2);
        assert_eq!(told.into_iter().flatten().collect::<Vec<_>>(), [there], "{went:?}");
    }
}

pub async fn enabling_begins_the_health_anew(subject: &dyn TenancySubject) {
    let webhook = made(subject, "acme").await;
    let start = subject.now().await;
    noted(subject, &webhook, &[(start, Went::Failed)]).await;
    let off = disabled(subject, &webhook, start.plus(PATIENCE), Went::Failed).await;
    subject.advance(PATIENCE + HOUR).await;
    let enabled = subject.now().await;
    let on = turned(subject, &off, None).await;
    assert_eq!((on.settings.disabled, on.failing_since, on.version), (None, None, 3));
    let first = enabled.plus(SECOND);
    let failing = noted(subject, &webhook, &[(first, Went::Failed), (first.plus(ALMOST), Went::Failed)]).await;
    assert_eq!(failing.failing_since, Some(first));
    disabled(subject, &webhook, first.plus(PATIENCE), Went::Failed).await;
}

/// A courier died after it told of a 410; its owner enabled the endpoint; the next courier tells of the 410 again.
pub async fn what_is_told_again_does_not_disable_what_was_enabled_since(subject: &dyn TenancySubject) {
    let webhook = made(subject, "acme").await;
    let start = subject.now().await;
    subject.advance(HOUR).await;
    let off = disabled(subject, &webhook, start, Went::Gone).await;
    subject.advance(HOUR).await;
    let on = turned(subject, &off, None).await;
    let enabled = subject.now().await;
    assert_eq!(noted(subject, &webhook, &[(start, Went::Gone), (enabled, Went::Gone)]).await, on);
    assert_eq!(noted(subject, &webhook, &[(start, Went::Failed)]).await, on, "nor is it failing by that");
    disabled(subject, &webhook, enabled.plus(MICROSECOND), Went::Gone).await;
}

/// Two deliveries at once, one fails and one arrives after it; the failure is committed late. Five days later another fails.
pub async fn an_old_failure_told_after_a_newer_arrival_disables_nothing(subject: &dyn TenancySubject) {
    let webhook = made(subject, "acme").await;
    let start = subject.now().await;
    let arrived = start.plus(HOUR);
    noted(subject, &webhook, &[(arrived, Went::Arrived)]).await;
    let well = noted(subject, &webhook, &[(start, Went::Failed), (arrived, Went::Failed), (start, Went::Gone)]).await;
    assert_eq!(well, webhook, "it was well after that");
    let late = start.plus(PATIENCE);
    assert_eq!(noted(subject, &webhook, &[(late, Went::Failed)]).await.failing_since, Some(late));
    noted(subject, &webhook, &[(start.plus(SECOND), Went::Arrived)]).await;
    let well = noted(subject, &webhook, &[(arrived, Went::Gone)]).await;
    assert_eq!(well.settings.disabled, None, "and an older arrival does not make it forget the newer one");
}

pub async fn an_old_arrival_told_after_a_newer_failure_does_not_end_it(subject: &dyn TenancySubject) {
    let webhook = made(subject, "acme").await;
    let start = subject.now().await;
    let failed = start.plus(HOUR);
    let failing = noted(subject, &webhook, &[(failed, Went::Failed), (start, Went::Arrived)]).await;
    assert_eq!(failing.failing_since, Some(failed));
    let well = noted(subject, &webhook, &[(failed, Went::Arrived)]).await;
    assert_eq!(well.failing_since, None, "of one moment, the arrival counts");
}

pub async fn an_older_failure_moves_the_beginning_back(subject: &dyn TenancySubject) {
    let webhook = made(subject, "acme").await;
    let start = subject.now().await;
    let notes = [(start.plus(DAY), Went::Failed), (start, Went::Failed)];
    assert_eq!(noted(subject, &webhook, &notes).await.failing_since, Some(start));
    disabled(subject, &webhook, start.plus(PATIENCE), Went::Failed).await;
}

/// The same notes, whatever the order in which they are told, and however often.
pub async fn notes_told_twice_say_what_they_said_once(subject: &dyn TenancySubject) {
    let start = subject.now().await;
    let notes = [
        (start.plus(SECOND), Went::Failed),
        (start.plus(SECOND * 2), Went::Arrived),
        (start.plus(SECOND * 3), Went::Failed),
        (start.plus(SECOND * 4), Went::Failed),
    ];
    let webhook = made(subject, "acme").await;
    let once = noted(subject, &webhook, &notes).await;
    assert_eq!(once.failing_since, Some(start.plus(SECOND * 3)));
    assert_eq!(noted(subject, &webhook, &notes).await, once);
    assert_eq!(noted(subject, &webhook, &notes[..2]).await, once);
    let backwards = made(subject, "acme").await;
    let notes: Vec<_> = notes.into_iter().rev().collect();
    noted(subject, &backwards, &notes[..2]).await;
    assert_eq!(noted(subject, &backwards, &notes[2..]).await.failing_since, once.failing_since);
}

pub async fn notes_of_another_tenant_pass_by(subject: &dyn TenancySubject) {
    let webhook = made(subject, "acme").await;
    let now = subject.now().await;
    for went in [Went::Failed, Went::Gone] {
        let forged = DeliveryNote { tenant: tenant("other"), ..note(&webhook, now, went) };
        assert_eq!(disabled_by(subject, &[forged]).await, []);
    }
    let stranger = DeliveryNote { webhook: WebhookId::fresh(), ..note(&webhook, now, Went::Gone) };
    assert_eq!(disabled_by(subject, &[stranger]).await, []);
    assert_eq!(again(subject, &webhook).await, webhook);
    noted(subject, &webhook, &[(now, Went::Failed)]).await;
    let forged = DeliveryNote { tenant: tenant("other"), ..note(&webhook, now.plus(SECOND), Went::Arrived) };
    assert_eq!(disabled_by(subject, &[forged]).await, []);
    assert_eq!(again(subject, &webhook).await.failing_since, Some(now));
}
