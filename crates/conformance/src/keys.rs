//! Keys are made once, found by their id, revoked for good and replaced once; each tenant\'s apart.

use super::TenancySubject;
use super::given::{HOUR, MINUTE, SECOND, at_once, tenant};
use super::tenants_kept;
use foreman_core::id::TenantId;
use foreman_core::key::{ApiKey, KeyId, KeyRecord, KeyRefused, Scope, admit};
use foreman_core::ports::{AtTheDoor, CreateKeyAnswer, NewKey, ReplaceKeyAnswer, Replacement, RevokeKeyAnswer};
use foreman_core::tenant::TenantSettings;

const ANSWERS: &str = "the store answers";

/// A key of a tenant, and what its holder shows.
pub(super) fn new(of: &str) -> (NewKey, ApiKey) {
    let shown = ApiKey::fresh();
    let new = NewKey {
        id: shown.id().clone(),
        tenant: tenant(of),
        name: "ci".into(),
        hash: shown.hash(),
        scopes: "jobs:*,stream:read".parse().expect("scopes"),
        expires_at: None,
    };
    (new, shown)
}

async fn create(subject: &dyn TenancySubject, new: &NewKey) -> CreateKeyAnswer {
    subject.tenancy().create_key(new).await.expect(ANSWERS)
}

async fn created(subject: &dyn TenancySubject, new: &NewKey) -> KeyRecord {
    match create(subject, new).await {
        CreateKeyAnswer::Created(key) => key,
        other => panic!("its id is fresh and its tenant there: {other:?}"),
    }
}

pub(super) async fn made(subject: &dyn TenancySubject, of: &str) -> KeyRecord {
    created(subject, &new(of).0).await
}

async fn find(subject: &dyn TenancySubject, key: &KeyRecord) -> KeyRecord {
    let found = subject.tenancy().key(&key.tenant, &key.id).await.expect(ANSWERS);
    found.expect("it is there")
}

async fn at_the_door(subject: &dyn TenancySubject, id: &KeyId) -> AtTheDoor {
    subject.tenancy().look_up_key(id).await.expect(ANSWERS).expect("it is there")
}

async fn revoke(subject: &dyn TenancySubject, key: &KeyRecord) -> RevokeKeyAnswer {
    subject.tenancy().revoke_key(&key.tenant, &key.id).await.expect(ANSWERS)
}

fn replacement(old: &KeyRecord) -> Replacement {
    let shown = ApiKey::fresh();
    Replacement { old: old.id.clone(), id: shown.id().clone(), hash: shown.hash(), expires_at: None, grace: HOUR }
}

async fn replace(subject: &dyn TenancySubject, old: &KeyRecord, replacement: &Replacement) -> ReplaceKeyAnswer {
    subject.tenancy().replace_key(&old.tenant, replacement).await.expect(ANSWERS)
}

async fn replaced(subject: &dyn TenancySubject, old: &KeyRecord, by: &Replacement) -> (KeyRecord, KeyRecord) {
    match replace(subject, old, by).await {
        ReplaceKeyAnswer::Replaced { old, new } => (old, new),
        other => panic!("{old:?} opens something and was never replaced: {other:?}"),
    }
}

pub async fn a_key_reads_back_as_it_was_made(subject: &dyn TenancySubject) {
    let now = subject.now().await;
    for scopes in ["admin", "jobs:read,jobs:write,schedules:read,schedules:write,stream:read,workers,exec:command"] {
        let (new, shown) = new("default");
        let new = NewKey {
            name: "ünï 'quoted' \"name\"".into(),
            scopes: scopes.parse().expect("scopes"),
            expires_at: Some(now.plus(HOUR)),
            ..new
        };
        let expected = KeyRecord {
            id: new.id.clone(),
            tenant: TenantId::default(),
            name: new.name.clone(),
            hash: shown.hash(),
            scopes: new.scopes,
            created_at: now,
            expires_at: new.expires_at,
            revoked_at: None,
            last_used_at: None,
            replaced_by: None,
        };
        assert_eq!(created(subject, &new).await, expected);
        assert_eq!(find(subject, &expected).await, expected);
        assert_eq!(admit(&shown, Some(expected.clone())), Some(expected), "the key still opens what was kept of it");
    }
}

