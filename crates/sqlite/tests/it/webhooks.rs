//! Webhooks, deliveries and the audit log in the file: what survives, what cannot be read, what a full disk does to a round.

use foreman_conformance::given::{MINUTE, PLENTY, Scene, a_job, jobs, sorted};
use foreman_conformance::posting::{Round, callback, courier, delivery, job_ids, listed, posted};
use foreman_conformance::{Subject, TenancySubject};
use foreman_core::audit::{Act, Actor};
use foreman_core::job::NewJob;
use foreman_core::ports::{
    Advanced, AuditLog, ChangeLog, CreateWebhookAnswer, DeliveryNote, Followers, JobStore, NewDelivery, NewWebhook,
    Retention, StoreError, WebhookStore, Went,
};
use foreman_core::signing::SigningKeys;
use foreman_core::target::{Body, HttpTarget, Target};
use foreman_core::webhook::{Events, PATIENCE, Webhook, WebhookSettings};
use foreman_core::{EntryId, TenantId, WebhookId};
use foreman_sqlite::census_of_file;
use rusqlite::Connection;

use crate::given::Laptop;

pub async fn make_webhook(laptop: &Laptop, of: &str) -> Webhook {
    let settings = WebhookSettings {
        url: "https://example.com/hook".parse().unwrap(),
        events: Events::ALL,
        description: String::new(),
        disabled: None,
    };
    let (id, tenant) = (WebhookId::fresh(), TenantId::new(of));
    let new = NewWebhook { id, tenant, settings, signing: SigningKeys::default(), at_most: 50 };
    match laptop.store.create_webhook(&new).await.unwrap() {
        CreateWebhookAnswer::Created(webhook) => webhook,
        CreateWebhookAnswer::TooMany => panic!("there is room"),
    }
}

pub fn an_act(tenant: &str, action: &str) -> Act {
    Act {
        tenant: TenantId::new(tenant),
        actor: Actor::Bootstrap,
        action: action.into(),
        object: "queue/default".into(),
        status: 200,
        request: None,
        peer: Some("127.0.0.1".into()),
    }
}

#[tokio::test]
async fn endpoints_deliveries_and_the_couriers_place_survive_a_close_and_an_open() {
    let laptop = Laptop::new();
    let webhook = make_webhook(&laptop, "acme").await;
    Scene::of(&laptop).submit(a_job()).await;
    courier(&laptop.store).await;
    Scene::of(&laptop).submit(a_job()).await;
    let round = posted(&laptop, vec![delivery("acme", webhook.id), callback("acme")]).await;
    let failed = DeliveryNote {
        tenant: webhook.tenant.clone(),
        webhook: webhook.id,
        at: laptop.now().await,
        went: Went::Failed,
    };
    assert_eq!(laptop.store.note_deliveries(std::slice::from_ref(&failed)).await.unwrap(), []);
    laptop.store.record(EntryId::fresh(), &an_act("acme", "queue.pause")).await.unwrap();
    let before = (listed(&laptop, "acme", webhook.id).await, laptop.store.audit_log(None, None, PLENTY).await.unwrap());

    let laptop = laptop.reopened().await;
    assert_eq!(courier(&laptop.store).await, round.to);
    let after = (listed(&laptop, "acme", webhook.id).await, laptop.store.audit_log(None, None, PLENTY).await.unwrap());
    assert_eq!(after, before);
    assert_eq!((after.0.len(), after.1.len()), (1, 1));
    // The health goes on where it was.
    let later = DeliveryNote { at: failed.at.plus(PATIENCE), ..failed };
    let disabled = laptop.store.note_deliveries(&[later]).await.unwrap();
    assert_eq!(disabled.iter().map(|webhook| webhook.id).collect::<Vec<_>>(), [webhook.id]);
    Scene::of(&laptop).census().await;
    laptop.store.close().await;
}

