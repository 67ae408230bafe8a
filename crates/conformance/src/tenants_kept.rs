//! Tenants are made once, changed by who has seen them, and deleted when nothing is left of them.

use super::given::{SECOND, Scene, a_job, at_once, completed, tenant};
use super::timetable::every_minute;
use super::{TenancySubject, keys};
use foreman_core::id::{EditId, TenantId};
use foreman_core::ports::{
    CreateKeyAnswer, CreateTenantAnswer, DeleteTenantAnswer, NewTenant, RevokeKeyAnswer, TenantUpdate,
    UpdateTenantAnswer,
};
use foreman_core::signing::SigningKeys;
use foreman_core::tenant::{Limit, LimitOverrides, Programs, Tenant, TenantSettings, Variables, Weight};

const ANSWERS: &str = "the store answers";

pub(super) fn new(id: &str) -> NewTenant {
    NewTenant { edit: EditId::fresh(), id: tenant(id), settings: TenantSettings::default() }
}

pub(super) fn settings(weight: u32) -> TenantSettings {
    TenantSettings { weight: Weight::try_from(weight).expect("a weight"), ..TenantSettings::default() }
}

pub(super) fn disabled() -> TenantSettings {
    TenantSettings { is_disabled: true, ..TenantSettings::default() }
}

fn change(seen: &Tenant, settings: TenantSettings) -> TenantUpdate {
    TenantUpdate { edit: EditId::fresh(), tenant: seen.id.clone(), version: seen.version, settings }
}

pub(super) async fn made(subject: &dyn TenancySubject, id: &str) -> Tenant {
    match subject.tenancy().create_tenant(&new(id)).await.expect(ANSWERS) {
        CreateTenantAnswer::Created(tenant) => tenant,
        CreateTenantAnswer::Taken => panic!("{id} is free"),
    }
}

async fn find(subject: &dyn TenancySubject, id: &str) -> Option<Tenant> {
    subject.tenancy().tenant(&tenant(id)).await.expect(ANSWERS)
}

pub(super) async fn changed(subject: &dyn TenancySubject, seen: &Tenant, settings: TenantSettings) -> Tenant {
    match subject.tenancy().update_tenant(&change(seen, settings)).await.expect(ANSWERS) {
        UpdateTenantAnswer::Updated(tenant) => tenant,
        other => panic!("{seen:?} is as it was seen: {other:?}"),
    }
}

async fn delete(subject: &dyn TenancySubject, seen: &Tenant) -> DeleteTenantAnswer {
    subject.tenancy().delete_tenant(&seen.id, seen.version).await.expect(ANSWERS)
}

async fn listed(subject: &dyn TenancySubject) -> Vec<String> {
    let all = subject.tenancy().tenants(None, 100).await.expect(ANSWERS);
    assert_eq!(all.unreadable, []);
    all.readable.iter().map(|tenant| tenant.id.to_string()).collect()
}

pub async fn the_default_tenant_is_always_there(subject: &dyn TenancySubject) {
    let default = find(subject, "default").await.expect("it is always there");
    assert_eq!((default.id, default.version), (TenantId::default(), 1));
    assert_eq!(default.settings, TenantSettings::default());
    assert_eq!(listed(subject).await, ["default"]);
    let answer = subject.tenancy().create_tenant(&new("default")).await.expect(ANSWERS);
    assert_eq!(answer, CreateTenantAnswer::Taken);
}

pub async fn a_tenant_reads_back_as_it_was_made(subject: &dyn TenancySubject) {
    let settings = TenantSettings {
        is_disabled: true,
        limits: LimitOverrides {
            submit_per_second: Some(Limit::AtMost(u64::MAX)),
            queued_jobs: Some(Limit::Unlimited),
            schedules: Some(Limit::AtMost(0)),
            ..LimitOverrides::default()
        },
        commands: Programs::new(["/opt/it\'s \"here\"", "sh"]).expect("programs"),
        variables: Variables::new(["TOKEN", "REPORT_*"]).expect("names"),
        weight: Weight::try_from(1_000).expect("a weight"),
        signing: SigningKeys::default(),
    };
    let new = NewTenant { settings: settings.clone(), ..new("acme") };
    let now = subject.now().await;
    let expected = Tenant { id: tenant("acme"), settings, version: 1, created_at: now, edited_at: now };
    let answer = subject.tenancy().create_tenant(&new).await.expect(ANSWERS);
    assert_eq!(answer, CreateTenantAnswer::Created(expected.clone()));
    assert_eq!(find(subject, "acme").await, Some(expected));
}