pub async fn a_key_sent_again_is_made_once(subject: &dyn TenancySubject) {
    let (new, _) = new("default");
    let first = created(subject, &new).await;
    subject.advance(SECOND).await;
    assert_eq!(created(subject, &new).await, first, "the second sending changed nothing");
    let RevokeKeyAnswer::Revoked(revoked) = revoke(subject, &first).await else { panic!("it is there") };
    assert_eq!(created(subject, &new).await, revoked, "a revoked key does not come back");
    assert_eq!(subject.tenancy().keys(&TenantId::default(), None, 10).await.expect(ANSWERS).len(), 1);
}

pub async fn an_id_is_taken_once_whoever_asks(subject: &dyn TenancySubject) {
    tenants_kept::made(subject, "acme").await;
    let (first, _) = new("default");
    let kept = created(subject, &first).await;
    let others = [
        NewKey { id: first.id.clone(), ..new("default").0 },
        NewKey { id: first.id.clone(), ..new("acme").0 },
        NewKey { tenant: tenant("acme"), ..first },
    ];
    for other in others {
        assert_eq!(create(subject, &other).await, CreateKeyAnswer::IdTaken, "{other:?}");
    }
    assert_eq!(find(subject, &kept).await, kept, "it is as it was");
}

pub async fn a_key_needs_a_tenant(subject: &dyn TenancySubject) {
    let (new, _) = new("nobody");
    assert_eq!(create(subject, &new).await, CreateKeyAnswer::NoTenant);
    assert_eq!(subject.tenancy().look_up_key(&new.id).await.expect(ANSWERS), None);
    tenants_kept::made(subject, "nobody").await;
    created(subject, &new).await;
}

pub async fn another_tenants_key_is_not_there(subject: &dyn TenancySubject) {
    tenants_kept::made(subject, "theirs").await;
    let theirs = made(subject, "theirs").await;
    let (store, ours) = (subject.tenancy(), TenantId::default());
    assert_eq!(store.key(&ours, &theirs.id).await.expect(ANSWERS), None);
    assert_eq!(store.keys(&ours, None, 10).await.expect(ANSWERS), []);
    assert_eq!(store.revoke_key(&ours, &theirs.id).await.expect(ANSWERS), RevokeKeyAnswer::Gone);
    let by = replacement(&theirs);
    assert_eq!(store.replace_key(&ours, &by).await.expect(ANSWERS), ReplaceKeyAnswer::Gone);
    assert_eq!(store.look_up_key(&by.id).await.expect(ANSWERS), None, "and nothing was made");
    assert_eq!(find(subject, &theirs).await, theirs, "it is as it was");
}

pub async fn a_key_nobody_made_is_not_there(subject: &dyn TenancySubject) {
    let (nobodys, _) = new("default");
    let store = subject.tenancy();
    assert_eq!(store.look_up_key(&nobodys.id).await.expect(ANSWERS), None);
    assert_eq!(store.key(&nobodys.tenant, &nobodys.id).await.expect(ANSWERS), None);
    assert_eq!(store.revoke_key(&nobodys.tenant, &nobodys.id).await.expect(ANSWERS), RevokeKeyAnswer::Gone);
    store.note_keys_used(&[nobodys.id]).await.expect("one that is not there is passed by");
}

pub async fn the_door_finds_key_and_tenant_of_one_moment(subject: &dyn TenancySubject) {
    let acme = tenants_kept::made(subject, "acme").await;
    let (theirs, ours) = (made(subject, "acme").await, made(subject, "default").await);
    subject.advance(SECOND).await;
    let expected = AtTheDoor { key: theirs.clone(), tenant: acme, now: subject.now().await };
    assert_eq!(at_the_door(subject, &theirs.id).await, expected);
    let other = at_the_door(subject, &ours.id).await;
    assert_eq!((other.key, other.tenant.id), (ours, TenantId::default()));
}

pub async fn the_door_sees_at_once_what_an_administrator_did(subject: &dyn TenancySubject) {
    let acme = tenants_kept::made(subject, "acme").await;
    let key = made(subject, "acme").await;
    let settings = TenantSettings { is_disabled: true, ..TenantSettings::default() };
    tenants_kept::changed(subject, &acme, settings).await;
    assert!(at_the_door(subject, &key.id).await.tenant.settings.is_disabled);
    revoke(subject, &key).await;
    let door = at_the_door(subject, &key.id).await;
    assert_eq!(door.key.may(Scope::JobsRead, door.now), Err(KeyRefused::Revoked(door.now)));
}

