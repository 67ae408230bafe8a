//! Straight to the database, past every server.

use serde_json::{Value, json};

use crate::stage::{Database, Said, Stage, run};

const SECRET: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
const NEW_SECRET: &str = "NTQzMjEwOTg3NjU0MzIxMDk4NzY1NDMyMTA5ODc2NTQ=";
const ADMIN: &str = "an-admin-key-that-nobody-can-guess-0123";

async fn direct(stage: &Stage, words: &[&str]) -> Said {
    let data = stage.data();
    stage.foreman(&[words, &["--direct", "--data-dir", data.to_str().unwrap(), "--output", "json"]].concat()).await
}

fn read(said: &Said) -> Value {
    assert_eq!(said.code, 0, "{said:?}");
    serde_json::from_str(&said.out).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_made_on_a_file_opens_the_server_that_has_it_next() {
    let stage = Stage::new();
    let nowhere = direct(&stage, &["tenants", "list"]).await;
    assert!(nowhere.code == 2 && nowhere.err.contains("foreman migrate"), "{nowhere:?}");
    assert!(!stage.data().exists(), "nothing was begun");
    let data = stage.data();
    assert_eq!(stage.foreman(&["migrate", "--data-dir", data.to_str().unwrap()]).await.code, 0);

    let tenant = read(&direct(&stage, &["tenants", "create", "acme", "--limit", "schedules=2"]).await);
    assert_eq!((&tenant["id"], &tenant["limits_in_force"]["schedules"]), (&json!("acme"), &json!(2)));
    let again = direct(&stage, &["tenants", "create", "acme"]).await;
    assert!(again.code == 1 && again.err.contains("acme"), "{again:?}");
    let missing = direct(&stage, &["keys", "create", "--tenant", "nobody", "--scopes", "admin"]).await;
    assert!(missing.code == 1 && missing.err.contains("nobody"), "{missing:?}");
    let made =
        read(&direct(&stage, &["keys", "create", "--tenant", "acme", "--scopes", "jobs:*", "--name", "ci"]).await);
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());

    let mut server = stage.start(&[]).await;
    let show = async |key: &str| {
        let mut command = server.command(&["jobs", "list"]);
        command.env("FOREMAN_API_KEY", key);
        run(command, None).await
    };
    assert_eq!(show(key).await.code, 0);
    let busy = direct(&stage, &["keys", "revoke", "--tenant", "acme", id]).await;
    assert!(busy.code == 1 && busy.err.contains("in use by another foreman"), "{busy:?}");
    assert_eq!(server.stop().await, Some(0));

    let rotated = read(&direct(&stage, &["keys", "rotate", "--tenant", "acme", id, "--grace", "0s"]).await);
    assert_eq!(rotated["scopes"], made["scopes"]);
    let again = direct(&stage, &["keys", "rotate", "--tenant", "acme", id]).await;
    assert!(again.code == 1, "{again:?}");
    let fresh = rotated["id"].as_str().unwrap();
    assert_eq!(direct(&stage, &["keys", "revoke", "--tenant", "acme", fresh]).await.code, 0);
    let unknown = direct(&stage, &["keys", "revoke", "--tenant", "acme", "000000000000"]).await;
    assert!(unknown.code == 1 && unknown.err.contains("000000000000"), "{unknown:?}");
    let keys = read(&direct(&stage, &["keys", "list", "--tenant", "acme"]).await);
    assert_eq!(keys["items"].as_array().unwrap().len(), 2);
    assert!(!keys.to_string().contains(key), "{keys}");

    let enabled = direct(&stage, &["tenants", "delete", "acme"]).await;
    assert!(enabled.code == 1 && enabled.err.contains("disable it first"), "{enabled:?}");
    let stale = direct(&stage, &["tenants", "update", "acme", "--disable", "--if-version", "7"]).await;
    assert!(stale.code == 1 && stale.err.contains("version 1"), "{stale:?}");
    read(&direct(&stage, &["tenants", "update", "acme", "--disable", "--limit", "schedules=default"]).await);
    let shown = read(&direct(&stage, &["tenants", "show", "acme"]).await);
    assert_eq!((&shown["disabled"], &shown["limits"]), (&json!(true), &json!({})));
    assert_eq!(direct(&stage, &["tenants", "delete", "acme"]).await.code, 0);

    let log = read(&direct(&stage, &["audit", "--tenant", "acme"]).await);
    let acts: Vec<&str> =
        log["items"].as_array().unwrap().iter().map(|item| item["action"].as_str().unwrap()).collect();
    let expected = ["tenant.delete", "tenant.update", "key.revoke", "key.rotate", "key.create", "tenant.create"];
    assert_eq!(acts, expected, "the newest first: {log}");
    assert!(log["items"].as_array().unwrap().iter().all(|item| item["actor"] == "direct"), "{log}");
    assert!(!log.to_string().contains(key), "{log}");
    stage.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_database_it_is_done_beside_servers() {
    let (stage, database) = (Stage::new(), Database::migrated().await);
    let mut api = stage.role(&database, "api", &[]);
    api.env("FOREMAN_ADMIN_KEY", ADMIN);
    let server = stage.start_command(api).await;
    let said = database.foreman(&["tenants", "create", "acme", "--direct"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    let said = database.foreman(&["keys", "create", "--direct", "--tenant", "acme", "--scopes", "jobs:*"]).await;
    let key = said.out.trim().to_owned();
    assert!(said.code == 0 && key.starts_with("fm_"), "{said:?}");
    let id = key.split('_').nth(1).unwrap();
    let list = async || {
        let mut command = server.command(&["jobs", "list"]);
        command.env("FOREMAN_API_KEY", &key);
        run(command, None).await
    };
    assert_eq!(list().await.code, 0);
    let of_server = {
        let mut command = server.command(&["tenants", "delete", "acme"]);
        command.env("FOREMAN_API_KEY", ADMIN);
        run(command, None).await
    };
    let said = database.foreman(&["tenants", "delete", "acme", "--direct"]).await;
    assert_eq!((said.code, &said.err), (1, &of_server.err), "it is refused as a server refuses it");
    let said = database.foreman(&["keys", "revoke", "--direct", "--tenant", "acme", id]).await;
    assert_eq!(said.code, 0, "{said:?}");
    let revoked_at = tokio::time::Instant::now();
    crate::stage::until("the key opens nothing any more", async || (list().await.code == 1).then_some(())).await;
    assert!(revoked_at.elapsed() < std::time::Duration::from_secs(10), "{:?}", revoked_at.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn it_works_when_little_else_does_and_says_what_was_not_written_down() {
    let database = Database::migrated().await;
    let sql = database.connect().await;
    let unreadable = "UPDATE foreman.tenants SET settings = '{\"of a later version\": 1}' WHERE id = 'default'";
    assert_eq!(sql.execute(unreadable, &[]).await.unwrap(), 1);
    let said = database.foreman(&["tenants", "create", "acme", "--direct"]).await;
    assert_eq!(said.code, 0, "the default tenant cannot be read: {said:?}");
    sql.batch_execute("ALTER TABLE foreman.audit_trail RENAME TO elsewhere").await.unwrap();
    let said = database.foreman(&["tenants", "update", "acme", "--disable", "--direct"]).await;
    assert!(said.code == 1 && said.err.contains("audit log"), "{said:?}");
    sql.batch_execute("ALTER TABLE foreman.elsewhere RENAME TO audit_trail").await.unwrap();
    let shown = database.foreman(&["tenants", "show", "acme", "--direct", "--output", "json"]).await;
    assert_eq!(read(&shown)["disabled"], true, "the change was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_is_sealed_anew_and_the_old_key_can_go() {
    let (stage, database) = (Stage::new(), Database::migrated().await);
    let foreman = async |ring: Option<&str>, words: &[&str]| {
        let mut command = stage.command();
        command.env("DATABASE_URL", &database.url).args(words);
        if let Some(ring) = ring {
            command.env("FOREMAN_SECRET_KEY", ring);
        }
        run(command, None).await
    };
    assert_eq!(foreman(None, &["tenants", "create", "acme", "--direct"]).await.code, 0);
    let keyless = foreman(None, &["tenants", "rotate-secret", "acme", "--direct"]).await;
    assert!(keyless.code == 2 && keyless.err.contains("FOREMAN_SECRET_KEY"), "{keyless:?}");
    let made = foreman(Some(SECRET), &["tenants", "rotate-secret", "acme", "--direct"]).await;
    assert!(made.code == 0 && made.out.starts_with("whsec_"), "{made:?}");

    let mut api = stage.role(&database, "api", &[]);
    api.env("FOREMAN_SECRET_KEY", SECRET);
    let mut server = stage.start_command(api).await;
    let hook = server.foreman(&["webhooks", "create", "--url", "http://127.0.0.1:9/", "--events", "job.dead"]).await;
    assert!(hook.code == 0 && hook.out.starts_with("whsec_"), "{hook:?}");
    let words = ["schedules", "create", "s", "--every", "1h", "--url", "http://127.0.0.1:9/", "-H", "X-Token: hush"];
    let schedule = server.foreman(&words).await;
    assert_eq!(schedule.code, 0, "{schedule:?}");
    assert_eq!(server.stop().await, Some(0));

    let said = foreman(Some(SECRET), &["secrets", "reseal"]).await;
    assert!(said.code == 2 && said.err.contains("--direct"), "{said:?}");
    let reseal = ["secrets", "reseal", "--direct", "--output", "json"];
    let lost = foreman(Some(NEW_SECRET), &reseal).await;
    assert_eq!(lost.code, 1, "{lost:?}");
    let told: Value = serde_json::from_str(&lost.out).unwrap();
    assert_eq!(told["failed"].as_array().unwrap().len(), 3, "{told}");
    assert!(!lost.out.contains(SECRET) && !lost.out.contains(NEW_SECRET), "{lost:?}");
    let both = format!("{NEW_SECRET},{SECRET}");
    let done = read(&foreman(Some(&both), &reseal).await);
    assert_eq!(done, json!({"tenants": 1, "webhooks": 1, "schedules": 1, "failed": []}));
    let again = read(&foreman(Some(NEW_SECRET), &reseal).await);
    assert_eq!(again, json!({"tenants": 0, "webhooks": 0, "schedules": 0, "failed": []}), "the new key opens all");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_master_key_is_made_that_a_server_takes() {
    let stage = Stage::new();
    let said = stage.foreman(&["secrets", "generate"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    let mut check = stage.command();
    check.args(["check", "-o", "json"]).env("FOREMAN_SECRET_KEY", said.out.trim());
    let shown = run(check, None).await;
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(!shown.out.contains(said.out.trim()) && shown.out.contains("hidden"), "{shown:?}");
}
