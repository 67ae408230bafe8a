//! Tenants and their keys, from the first command of an operator to what a tenant may not see.

use serde_json::{Value, json};

use crate::stage::{Database, Said, Server, Stage, Target, run};

const ADMIN: &str = "an-admin-key-that-nobody-can-guess-0123";
const SECRET: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

/// Types a command that shows this key.
async fn with_key(server: &Server, key: &str, words: &[&str]) -> Said {
    let mut command = server.command(words);
    command.env("FOREMAN_API_KEY", key);
    run(command, None).await
}

/// The same, done and printed as a document.
async fn document(server: &Server, key: &str, words: &[&str]) -> Value {
    let said = with_key(server, key, &[words, &["--output", "json"]].concat()).await;
    assert_eq!(said.code, 0, "{words:?}: {said:?}");
    serde_json::from_str(&said.out).unwrap()
}

/// A server with keys, as a team has it.
async fn team(stage: &Stage, database: &Database) -> Server {
    let mut api = stage.role(database, "api", &[]);
    api.env("FOREMAN_ADMIN_KEY", ADMIN).env("FOREMAN_SECRET_KEY", SECRET);
    stage.start_command(api).await
}

/// A laptop with keys: the same API on a file.
async fn laptop(stage: &Stage) -> Server {
    let mut dev = stage.command();
    dev.args(["dev", "--listen", "127.0.0.1:0", "--data-dir"]).arg(stage.data()).env("FOREMAN_ADMIN_KEY", ADMIN);
    stage.start_command(dev).await
}

