//! Tenants and keys in the file: what a migration makes of an older one, what an older binary leaves behind, what cannot be
//! read, what must not be.

use foreman_conformance::given::{PLENTY, Scene, a_job, completed};
use foreman_conformance::posting::courier;
use foreman_core::key::{ApiKey, KeyRecord};
use foreman_core::ports::{
    CreateKeyAnswer, CreateTenantAnswer, DeleteTenantAnswer, KeyStore, NewKey, NewTenant, StoreError, TenantStore,
    TenantUpdate, UpdateTenantAnswer, WebhookStore,
};
use foreman_core::tenant::{Tenant, TenantSettings};
use foreman_core::{EditId, JobId, State, TenantId};
use foreman_sqlite::{census_of_file, check_file};
use rusqlite::Connection;

use crate::given::{Laptop, back_to};

fn new_tenant(id: &str) -> NewTenant {
    NewTenant { edit: EditId::fresh(), id: TenantId::new(id), settings: TenantSettings::default() }
}

pub async fn make_tenant(laptop: &Laptop, id: &str) -> Tenant {
    match laptop.store.create_tenant(&new_tenant(id)).await.unwrap() {
        CreateTenantAnswer::Created(tenant) => tenant,
        CreateTenantAnswer::Taken => panic!("{id} is free"),
    }
}

pub async fn make_key(laptop: &Laptop, tenant: &str) -> KeyRecord {
    let shown = ApiKey::fresh();
    let new = NewKey {
        id: shown.id().clone(),
        tenant: TenantId::new(tenant),
        name: "ci".into(),
        hash: shown.hash(),
        scopes: "jobs:*".parse().unwrap(),
        expires_at: None,
    };
    match laptop.store.create_key(&new).await.unwrap() {
        CreateKeyAnswer::Created(key) => key,
        other => panic!("{other:?}"),
    }
}

