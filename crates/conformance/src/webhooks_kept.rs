//! Endpoints are made once, changed by who has seen them, and deleted with what is listed of them; each tenant's apart.

use super::TenancySubject;
use super::given::{SECOND, at_once, sorted, tenant};
use super::tenants_kept;
use foreman_core::id::{EditId, TenantId, WebhookId};
use foreman_core::ports::{
    CreateWebhookAnswer, DeleteTenantAnswer, DeliveryNote, NewWebhook, UpdateWebhookAnswer, WebhookUpdate, Went,
};
use foreman_core::sealed::{Keyring, MasterKey, Sealed, SealedFor};
use foreman_core::signing::{SigningKeys, SigningSecret};
use foreman_core::tenant::TenantSettings;
use foreman_core::webhook::{Disabled, Events, Webhook, WebhookSettings};

const ANSWERS: &str = "the store answers";

/// A secret as it is kept; a store never opens one.
fn sealed(of: &TenantId, id: WebhookId) -> Sealed {
    let name = Webhook::place_name(id);
    Keyring::new(MasterKey::fresh()).seal(SealedFor { tenant: of, name: &name }, &SigningSecret::fresh().text())
}

pub(super) fn settings(url: &str) -> WebhookSettings {
    WebhookSettings {
        url: url.parse().expect("a valid URL"),
        events: Events::ALL,
        description: String::new(),
        disabled: None,
    }
}

pub(super) fn new(of: &str) -> NewWebhook {
    let (id, tenant) = (WebhookId::fresh(), tenant(of));
    let signing = SigningKeys::one(sealed(&tenant, id));
    NewWebhook { id, tenant, settings: settings("https://example.com/hook"), signing, at_most: 50 }
}

async fn create(subject: &dyn TenancySubject, new: &NewWebhook) -> CreateWebhookAnswer {
    subject.tenancy().create_webhook(new).await.expect(ANSWERS)
}

async fn created(subject: &dyn TenancySubject, new: &NewWebhook) -> Webhook {
    match create(subject, new).await {
        CreateWebhookAnswer::Created(webhook) => webhook,
        CreateWebhookAnswer::TooMany => panic!("there is room for {new:?}"),
    }
}

pub(super) async fn made(subject: &dyn TenancySubject, of: &str) -> Webhook {
    created(subject, &new(of)).await
}

pub(super) async fn find(subject: &dyn TenancySubject, of: &TenantId, id: WebhookId) -> Option<Webhook> {
    subject.tenancy().webhook(of, id).await.expect(ANSWERS)
}

/// The endpoint as it stands.
pub(super) async fn again(subject: &dyn TenancySubject, webhook: &Webhook) -> Webhook {
    find(subject, &webhook.tenant, webhook.id).await.expect("it is there")
}

async fn listed(subject: &dyn TenancySubject, of: &str) -> Vec<WebhookId> {
    let all = subject.tenancy().webhooks(&tenant(of), None, 100).await.expect(ANSWERS);
    all.iter().map(|webhook| webhook.id).collect()
}

pub(super) fn change(seen: &Webhook, settings: WebhookSettings) -> WebhookUpdate {
    WebhookUpdate {
        edit: EditId::fresh(),
        tenant: seen.tenant.clone(),
        webhook: seen.id,
        version: seen.version,
        settings,
        signing: seen.signing.clone(),
    }
}

async fn update(subject: &dyn TenancySubject, update: &WebhookUpdate) -> UpdateWebhookAnswer {
    subject.tenancy().update_webhook(update).await.expect(ANSWERS)
}

async fn updated(subject: &dyn TenancySubject, change: &WebhookUpdate) -> Webhook {
    match update(subject, change).await {
        UpdateWebhookAnswer::Updated(webhook) => webhook,
        other => panic!("{change:?} is of what is there: {other:?}"),
    }
}

/// Somebody turns it on or off.
pub(super) async fn turned(subject: &dyn TenancySubject, seen: &Webhook, disabled: Option<Disabled>) -> Webhook {
    updated(subject, &change(seen, WebhookSettings { disabled, ..seen.settings.clone() })).await
}