/// The courier works for all tenants: what one of them has must not stop it.
#[tokio::test]
async fn an_endpoint_of_a_later_version_harms_no_other() {
    let laptop = Laptop::new();
    let mut webhooks = Vec::new();
    for of in ["acme", "acme", "acme", "other"] {
        webhooks.push(make_webhook(&laptop, of).await);
    }
    courier(&laptop.store).await;
    posted(&laptop, webhooks.iter().map(|webhook| delivery(webhook.tenant.as_str(), webhook.id)).collect()).await;
    let sql = Connection::open(laptop.path()).unwrap();
    for (column, number) in [("settings", 0), ("signing", 1)] {
        let spoil = format!("UPDATE webhooks SET {column} = '{{\"moon\":1}}' WHERE id = ?1");
        assert_eq!(sql.execute(&spoil, [webhooks[number].id.0]).unwrap(), 1);
    }
    sql.execute("UPDATE deliveries SET event = 'moon.full' WHERE webhook = ?1", [webhooks[2].id.0]).unwrap();
    drop(sql);

    let tenants = [TenantId::new("acme"), TenantId::new("other")];
    let found = laptop.store.webhooks_of(&tenants).await.unwrap();
    assert_eq!(found.readable, webhooks[2..], "those that can be told are told");
    let newer: Vec<_> = webhooks[..2].iter().map(|webhook| (webhook.tenant.clone(), webhook.id)).collect();
    assert_eq!(found.unreadable, newer, "and the others are named");
    assert_eq!(laptop.store.webhooks(&tenants[0], None, 1).await.unwrap(), webhooks[2..3], "the page is full");
    for (number, column) in [(0, "settings"), (1, "signing")] {
        let damaged = laptop.store.webhook(&tenants[0], webhooks[number].id).await.unwrap_err();
        assert!(
            matches!(&damaged, StoreError::Damaged(why) if why.contains("webhooks") && why.contains(column)),
            "{damaged}"
        );
    }
    let gone = |webhook: &Webhook| DeliveryNote {
        tenant: webhook.tenant.clone(),
        webhook: webhook.id,
        at: webhook.created_at.plus(MINUTE),
        went: Went::Gone,
    };
    let notes: Vec<DeliveryNote> = webhooks.iter().map(gone).collect();
    let disabled = laptop.store.note_deliveries(&notes).await.unwrap();
    assert_eq!(disabled.iter().map(|webhook| webhook.id).collect::<Vec<_>>(), [webhooks[2].id, webhooks[3].id]);
    assert_eq!(listed(&laptop, "acme", webhooks[2].id).await, [], "what is listed is what can be read");
    assert_eq!(listed(&laptop, "other", webhooks[3].id).await.len(), 1);
    assert!(laptop.store.delete_webhook(&tenants[0], webhooks[0].id).await.unwrap(), "one can be rid of it");
    laptop.store.close().await;
}

#[tokio::test]
async fn an_act_of_a_later_version_hides_no_other() {
    let laptop = Laptop::new();
    let ids: Vec<EntryId> = (0..3).map(|_| EntryId::fresh()).collect();
    for (id, action) in ids.iter().zip(["a.one", "a.two", "a.three"]) {
        laptop.store.record(*id, &an_act("acme", action)).await.unwrap();
    }
    let sql = Connection::open(laptop.path()).unwrap();
    let spoil = "UPDATE audit_trail SET act = json_set(act, '$.actor', 'moon') WHERE id = ?1";
    assert_eq!(sql.execute(spoil, [ids[1].0]).unwrap(), 1);
    drop(sql);
    for tenant in [None, Some(&TenantId::new("acme"))] {
        let page = laptop.store.audit_log(tenant, None, 2).await.unwrap();
        let actions: Vec<&str> = page.iter().map(|entry| entry.act.action.as_str()).collect();
        assert_eq!(actions, ["a.three", "a.one"], "the page is full");
    }
    laptop.store.close().await;
}