fn text(sql: &Connection, question: &str) -> Vec<String> {
    let mut statement = sql.prepare(question).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

#[tokio::test]
async fn a_file_from_before_tenants_has_the_one_it_always_had() {
    let laptop = Laptop::new();
    let (waits, done) = {
        let scene = Scene::of(&laptop);
        let session = scene.session().await;
        let done = scene.submit(a_job()).await;
        scene.run(session, done, completed()).await;
        (scene.submit(a_job()).await, done)
    };
    laptop.store.close().await;
    back_to(&laptop.path(), 2);
    assert!(census_of_file(&laptop.path()).is_err(), "it waits for a migration, and says so");

    let laptop = laptop.reopened().await;
    let scene = Scene::of(&laptop);
    assert_eq!((scene.state(waits).await, scene.state(done).await), (State::Pending, State::Completed));
    let default = laptop.store.tenant(&TenantId::default()).await.unwrap().unwrap();
    assert_eq!((default.version, default.settings), (1, TenantSettings::default()));
    assert_eq!(default.created_at, scene.now().await, "as old as the file, which nobody used before");
    make_tenant(&laptop, "acme").await;
    let key = make_key(&laptop, "acme").await;
    assert_eq!(laptop.store.look_up_key(&key.id).await.unwrap().unwrap().key, key);
    scene.census().await;
    laptop.store.close().await;
}

/// The version before kept a job's wish to have somebody called, and left it to this one.
#[tokio::test]
async fn callbacks_asked_for_before_the_migration_are_found_after_it() {
    let laptop = Laptop::new();
    let asking = |url: Option<&str>| {
        let url = url.map(str::to_owned);
        a_job().work(move |work| work.callback_url = url)
    };
    let (waits, held, done, plain, spelt);
    {
        let scene = Scene::of(&laptop);
        let session = scene.session().await;
        done = scene.submit(asking(Some("https://example.com/done"))).await;
        scene.run(session, done, completed()).await;
        held = scene.submit(asking(Some("https://example.com/held"))).await;
        scene.claim_job(session, held).await;
        waits = scene.submit(asking(Some("https://example.com/waits"))).await;
        plain = scene.submit(asking(None)).await;
        // It only speaks of one.
        spelt = scene.submit(asking(None).tagged("\"callback_url\"")).await;
    }
    laptop.store.close().await;
    let sql = Connection::open(laptop.path()).unwrap();
    sql.execute("DELETE FROM job_tags WHERE tag = 'foreman:callback'", []).unwrap();
    sql.execute("UPDATE jobs SET work = '{\"callback_url\" never closed' WHERE id = ?1", [plain.0]).unwrap();
    drop(sql);
    back_to(&laptop.path(), 2);
    let laptop = laptop.reopened().await;
    let all = [waits, held, done, plain, spelt];
    let asked = laptop.store.with_callback(&all).await.unwrap();
    assert_eq!(asked, [waits, held], "what was over before is told to nobody, and what cannot be read hinders nobody");
    laptop.store.close().await;
}

/// As a binary of the version before writes and prunes: it knows of one tenant, and of no courier.
#[tokio::test]
async fn what_an_older_binary_left_behind_is_gone_on_with() {
    let laptop = Laptop::new();
    make_tenant(&laptop, "acme").await;
    let key = make_key(&laptop, "acme").await;
    let from = courier(&laptop.store).await;
    Scene::of(&laptop).submit(a_job()).await;
    laptop.store.close().await;
    let theirs = JobId::fresh();
    let sql = Connection::open(laptop.path()).unwrap();
    let work: String = sql.query_row("SELECT work FROM jobs", [], |row| row.get(0)).unwrap();
    sql.execute(
        "INSERT INTO jobs (id, tenant, queue, kind, lane, created_at, first_run_at, correlation_id, work)
         VALUES (?1, 'default', 'default', NULL, 1, 1, 1, NULL, ?2)",
        (theirs.0, work),
    )
    .unwrap();
    sql.execute(
        "INSERT INTO ready (job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, spent, crashes, key)
         VALUES (?1, 'default', 'default', 'http', 1, NULL, 1, NULL, 0, 0, 0, 7)",
        [theirs.0],
    )
    .unwrap();
    sql.execute("DELETE FROM changes", []).unwrap();
    drop(sql);

    let laptop = laptop.reopened().await;
    let scene = Scene::of(&laptop);
    assert_eq!(scene.state(theirs).await, State::Pending);
    assert_eq!(courier(&laptop.store).await, from, "it stands before what is lost");
    let session = scene.session().await;
    let held = scene.claim(session, PLENTY).await;
    assert_eq!(held.len(), 2);
    for held in held {
        scene.complete(session, held).await;
    }
    let moved = scene.moved_since(from).await;
    assert!(
        moved.iter().any(|moved| moved.id == theirs && moved.step.state == State::Completed),
        "and reads on: {moved:?}"
    );
    assert!(laptop.store.look_up_key(&key.id).await.unwrap().is_some());
    scene.census().await;
    laptop.store.close().await;
}

#[tokio::test]
async fn tenants_and_keys_are_there_after_a_close_and_an_open() {
    let laptop = Laptop::new();
    let acme = make_tenant(&laptop, "acme").await;
    let key = make_key(&laptop, "acme").await;
    laptop.store.note_keys_used(std::slice::from_ref(&key.id)).await.unwrap();
    let laptop = laptop.reopened().await;
    let door = laptop.store.look_up_key(&key.id).await.unwrap().unwrap();
    assert_eq!(door.tenant, acme);
    assert_eq!(door.key, KeyRecord { last_used_at: Some(door.now), ..key });
    laptop.store.close().await;
}

#[tokio::test]
async fn nothing_of_a_deleted_tenant_is_left_but_its_id() {
    let laptop = Laptop::new();
    let acme = make_tenant(&laptop, "acme").await;
    make_key(&laptop, "acme").await;
    let settings: TenantSettings =
        serde_json::from_str(r#"{"is_disabled":true,"commands":["/opt/secret-name"],"weight":9}"#).unwrap();
    let update = TenantUpdate { edit: EditId::fresh(), tenant: acme.id.clone(), version: acme.version, settings };
    let UpdateTenantAnswer::Updated(acme) = laptop.store.update_tenant(&update).await.unwrap() else {
        panic!("nobody else has changed it")
    };
    assert_eq!(laptop.store.delete_tenant(&acme.id, acme.version).await.unwrap(), DeleteTenantAnswer::Deleted);
    laptop.store.close().await;
    let sql = Connection::open(laptop.path()).unwrap();
    assert_eq!(text(&sql, "SELECT id || ' ' || version || ' ' || settings FROM tenants ORDER BY 1")[0], "acme 2 {}");
    assert_eq!(text(&sql, "SELECT id FROM api_keys"), [""; 0]);
    drop(sql);
    assert!(check_file(&laptop.path()).unwrap().is_clean());
}

#[tokio::test]
async fn a_tenant_or_a_key_of_a_later_version_harms_no_other() {
    let laptop = Laptop::new();
    for id in ["acme", "beta", "gamma"] {
        make_tenant(&laptop, id).await;
    }
    let mut keys = Vec::new();
    for _ in 0..3 {
        keys.push(make_key(&laptop, "gamma").await);
    }
    keys.sort_by(|one, other| one.id.cmp(&other.id));
    let sql = Connection::open(laptop.path()).unwrap();
    sql.execute("UPDATE tenants SET settings = '{\"moon\":1}' WHERE id = 'beta'", []).unwrap();
    sql.execute("UPDATE api_keys SET scopes = '[\"moon:*\"]' WHERE id = ?1", [keys[1].id.as_str()]).unwrap();
    drop(sql);

    let page = laptop.store.tenants(Some(&TenantId::new("acme")), 2).await.unwrap();
    let names: Vec<&str> = page.readable.iter().map(|tenant| tenant.id.as_str()).collect();
    assert_eq!(names, ["default", "gamma"], "the page is full");
    assert_eq!(page.unreadable, [TenantId::new("beta")], "and the other is named");
    let damaged = laptop.store.tenant(&TenantId::new("beta")).await.unwrap_err();
    assert!(
        matches!(&damaged, StoreError::Damaged(why) if why.contains("tenants") && why.contains("row beta")),
        "{damaged}"
    );
    let gamma = TenantId::new("gamma");
    let page = laptop.store.keys(&gamma, None, 2).await.unwrap();
    assert_eq!(page, [keys[0].clone(), keys[2].clone()], "the page is full");
    let damaged = laptop.store.look_up_key(&keys[1].id).await.unwrap_err();
    assert!(
        matches!(&damaged, StoreError::Damaged(why) if why.contains("api_keys") && why.contains("scopes")),
        "{damaged}"
    );
    assert!(laptop.store.look_up_key(&keys[0].id).await.unwrap().is_some());
    laptop.store.close().await;
}

/// Each is done to a file in order, and named for what it is.
#[tokio::test]
async fn the_audit_finds_what_must_not_be_among_tenants() {
    let laptop = Laptop::new();
    make_tenant(&laptop, "acme").await;
    let key = make_key(&laptop, "acme").await;
    courier(&laptop.store).await;
    laptop.store.close().await;
    assert!(check_file(&laptop.path()).unwrap().is_clean());
    for (spoil, mend, sentence) in [
        (
            "UPDATE tenants SET deleted_at = 1 WHERE id = 'default'",
            "UPDATE tenants SET deleted_at = NULL WHERE id = 'default'",
            "there is no tenant default".to_owned(),
        ),
        (
            "UPDATE tenants SET weight = 3 WHERE id = 'acme'",
            "UPDATE tenants SET weight = 1 WHERE id = 'acme'",
            "tenant acme has the weight 3, and its settings say 1".into(),
        ),
        (
            "UPDATE api_keys SET tenant = 'nobody'",
            "UPDATE api_keys SET tenant = 'acme'",
            format!("key {} belongs to tenant nobody, which does not exist", key.id),
        ),
        (
            "UPDATE tenants SET deleted_at = 1 WHERE id = 'acme'",
            "UPDATE tenants SET deleted_at = NULL WHERE id = 'acme'",
            format!("key {} belongs to tenant acme, which does not exist", key.id),
        ),
        (
            "UPDATE api_keys SET replaced_by = 'none'",
            "UPDATE api_keys SET replaced_by = NULL",
            format!("key {} was replaced by key none, which its tenant does not have", key.id),
        ),
        (
            "UPDATE api_keys SET hash = zeroblob(31)",
            "UPDATE api_keys SET hash = zeroblob(32)",
            format!("key {} has a hash that is none", key.id),
        ),
        (
            "UPDATE courier SET position = position + 1",
            "UPDATE courier SET position = position - 1",
            "the follower courier is at 1, and the log ends at 0".into(),
        ),
    ] {
        let sql = Connection::open(laptop.path()).unwrap();
        assert_eq!(sql.execute(spoil, []).unwrap(), 1, "{spoil}");
        let audit = census_of_file(&laptop.path()).unwrap();
        assert_eq!(audit.violations, [sentence], "{spoil}");
        assert!(!audit.is_clean());
        sql.execute(mend, []).unwrap();
    }
    assert!(census_of_file(&laptop.path()).unwrap().is_clean(), "all was mended");
}