pub async fn a_tenant_nobody_made_is_not_there(subject: &dyn TenancySubject) {
    assert_eq!(find(subject, "nobody").await, None);
    let ghost = Tenant { id: tenant("nobody"), ..find(subject, "default").await.expect("it is always there") };
    let answer = subject.tenancy().update_tenant(&change(&ghost, disabled())).await.expect(ANSWERS);
    assert_eq!(answer, UpdateTenantAnswer::Gone);
    assert_eq!(delete(subject, &ghost).await, DeleteTenantAnswer::Gone);
    // A tenant that only has jobs, from before there were tenants, is nobody\'s to find either.
    Scene::of(subject).submit(a_job().of("nobody")).await;
    assert_eq!(find(subject, "nobody").await, None);
}

pub async fn a_tenant_sent_again_is_made_once(subject: &dyn TenancySubject) {
    let new = new("acme");
    let first = subject.tenancy().create_tenant(&new).await.expect(ANSWERS);
    subject.advance(SECOND).await;
    assert_eq!(
        subject.tenancy().create_tenant(&new).await.expect(ANSWERS),
        first,
        "the second sending changed nothing"
    );
    let CreateTenantAnswer::Created(made) = first else { panic!("{first:?}") };
    let later = changed(subject, &made, settings(7)).await;
    let again = subject.tenancy().create_tenant(&new).await.expect(ANSWERS);
    assert_eq!(again, CreateTenantAnswer::Created(later), "what was changed since stays changed");
    assert_eq!(listed(subject).await, ["acme", "default"]);
}

pub async fn an_id_is_taken_once(subject: &dyn TenancySubject) {
    let first = made(subject, "acme").await;
    let other = NewTenant { settings: settings(9), ..new("acme") };
    assert_eq!(subject.tenancy().create_tenant(&other).await.expect(ANSWERS), CreateTenantAnswer::Taken);
    assert_eq!(find(subject, "acme").await, Some(first), "it is as it was");
}

pub async fn of_many_made_with_one_id_at_once_one_is_made(subject: &dyn TenancySubject) {
    let answers = at_once((1..=8).map(|weight| {
        let (store, new) = (subject.tenancy(), NewTenant { settings: settings(weight), ..new("wanted") });
        async move { store.create_tenant(&new).await.expect(ANSWERS) }
    }))
    .await;
    let there = find(subject, "wanted").await.expect("one was made");
    let made: Vec<_> = answers.iter().filter(|answer| **answer != CreateTenantAnswer::Taken).collect();
    assert_eq!(made, [&CreateTenantAnswer::Created(there)], "{answers:?}");
}

pub async fn tenants_are_listed_by_id_page_by_page(subject: &dyn TenancySubject) {
    // In the order of their bytes, whatever the collation of a database says.
    let sorted = ["1", "a", "a-b", "a0", "aa", "default", "z"];
    for id in ["a0", "z", "a", "aa", "1", "a-b"] {
        made(subject, id).await;
    }
    assert_eq!(listed(subject).await, sorted);
    for limit in [1, 3, 7] {
        let (mut after, mut seen) = (None::<TenantId>, Vec::new());
        loop {
            let page = subject.tenancy().tenants(after.as_ref(), limit).await.expect(ANSWERS).readable;
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            after = Some(last.id.clone());
            seen.extend(page.iter().map(|tenant| tenant.id.to_string()));
        }
        assert_eq!(seen, sorted, "in pages of {limit}");
    }
}