pub async fn a_revoked_key_stays_revoked_since_the_first_time(subject: &dyn TenancySubject) {
    let (key, bystander) = (made(subject, "default").await, made(subject, "default").await);
    subject.advance(SECOND).await;
    let expected = KeyRecord { revoked_at: Some(subject.now().await), ..key.clone() };
    assert_eq!(revoke(subject, &key).await, RevokeKeyAnswer::Revoked(expected.clone()));
    subject.advance(SECOND).await;
    assert_eq!(revoke(subject, &key).await, RevokeKeyAnswer::Revoked(expected.clone()));
    assert_eq!(find(subject, &key).await, expected);
    assert_eq!(find(subject, &bystander).await, bystander);
}

pub async fn keys_are_listed_by_id_page_by_page(subject: &dyn TenancySubject) {
    tenants_kept::made(subject, "other").await;
    let mut sorted = Vec::new();
    for _ in 0..7 {
        sorted.push(made(subject, "default").await.id);
        made(subject, "other").await;
    }
    sorted.sort();
    for limit in [1, 3, 7] {
        let (mut after, mut seen) = (None::<KeyId>, Vec::new());
        loop {
            let page = subject.tenancy().keys(&TenantId::default(), after.as_ref(), limit).await.expect(ANSWERS);
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            after = Some(last.id.clone());
            seen.extend(page.into_iter().map(|key| key.id));
        }
        assert_eq!(seen, sorted, "in pages of {limit}");
    }
}

pub async fn a_use_is_noted_and_never_taken_back(subject: &dyn TenancySubject) {
    let (key, idle) = (made(subject, "default").await, made(subject, "default").await);
    subject.advance(MINUTE).await;
    let unknown = ApiKey::fresh().id().clone();
    let used = [unknown, key.id.clone(), key.id.clone()];
    subject.tenancy().note_keys_used(&used).await.expect(ANSWERS);
    let noted = KeyRecord { last_used_at: Some(subject.now().await), ..key.clone() };
    assert_eq!(find(subject, &key).await, noted);
    assert_eq!(find(subject, &idle).await, idle);
    subject.advance(MINUTE).await;
    subject.tenancy().note_keys_used(&[]).await.expect(ANSWERS);
    assert_eq!(find(subject, &key).await, noted);
    subject.tenancy().note_keys_used(std::slice::from_ref(&key.id)).await.expect(ANSWERS);
    assert_eq!(find(subject, &key).await.last_used_at, Some(subject.now().await));
}

pub async fn a_replaced_key_goes_on_for_its_grace(subject: &dyn TenancySubject) {
    let first = made(subject, "default").await;
    subject.tenancy().note_keys_used(std::slice::from_ref(&first.id)).await.expect(ANSWERS);
    subject.advance(SECOND).await;
    let now = subject.now().await;
    let by = Replacement { expires_at: Some(now.plus(HOUR * 5)), ..replacement(&first) };
    let (old, new) = replaced(subject, &first, &by).await;
    assert_eq!((old.expires_at, old.replaced_by.as_ref()), (Some(now.plus(HOUR)), Some(&by.id)));
    let expected =
        KeyRecord { id: by.id.clone(), hash: by.hash, created_at: now, expires_at: by.expires_at, ..first.clone() };
    assert_eq!(new, expected, "good for the same, and never used");
    assert_eq!((find(subject, &old).await, find(subject, &new).await), (old.clone(), new.clone()));
    subject.advance(HOUR).await;
    let door = at_the_door(subject, &old.id).await;
    assert!(door.key.is_live(door.now).is_err());
    let door = at_the_door(subject, &new.id).await;
    assert_eq!(door.key.may(Scope::JobsWrite, door.now), Ok(()));
}

pub async fn a_key_gains_no_time_by_being_replaced(subject: &dyn TenancySubject) {
    let soon = subject.now().await.plus(MINUTE);
    let first = created(subject, &NewKey { expires_at: Some(soon), ..new("default").0 }).await;
    let (old, new) = replaced(subject, &first, &replacement(&first)).await;
    assert_eq!(old.expires_at, Some(soon), "its own end was sooner than the grace");
    assert_eq!(new.expires_at, None, "the new one has an end of its own, or none");
}