async fn delete(subject: &dyn TenancySubject, of: &TenantId, id: WebhookId) -> bool {
    subject.tenancy().delete_webhook(of, id).await.expect(ANSWERS)
}

pub async fn an_endpoint_reads_back_as_it_was_made(subject: &dyn TenancySubject) {
    let now = subject.now().await;
    for (events, disabled) in
        [("job.completed", None), ("job.*", Some(Disabled::ByOwner)), ("*", None), ("webhook.disabled", None)]
    {
        let new = new("acme");
        let settings = WebhookSettings {
            events: Events::parse([events]).expect("events"),
            description: "ünï 'quoted' \"name\"; --".into(),
            disabled,
            ..settings("https://user@example.com:8443/ho%20ok?x=1&y=%27#z")
        };
        // While one secret takes over from another there are two.
        let signing = new.signing.rotated(sealed(&new.tenant, new.id), now, SECOND);
        let new = NewWebhook { settings: settings.clone(), signing: signing.clone(), ..new };
        let expected = Webhook {
            id: new.id,
            tenant: tenant("acme"),
            settings,
            signing,
            failing_since: None,
            version: 1,
            created_at: now,
            edited_at: now,
        };
        assert_eq!(create(subject, &new).await, CreateWebhookAnswer::Created(expected.clone()));
        assert_eq!(again(subject, &expected).await, expected);
    }
}

pub async fn an_endpoint_sent_again_is_made_once(subject: &dyn TenancySubject) {
    let new = new("acme");
    let first = created(subject, &new).await;
    subject.advance(SECOND).await;
    assert_eq!(created(subject, &new).await, first, "the second sending changed nothing");
    let later = updated(subject, &change(&first, settings("https://example.com/elsewhere"))).await;
    assert_eq!(created(subject, &new).await, later, "what was changed since stays changed");
    assert_eq!(created(subject, &NewWebhook { at_most: 1, ..new }).await, later, "it is not one more");
    assert_eq!(listed(subject, "acme").await, [first.id]);
}

pub async fn one_endpoint_sent_twice_at_once_is_made_once(subject: &dyn TenancySubject) {
    let new = new("acme");
    let answers = at_once((0..8).map(|_| {
        let (store, new) = (subject.tenancy(), new.clone());
        async move { store.create_webhook(&new).await.expect(ANSWERS) }
    }))
    .await;
    let there = find(subject, &new.tenant, new.id).await.expect("it was made");
    assert!(answers.iter().all(|answer| *answer == CreateWebhookAnswer::Created(there.clone())), "{answers:?}");
    assert_eq!(listed(subject, "acme").await, [new.id]);
}

pub async fn a_tenant_has_no_more_than_so_many(subject: &dyn TenancySubject) {
    for _ in 0..2 {
        created(subject, &NewWebhook { at_most: 2, ..new("acme") }).await;
    }
    let third = NewWebhook { at_most: 2, ..new("acme") };
    assert_eq!(create(subject, &third).await, CreateWebhookAnswer::TooMany);
    assert_eq!(find(subject, &third.tenant, third.id).await, None, "nothing was written");
    created(subject, &NewWebhook { at_most: 2, ..new("other") }).await;
    let first = listed(subject, "acme").await[0];
    assert!(delete(subject, &third.tenant, first).await);
    created(subject, &third).await;
    assert_eq!(create(subject, &NewWebhook { at_most: 0, ..new("none") }).await, CreateWebhookAnswer::TooMany);
}

/// Each of them sees room for one more before any of the others is there.
pub async fn of_many_made_at_once_no_more_are_made_than_there_is_room_for(subject: &dyn TenancySubject) {
    let answers = at_once((0..8).map(|_| {
        let (store, new) = (subject.tenancy(), NewWebhook { at_most: 3, ..new("acme") });
        async move { store.create_webhook(&new).await.expect(ANSWERS) }
    }))
    .await;
    let mut made = Vec::new();
    for answer in answers {
        if let CreateWebhookAnswer::Created(webhook) = answer {
            made.push(webhook.id);
        }
    }
    assert_eq!(made.len(), 3);
    assert_eq!(listed(subject, "acme").await, sorted(made));
}