async fn key(server: &Server, tenant: &str, scopes: &str) -> String {
    let words = ["keys", "create", "--tenant", tenant, "--scopes", scopes];
    document(server, ADMIN, &words).await["key"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_begins_with_one_key_and_every_tenant_sees_its_own() {
    let (stage, database, target) = (Stage::new(), Database::migrated().await, Target::willing().await);
    let server = team(&stage, &database).await;
    let mut worker = stage.role(&database, "worker", &[]);
    worker.env("FOREMAN_SECRET_KEY", SECRET);
    let _worker = stage.start_command(worker).await;

    let made = document(&server, ADMIN, &["tenants", "create", "acme", "--limit", "schedules=3"]).await;
    assert_eq!((&made["id"], &made["limits"]["schedules"]), (&json!("acme"), &json!(3)));
    document(&server, ADMIN, &["tenants", "create", "other"]).await;
    let made =
        document(&server, ADMIN, &["keys", "create", "--tenant", "acme", "--scopes", "jobs:read,jobs:write"]).await;
    let acme = made["key"].as_str().unwrap().to_owned();
    assert!(acme.starts_with(&format!("fm_{}_", made["id"].as_str().unwrap())), "{made}");
    let other = key(&server, "other", "jobs:read,jobs:write").await;

    let words = ["submit", "--url", &target.url, "-H", "Authorization: Bearer hush", "--wait", "--output", "json"];
    let said = with_key(&server, &acme, &words).await;
    assert_eq!(said.code, 0, "{said:?}");
    let job: Value = serde_json::from_str(&said.out).unwrap();
    let id = job["id"].as_str().unwrap();
    assert_eq!(document(&server, &acme, &["jobs", "show", id]).await["state"], "completed");

    let unseen = with_key(&server, &other, &["jobs", "show", id]).await;
    assert_eq!(unseen.code, 1, "{unseen:?}");
    assert!(unseen.err.contains("no job"), "{unseen:?}");
    assert_eq!(document(&server, &other, &["jobs", "list"]).await["items"], json!([]));
    let lists = |said: Value| said["items"].as_array().unwrap().len();
    assert_eq!(lists(document(&server, ADMIN, &["jobs", "list", "--tenant", "acme"]).await), 1);
    assert_eq!(lists(document(&server, ADMIN, &["jobs", "list"]).await), 0, "the operator's own tenant");
    let refused = with_key(&server, &other, &["jobs", "list", "--tenant", "acme"]).await;
    assert_eq!(refused.code, 1, "{refused:?}");
    let nobody = with_key(&server, ADMIN, &["jobs", "list", "--tenant", "nobody"]).await;
    assert_eq!(nobody.code, 1, "{nobody:?}");
    assert!(nobody.err.contains("nobody"), "{nobody:?}");
    assert!(!server.log().contains("hush") && !server.log().contains(&acme), "{}", server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_is_made_shown_changed_and_removed() {
    let stage = Stage::new();
    let server = laptop(&stage).await;
    let said = with_key(&server, ADMIN, &["tenants", "create", "acme", "--weight", "3"]).await;
    assert_eq!((said.code, said.out.as_str()), (0, "acme\n"), "{said:?}");
    assert!(said.err.contains("foreman keys create --tenant acme"), "{said:?}");
    let again = with_key(&server, ADMIN, &["tenants", "create", "acme"]).await;
    assert_eq!(again.code, 1, "{again:?}");
    let wrong = with_key(&server, ADMIN, &["tenants", "create", "Acme!"]).await;
    assert_eq!(wrong.code, 2, "{wrong:?}");
    let wrong = with_key(&server, ADMIN, &["tenants", "create", "b", "--limit", "job=1"]).await;
    assert!(wrong.code == 2 && wrong.err.contains("queued_jobs"), "{wrong:?}");

    let update = ["tenants", "update", "acme", "--limit", "queued_jobs=9", "--limit", "schedules=unlimited"];
    let changed = document(&server, ADMIN, &update).await;
    assert_eq!((&changed["weight"], &changed["version"]), (&json!(3), &json!(2)));
    assert_eq!(changed["limits"], json!({"queued_jobs": 9, "schedules": "unlimited"}));
    let changed = document(
        &server,
        ADMIN,
        &["tenants", "update", "acme", "--limit", "schedules=default", "--commands", "/bin/true,sh"],
    )
    .await;
    assert_eq!(changed["limits"], json!({"queued_jobs": 9}));
    assert_eq!(changed["commands"], json!(["/bin/true", "sh"]));
    let stale = with_key(&server, ADMIN, &["tenants", "update", "acme", "--weight", "1", "--if-version", "1"]).await;
    assert_eq!(stale.code, 1, "{stale:?}");
    let nothing = with_key(&server, ADMIN, &["tenants", "update", "acme"]).await;
    assert_eq!(nothing.code, 2, "{nothing:?}");

    let page = with_key(&server, ADMIN, &["tenants", "show", "acme"]).await;
    assert!(page.out.contains("queued_jobs") && page.out.contains("9 (set for this tenant)"), "{page:?}");
    let list = with_key(&server, ADMIN, &["tenants", "list"]).await;
    assert!(list.out.contains("acme") && list.out.contains("default"), "{list:?}");
    let missing = with_key(&server, ADMIN, &["tenants", "show", "nobody"]).await;
    assert!(missing.code == 1 && missing.err.contains("nobody"), "{missing:?}");

    let enabled = with_key(&server, ADMIN, &["tenants", "delete", "acme"]).await;
    assert_eq!(enabled.code, 1, "{enabled:?}");
    document(&server, ADMIN, &["tenants", "update", "acme", "--disable"]).await;
    let gone = with_key(&server, ADMIN, &["tenants", "delete", "acme"]).await;
    assert_eq!(gone.code, 0, "{gone:?}");
    assert_eq!(with_key(&server, ADMIN, &["tenants", "show", "acme"]).await.code, 1);
    let permanent = with_key(&server, ADMIN, &["tenants", "delete", "default"]).await;
    assert_eq!(permanent.code, 1, "{permanent:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_opens_what_it_is_good_for_as_long_as_it_lives() {
    let stage = Stage::new();
    let server = laptop(&stage).await;
    let made = document(&server, ADMIN, &["keys", "create", "--scopes", "jobs:read", "--name", "reader"]).await;
    let reader = made["key"].as_str().unwrap();
    assert_eq!((&made["tenant"], &made["scopes"]), (&json!("default"), &json!(["jobs:read"])));
    document(&server, reader, &["jobs", "list"]).await;
    let refused = with_key(&server, reader, &["submit", "--task", "foreman.noop"]).await;
    assert!(refused.code != 0 && refused.err.contains("jobs:write"), "{refused:?}");
    let refused = with_key(&server, reader, &["keys", "create", "--scopes", "admin"]).await;
    assert!(refused.code == 1 && refused.err.contains("admin"), "{refused:?}");
    let wrong = with_key(&server, ADMIN, &["keys", "create", "--scopes", "jobs:all"]).await;
    assert!(wrong.code == 2 && wrong.err.contains("jobs:read"), "{wrong:?}");
    let missing = with_key(&server, ADMIN, &["keys", "create", "--tenant", "nobody", "--scopes", "jobs:read"]).await;
    assert!(missing.code == 1 && missing.err.contains("nobody"), "{missing:?}");

    let short = document(&server, ADMIN, &["keys", "create", "--scopes", "jobs:read", "--expires-in", "1s"]).await;
    let short = short["key"].as_str().unwrap().to_owned();
    crate::stage::until("the key has expired", async || {
        let said = with_key(&server, &short, &["jobs", "list"]).await;
        (said.code == 1 && said.err.contains("expired")).then_some(())
    })
    .await;

    let id = made["id"].as_str().unwrap();
    let rotated = document(&server, ADMIN, &["keys", "rotate", id, "--grace", "1h"]).await;
    assert_eq!(rotated["replaces"]["id"], made["id"]);
    let fresh = rotated["key"].as_str().unwrap();
    document(&server, fresh, &["jobs", "list"]).await;
    document(&server, reader, &["jobs", "list"]).await;
    let again = with_key(&server, ADMIN, &["keys", "rotate", id]).await;
    assert_eq!(again.code, 1, "it was replaced already: {again:?}");

    let said = with_key(&server, ADMIN, &["keys", "revoke", id]).await;
    assert_eq!(said.code, 0, "{said:?}");
    crate::stage::until("the key is revoked", async || {
        (with_key(&server, reader, &["jobs", "list"]).await.code == 1).then_some(())
    })
    .await;
    document(&server, fresh, &["jobs", "list"]).await;
    let list = with_key(&server, ADMIN, &["keys", "list"]).await;
    assert!(["reader", "live", "expired", "revoked"].iter().all(|word| list.out.contains(word)), "{list:?}");
    assert!(!list.out.contains("fm_"), "{list:?}");

    let file = stage.path().join("key");
    std::fs::write(&file, format!("{fresh}\n")).unwrap();
    let said = server.foreman(&["jobs", "list", "--api-key-file", file.to_str().unwrap()]).await;
    assert_eq!(said.code, 0, "{said:?}");
    let said = server.foreman(&["jobs", "list", "--key-file", "nowhere"]).await;
    assert!(said.code == 2 && said.err.contains("nowhere"), "{said:?}");
    for secret in [reader, fresh, &short, ADMIN] {
        assert!(!server.log().contains(secret), "{}", server.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_is_written_down_without_the_secret() {
    let stage = Stage::new();
    let server = laptop(&stage).await;
    document(&server, ADMIN, &["tenants", "create", "acme"]).await;
    let made = document(&server, ADMIN, &["keys", "create", "--tenant", "acme", "--scopes", "admin"]).await;
    let (id, secret) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    let said = with_key(&server, secret, &["queues", "pause", "mail"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    let log = document(&server, ADMIN, &["audit"]).await;
    let items = log["items"].as_array().unwrap();
    let found =
        |action: &str| items.iter().find(|item| item["action"] == action).unwrap_or_else(|| panic!("{action}: {log}"));
    assert_eq!(found("tenant.create")["actor"], "bootstrap");
    assert_eq!(found("key.create")["object"], json!(format!("key/{id} (admin)")));
    assert_eq!(found("queue.pause")["actor"], json!(id));
    let text = log.to_string();
    assert!(!text.contains(secret) && !text.contains(ADMIN), "{text}");
    let of_acme = document(&server, ADMIN, &["audit", "--tenant", "acme"]).await;
    let others = of_acme["items"].as_array().unwrap().iter().filter(|item| item["tenant"] != "acme").count();
    assert_eq!(others, 0, "{of_acme}");
    let table = with_key(&server, ADMIN, &["audit", "--limit", "1"]).await;
    assert!(table.out.contains("queue.pause") && table.err.contains("--all"), "{table:?}");
    let reader = key(&server, "acme", "jobs:read").await;
    assert_eq!(with_key(&server, &reader, &["audit"]).await.code, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_pushes_are_signed_with_a_secret_that_is_shown_once() {
    let stage = Stage::new();
    let server = laptop(&stage).await;
    document(&server, ADMIN, &["tenants", "create", "acme"]).await;
    let first = with_key(&server, ADMIN, &["tenants", "rotate-secret", "acme"]).await;
    assert!(first.code == 0 && first.out.starts_with("whsec_"), "{first:?}");
    assert_eq!(document(&server, ADMIN, &["tenants", "show", "acme"]).await["signs"], true);
    let second = document(&server, ADMIN, &["tenants", "rotate-secret", "acme", "--overlap", "1h"]).await;
    assert_ne!(second["secret"].as_str().unwrap(), first.out.trim());
    let gone = with_key(&server, ADMIN, &["tenants", "delete-secret", "acme"]).await;
    assert_eq!(gone.code, 0, "{gone:?}");
    assert_eq!(document(&server, ADMIN, &["tenants", "show", "acme"]).await["signs"], false);
}