pub async fn a_replacement_sent_again_is_made_once(subject: &dyn TenancySubject) {
    let first = made(subject, "default").await;
    let by = replacement(&first);
    let answer = replaced(subject, &first, &by).await;
    // The answer may be lost for longer than the grace.
    subject.advance(HOUR * 2).await;
    assert_eq!(replaced(subject, &first, &by).await, answer, "the second sending changed nothing");
    assert_eq!(subject.tenancy().keys(&TenantId::default(), None, 10).await.expect(ANSWERS).len(), 2);
}

pub async fn a_key_is_replaced_once(subject: &dyn TenancySubject) {
    let first = made(subject, "default").await;
    let (_, second) = replaced(subject, &first, &replacement(&first)).await;
    let by = replacement(&first);
    let answer = replace(subject, &first, &by).await;
    assert_eq!(answer, ReplaceKeyAnswer::AlreadyReplaced(second.id.clone()));
    assert_eq!(subject.tenancy().look_up_key(&by.id).await.expect(ANSWERS), None, "nothing was made");
    let (_, third) = replaced(subject, &second, &Replacement { old: second.id.clone(), ..by }).await;
    assert_eq!(third.scopes, first.scopes, "what took its place can be replaced in turn");
}

pub async fn what_opens_nothing_is_not_replaced(subject: &dyn TenancySubject) {
    let revoked = made(subject, "default").await;
    revoke(subject, &revoked).await;
    let soon = subject.now().await.plus(MINUTE);
    let expired = created(subject, &NewKey { expires_at: Some(soon), ..new("default").0 }).await;
    subject.advance(MINUTE).await;
    for dead in [revoked, expired] {
        let (by, dead) = (replacement(&dead), find(subject, &dead).await);
        assert_eq!(replace(subject, &dead, &by).await, ReplaceKeyAnswer::NotLive(dead.clone()));
        assert_eq!(subject.tenancy().look_up_key(&by.id).await.expect(ANSWERS), None);
        assert_eq!(find(subject, &dead).await, dead, "it is as it was");
    }
}

pub async fn a_replacement_needs_an_id_of_its_own(subject: &dyn TenancySubject) {
    let (first, bystander) = (made(subject, "default").await, made(subject, "default").await);
    for taken in [&bystander.id, &first.id] {
        let by = Replacement { id: taken.clone(), ..replacement(&first) };
        assert_eq!(replace(subject, &first, &by).await, ReplaceKeyAnswer::IdTaken);
    }
    assert_eq!((find(subject, &first).await, find(subject, &bystander).await), (first, bystander));
}

pub async fn of_many_replacements_at_once_one_takes_place(subject: &dyn TenancySubject) {
    let first = made(subject, "default").await;
    let answers = at_once((0..8).map(|_| {
        let (store, by) = (subject.tenancy(), replacement(&first));
        async move { store.replace_key(&TenantId::default(), &by).await.expect(ANSWERS) }
    }))
    .await;
    let won = find(subject, &first).await.replaced_by.expect("one took place");
    let made: Vec<&KeyId> = answers
        .iter()
        .filter_map(|answer| if let ReplaceKeyAnswer::Replaced { new, .. } = answer { Some(&new.id) } else { None })
        .collect();
    assert_eq!(made, [&won]);
    let others = answers.iter().filter(|answer| **answer == ReplaceKeyAnswer::AlreadyReplaced(won.clone())).count();
    assert_eq!(others, 7, "{answers:?}");
    assert_eq!(subject.tenancy().keys(&TenantId::default(), None, 10).await.expect(ANSWERS).len(), 2);
}

pub async fn one_key_sent_twice_at_once_is_made_once(subject: &dyn TenancySubject) {
    let (new, _) = new("default");
    let answers = at_once((0..4).map(|_| {
        let (store, new) = (subject.tenancy(), new.clone());
        async move { store.create_key(&new).await.expect(ANSWERS) }
    }))
    .await;
    let there = at_the_door(subject, &new.id).await.key;
    assert!(answers.iter().all(|answer| *answer == CreateKeyAnswer::Created(there.clone())), "{answers:?}");
}