pub async fn a_change_raises_the_version(subject: &dyn TenancySubject) {
    let (first, bystander) = (made(subject, "acme").await, made(subject, "other").await);
    subject.advance(SECOND).await;
    let second = changed(subject, &first, settings(3)).await;
    let expected =
        Tenant { settings: settings(3), version: 2, edited_at: first.created_at.plus(SECOND), ..first.clone() };
    assert_eq!(second, expected);
    assert_eq!(find(subject, "acme").await, Some(expected));
    let third = changed(subject, &second, TenantSettings::default()).await;
    assert_eq!((third.version, third.settings), (3, first.settings), "it is replaced as a whole");
    assert_eq!(find(subject, "other").await, Some(bystander));
}

pub async fn a_change_of_what_was_not_seen_is_stale(subject: &dyn TenancySubject) {
    let first = made(subject, "acme").await;
    let second = changed(subject, &first, settings(3)).await;
    for version in [0, 1, 3] {
        let seen = Tenant { version, ..second.clone() };
        let answer = subject.tenancy().update_tenant(&change(&seen, settings(4))).await.expect(ANSWERS);
        assert_eq!(answer, UpdateTenantAnswer::Stale, "version {version}");
        assert_eq!(delete(subject, &seen).await, DeleteTenantAnswer::Stale);
    }
    assert_eq!(find(subject, "acme").await, Some(second), "nothing was written");
}

pub async fn a_change_sent_again_is_done_once(subject: &dyn TenancySubject) {
    let first = made(subject, "acme").await;
    let update = change(&first, settings(3));
    let answer = subject.tenancy().update_tenant(&update).await.expect(ANSWERS);
    subject.advance(SECOND).await;
    assert_eq!(subject.tenancy().update_tenant(&update).await.expect(ANSWERS), answer);
    let UpdateTenantAnswer::Updated(second) = answer else { panic!("{answer:?}") };
    assert_eq!(second.version, 2);
    let third = changed(subject, &second, settings(4)).await;
    let late = subject.tenancy().update_tenant(&update).await.expect(ANSWERS);
    assert_eq!(late, UpdateTenantAnswer::Stale, "another change came after it");
    assert_eq!(find(subject, "acme").await, Some(third));
}

pub async fn of_many_changes_at_once_one_takes_place(subject: &dyn TenancySubject) {
    let first = made(subject, "acme").await;
    let answers = at_once((2..=9).map(|weight| {
        let (store, update) = (subject.tenancy(), change(&first, settings(weight)));
        async move { store.update_tenant(&update).await.expect(ANSWERS) }
    }))
    .await;
    let there = find(subject, "acme").await.expect("it is there");
    assert_eq!(there.version, 2);
    let won: Vec<_> = answers.iter().filter(|answer| **answer != UpdateTenantAnswer::Stale).collect();
    assert_eq!(won, [&UpdateTenantAnswer::Updated(there)], "{answers:?}");
}

pub async fn the_default_tenant_can_be_changed_and_not_deleted(subject: &dyn TenancySubject) {
    let default = find(subject, "default").await.expect("it is always there");
    let changed = changed(subject, &default, disabled()).await;
    assert!(changed.settings.is_disabled && changed.version == 2);
    assert_eq!(delete(subject, &changed).await, DeleteTenantAnswer::Permanent);
    assert_eq!(find(subject, "default").await, Some(changed));
}

pub async fn a_tenant_is_deleted_when_it_is_disabled_and_owns_nothing(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let tenant = made(subject, "acme").await;
    assert_eq!(delete(subject, &tenant).await, DeleteTenantAnswer::Enabled);
    let job = scene.submit(a_job().of("acme")).await;
    let disabled_now = changed(subject, &tenant, disabled()).await;
    assert_eq!(delete(subject, &disabled_now).await, DeleteTenantAnswer::InUse, "a job waits");
    let enabled = changed(subject, &disabled_now, TenantSettings::default()).await;
    let session = scene.session().await;
    let proof = scene.claim_job(session, job).await;
    let tenant = changed(subject, &enabled, disabled()).await;
    assert_eq!(delete(subject, &tenant).await, DeleteTenantAnswer::InUse, "a job is held");
    scene.end_attempt(proof, completed()).await;
    assert_eq!(delete(subject, &tenant).await, DeleteTenantAnswer::InUse, "a job is on record");
    assert_eq!(find(subject, "acme").await, Some(tenant.clone()));
    scene.store.remove(&tenant.id, &[job]).await.expect(ANSWERS);
    let delivery = scene.submit(a_job().of("acme").queued(foreman_core::webhook::QUEUE)).await;
    assert_eq!(delete(subject, &tenant).await, DeleteTenantAnswer::InUse, "a delivery waits");
    scene.store.cancel(&tenant.id, &[delivery]).await.expect(ANSWERS);
    scene.store.remove(&tenant.id, &[delivery]).await.expect(ANSWERS);
    scene.submit(a_job()).await;
    assert_eq!(delete(subject, &tenant).await, DeleteTenantAnswer::Deleted, "what others own does not matter");
    assert_eq!(find(subject, "acme").await, None);
    assert_eq!(listed(subject).await, ["default"]);
}