pub async fn another_tenants_endpoint_is_not_there(subject: &dyn TenancySubject) {
    let (theirs, ours) = (made(subject, "theirs").await, tenant("ours"));
    assert_eq!(find(subject, &ours, theirs.id).await, None);
    assert_eq!(listed(subject, "ours").await, []);
    let edit = WebhookUpdate { tenant: ours.clone(), ..change(&theirs, settings("https://example.com/taken")) };
    assert_eq!(update(subject, &edit).await, UpdateWebhookAnswer::Gone);
    assert!(!delete(subject, &ours, theirs.id).await);
    assert_eq!(again(subject, &theirs).await, theirs, "it is as it was");
}

pub async fn an_endpoint_nobody_made_is_not_there(subject: &dyn TenancySubject) {
    let ghost = Webhook { id: WebhookId::fresh(), ..made(subject, "acme").await };
    assert_eq!(find(subject, &ghost.tenant, ghost.id).await, None);
    let edit = change(&ghost, ghost.settings.clone());
    assert_eq!(update(subject, &edit).await, UpdateWebhookAnswer::Gone);
    assert!(!delete(subject, &ghost.tenant, ghost.id).await);
}

pub async fn endpoints_are_listed_by_id_page_by_page(subject: &dyn TenancySubject) {
    let mut all = Vec::new();
    for _ in 0..5 {
        all.push(made(subject, "acme").await.id);
        made(subject, "other").await;
    }
    let all = sorted(all);
    for limit in [1, 2, 5, 100] {
        let (mut after, mut seen) = (None, Vec::new());
        loop {
            let page = subject.tenancy().webhooks(&tenant("acme"), after, limit).await.expect(ANSWERS);
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            seen.extend(page.iter().map(|webhook| webhook.id));
        }
        assert_eq!(seen, all, "in pages of {limit}");
    }
}

pub async fn the_courier_is_told_of_those_that_are_enabled(subject: &dyn TenancySubject) {
    let (acme, other) = (made(subject, "acme").await, made(subject, "other").await);
    let off = turned(subject, &made(subject, "acme").await, Some(Disabled::ByOwner)).await;
    made(subject, "third").await;
    let told = |tenants: Vec<TenantId>| async move {
        let found = subject.tenancy().webhooks_of(&tenants).await.expect(ANSWERS).readable;
        sorted(found.into_iter().map(|webhook| webhook.id))
    };
    assert_eq!(told(vec![]).await, []);
    assert_eq!(told(vec![tenant("nobody")]).await, []);
    assert_eq!(told(vec![tenant("acme"), tenant("nobody"), tenant("other")]).await, sorted([acme.id, other.id]));
    turned(subject, &off, None).await;
    assert_eq!(told(vec![tenant("acme")]).await, sorted([acme.id, off.id]));
    let whole = subject.tenancy().webhooks_of(&[tenant("other")]).await.expect(ANSWERS).readable;
    assert_eq!(whole, [other], "with all that is needed to write to them");
}

pub async fn a_change_of_an_endpoint_raises_its_version(subject: &dyn TenancySubject) {
    let (first, bystander) = (made(subject, "acme").await, made(subject, "acme").await);
    subject.advance(SECOND).await;
    let settings = WebhookSettings {
        events: Events::parse(["job.dead"]).expect("events"),
        ..settings("https://example.com/elsewhere")
    };
    let signing = first.signing.rotated(sealed(&first.tenant, first.id), first.created_at, SECOND);
    let edit = WebhookUpdate { signing: signing.clone(), ..change(&first, settings.clone()) };
    let expected = Webhook { settings, signing, version: 2, edited_at: first.created_at.plus(SECOND), ..first.clone() };
    assert_eq!(updated(subject, &edit).await, expected);
    assert_eq!(again(subject, &first).await, expected);
    let third = updated(subject, &change(&expected, first.settings.clone())).await;
    assert_eq!((third.version, third.settings), (3, first.settings), "it is replaced as a whole");
    assert_eq!(again(subject, &bystander).await, bystander);
}