/// Nothing of a round is written when not all of it can be: neither its jobs nor the courier's place.
#[tokio::test]
async fn a_round_that_finds_no_room_is_posted_whole_when_there_is_some() {
    let laptop = Laptop::with(|config| config.max_pages = Some(300));
    let scene = Scene::of(&laptop);
    let webhook = make_webhook(&laptop, "acme").await;
    let from = courier(&laptop.store).await;
    let target = Target::Http(HttpTarget {
        url: "http://127.0.0.1:9/".parse().unwrap(),
        method: "POST".into(),
        headers: std::collections::BTreeMap::default().into(),
        body: Body::Text("x".repeat(100_000)),
    });
    let big = a_job().target(target);
    let mut filler = Vec::new();
    loop {
        let job: NewJob = big.build();
        match laptop.store.submit(std::slice::from_ref(&job)).await {
            Ok(_) => filler.push(job.id),
            Err(error) => break assert!(matches!(error, StoreError::Full(_)), "{error:?}"),
        }
        assert!(filler.len() < 1_000, "the limit holds");
    }
    let to = laptop.store.head().await.unwrap();
    let many: Vec<NewDelivery> = (0..200).map(|_| delivery("acme", webhook.id)).collect();
    let round = Round { from, to, deliveries: many };
    let full = laptop.store.advance(None, &round.advance()).await;
    assert!(matches!(full, Err(StoreError::Full(_))), "{full:?}");
    assert_eq!(courier(&laptop.store).await, from);
    assert_eq!(listed(&laptop, "acme", webhook.id).await, []);
    assert_eq!(scene.census().await.jobs as usize, filler.len());
    // The same round, as it is sent again.
    let tenant = TenantId::default();
    laptop.store.cancel(&tenant, &filler[..4]).await.unwrap();
    laptop.store.remove(&tenant, &filler[..4]).await.unwrap();
    assert_eq!(laptop.store.advance(None, &round.advance()).await.unwrap(), Some(Advanced::Done));
    assert_eq!(laptop.store.advance(None, &round.advance()).await.unwrap(), Some(Advanced::Overtaken));
    let made = sorted(listed(&laptop, "acme", webhook.id).await.iter().map(|delivery| delivery.job));
    assert_eq!(made, job_ids(&round.deliveries));
    scene.census().await;
    laptop.store.close().await;
}

#[tokio::test]
async fn the_audit_finds_a_delivery_whose_webhook_is_gone() {
    let laptop = Laptop::new();
    let webhook = make_webhook(&laptop, "acme").await;
    let one = delivery("acme", webhook.id);
    laptop.tenancy().post_one(&one).await.unwrap();
    laptop.store.close().await;
    assert!(census_of_file(&laptop.path()).unwrap().is_clean());
    Connection::open(laptop.path()).unwrap().execute("UPDATE webhooks SET tenant = 'other'", []).unwrap();
    let sentence = format!("delivery {} is listed for webhook {}, which does not exist", one.job.id, webhook.id);
    assert_eq!(census_of_file(&laptop.path()).unwrap().violations, [sentence]);
}

/// A courier that is a long way behind: the pruner looks at what is old and read, not at all that waits to be read.
#[tokio::test]
async fn rows_that_the_courier_has_not_read_do_not_hide_those_it_has() {
    let laptop = Laptop::new();
    let scene = Scene::of(&laptop);
    courier(&laptop.store).await;
    for _ in 0..3 {
        scene.submit_all(&jobs(1, &a_job())).await;
    }
    posted(&laptop, Vec::new()).await;
    let read = laptop.store.head().await.unwrap();
    for _ in 0..3 {
        scene.submit_all(&jobs(1, &a_job())).await;
    }
    scene.advance(MINUTE).await;
    let retention = Retention { changes: MINUTE, ..Retention::default() };
    assert_eq!(scene.prune(&retention, 2).await.changes, 2, "of one moment, by their positions");
    assert_eq!(scene.prune(&retention, 2).await.changes, 1);
    assert_eq!(scene.prune(&retention, 2).await.changes, 0);
    assert_eq!(scene.moved_since(read).await.len(), 3, "unread, and all there");
    laptop.store.close().await;
}