pub async fn a_tenant_with_a_schedule_is_not_deleted(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let tenant = changed(subject, &made(subject, "acme").await, disabled()).await;
    let schedule = scene.plant(every_minute("often").of("acme").paused()).await;
    assert_eq!(delete(subject, &tenant).await, DeleteTenantAnswer::InUse);
    scene.store.delete_schedule(&tenant.id, schedule.schedule.id, schedule.seen).await.expect(ANSWERS);
    assert_eq!(delete(subject, &tenant).await, DeleteTenantAnswer::Deleted);
}

pub async fn a_deleted_tenant_is_gone_with_its_keys(subject: &dyn TenancySubject) {
    let tenant = made(subject, "acme").await;
    let (key, bystander) = (keys::made(subject, "acme").await, keys::made(subject, "default").await);
    let tenant = changed(subject, &tenant, disabled()).await;
    assert_eq!(delete(subject, &tenant).await, DeleteTenantAnswer::Deleted);
    let store = subject.tenancy();
    assert_eq!(store.look_up_key(&key.id).await.expect(ANSWERS), None);
    assert_eq!(store.key(&tenant.id, &key.id).await.expect(ANSWERS), None);
    assert_eq!(store.keys(&tenant.id, None, 10).await.expect(ANSWERS), []);
    assert_eq!(store.revoke_key(&tenant.id, &key.id).await.expect(ANSWERS), RevokeKeyAnswer::Gone);
    let (new, _) = keys::new("acme");
    assert_eq!(store.create_key(&new).await.expect(ANSWERS), CreateKeyAnswer::NoTenant);
    let theirs = store.look_up_key(&bystander.id).await.expect(ANSWERS).expect("another tenant\'s key stays");
    assert_eq!(theirs.key, bystander);
}

pub async fn a_deletion_sent_again_is_answered_the_same(subject: &dyn TenancySubject) {
    let tenant = changed(subject, &made(subject, "acme").await, disabled()).await;
    assert_eq!(delete(subject, &tenant).await, DeleteTenantAnswer::Deleted);
    assert_eq!(delete(subject, &tenant).await, DeleteTenantAnswer::Deleted);
    let older = Tenant { version: 1, ..tenant.clone() };
    assert_eq!(delete(subject, &older).await, DeleteTenantAnswer::Gone, "somebody else deleted another state of it");
    let answer = subject.tenancy().update_tenant(&change(&tenant, settings(2))).await.expect(ANSWERS);
    assert_eq!(answer, UpdateTenantAnswer::Gone);
}

pub async fn the_id_of_a_deleted_tenant_is_never_given_again(subject: &dyn TenancySubject) {
    let first = new("acme");
    let CreateTenantAnswer::Created(tenant) = subject.tenancy().create_tenant(&first).await.expect(ANSWERS) else {
        panic!("acme is free")
    };
    let tenant = changed(subject, &tenant, disabled()).await;
    assert_eq!(delete(subject, &tenant).await, DeleteTenantAnswer::Deleted);
    for again in [new("acme"), first] {
        let answer = subject.tenancy().create_tenant(&again).await.expect(ANSWERS);
        assert_eq!(answer, CreateTenantAnswer::Taken);
    }
    assert_eq!(find(subject, "acme").await, None);
}