pub async fn a_change_of_an_endpoint_that_was_not_seen_is_stale(subject: &dyn TenancySubject) {
    let first = made(subject, "acme").await;
    let second = updated(subject, &change(&first, settings("https://example.com/2"))).await;
    for version in [0, 1, 3] {
        let edit = WebhookUpdate { version, ..change(&second, settings("https://example.com/3")) };
        assert_eq!(update(subject, &edit).await, UpdateWebhookAnswer::Stale, "version {version}");
    }
    assert_eq!(again(subject, &first).await, second, "nothing was written");
}

pub async fn a_change_of_an_endpoint_sent_again_is_done_once(subject: &dyn TenancySubject) {
    let first = made(subject, "acme").await;
    let edit = change(&first, settings("https://example.com/2"));
    let second = updated(subject, &edit).await;
    subject.advance(SECOND).await;
    assert_eq!(updated(subject, &edit).await, second);
    assert_eq!(second.version, 2);
    let third = updated(subject, &change(&second, settings("https://example.com/3"))).await;
    assert_eq!(update(subject, &edit).await, UpdateWebhookAnswer::Stale, "another change came after it");
    assert_eq!(again(subject, &first).await, third);
}

pub async fn of_many_changes_of_an_endpoint_at_once_one_takes_place(subject: &dyn TenancySubject) {
    let first = made(subject, "acme").await;
    let answers = at_once((0..8).map(|number| {
        let (store, edit) = (subject.tenancy(), change(&first, settings(&format!("https://example.com/{number}"))));
        async move { store.update_webhook(&edit).await.expect(ANSWERS) }
    }))
    .await;
    let there = again(subject, &first).await;
    assert_eq!(there.version, 2);
    let won: Vec<_> = answers.iter().filter(|answer| **answer != UpdateWebhookAnswer::Stale).collect();
    assert_eq!(won, [&UpdateWebhookAnswer::Updated(there)], "{answers:?}");
}

pub async fn a_deleted_endpoint_is_gone(subject: &dyn TenancySubject) {
    let (webhook, bystander) = (made(subject, "acme").await, made(subject, "acme").await);
    assert!(delete(subject, &webhook.tenant, webhook.id).await);
    assert!(!delete(subject, &webhook.tenant, webhook.id).await, "it is there no more");
    assert_eq!(find(subject, &webhook.tenant, webhook.id).await, None);
    assert_eq!(listed(subject, "acme").await, [bystander.id]);
    let edit = change(&webhook, webhook.settings.clone());
    assert_eq!(update(subject, &edit).await, UpdateWebhookAnswer::Gone);
    let told = subject.tenancy().webhooks_of(std::slice::from_ref(&webhook.tenant)).await.expect(ANSWERS).readable;
    assert_eq!(told, [bystander]);
    let note =
        DeliveryNote { tenant: webhook.tenant.clone(), webhook: webhook.id, at: subject.now().await, went: Went::Gone };
    let disabled = subject.tenancy().note_deliveries(&[note]).await.expect(ANSWERS);
    assert_eq!(disabled, [], "what is told of it too late is passed by");
}

pub async fn a_deleted_tenant_takes_its_endpoints_along(subject: &dyn TenancySubject) {
    let tenant = tenants_kept::made(subject, "acme").await;
    let (webhook, bystander) = (made(subject, "acme").await, made(subject, "other").await);
    let disabled = TenantSettings { is_disabled: true, ..TenantSettings::default() };
    let tenant = tenants_kept::changed(subject, &tenant, disabled).await;
    let answer = subject.tenancy().delete_tenant(&tenant.id, tenant.version).await.expect(ANSWERS);
    assert_eq!(answer, DeleteTenantAnswer::Deleted, "an endpoint does not keep it");
    assert_eq!(find(subject, &tenant.id, webhook.id).await, None);
    assert_eq!(listed(subject, "acme").await, []);
    let tenants = [tenant.id, bystander.tenant.clone()];
    assert_eq!(subject.tenancy().webhooks_of(&tenants).await.expect(ANSWERS).readable, [bystander]);
}
