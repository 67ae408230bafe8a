//! Who is beyond this machine must show the key.

use std::time::Duration;

use foreman_client::{Client, JobSpec};

use crate::stage::{Stage, get};

const KEY: &str = "a-key-that-nobody-can-guess-0123456789";

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_others_can_reach_is_refused_without_a_key() {
    let stage = Stage::new();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let said = stage.foreman(&["dev", "--listen", address]).await;
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.contains("--listen") && said.err.contains("FOREMAN_ADMIN_KEY"), "{said:?}");
    }
    let mut command = stage.command();
    let output =
        command.args(["dev", "--listen", "0.0.0.0:0"]).env("FOREMAN_ADMIN_KEY", "sesame").output().await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("24 characters") && !said.contains("sesame"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_key_the_api_is_open_to_who_shows_it_under_any_name() {
    let stage = Stage::new();
    let mut command = stage.command();
    command.args(["dev", "--listen", "0.0.0.0:0", "--store", "memory"]).env("FOREMAN_ADMIN_KEY", KEY);
    let mut server = stage.start_command(command).await;
    let port = server.address().rsplit(':').next().unwrap().to_owned();
    let url = format!("http://localhost:{port}");
    let spec = JobSpec { task: Some("foreman.noop".into()), ..JobSpec::default() };

    let refused = Client::new(&url, None).unwrap().submit(&spec).await.unwrap_err();
    assert_eq!(refused.status(), Some(401), "{refused}");
    let refused = Client::new(&url, Some("another-key-that-is-long-enough")).unwrap().submit(&spec).await.unwrap_err();
    assert_eq!(refused.status(), Some(401), "{refused}");
    Client::new(&url, Some(KEY)).unwrap().submit(&spec).await.unwrap();

    let address = format!("127.0.0.1:{port}");
    for open in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(get(&address, open, Duration::from_secs(10)).await.0, 200, "{open}");
    }
    let mut list = stage.command();
    list.args(["jobs", "list"]).env("FOREMAN_API_URL", &url);
    let output = list.output().await.unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("key"));
    let mut list = stage.command();
    list.args(["jobs", "list"]).env("FOREMAN_API_URL", &url).env("FOREMAN_API_KEY", KEY);
    assert_eq!(list.output().await.unwrap().status.code(), Some(0));

    let mut check = stage.command();
    check.args(["check", "-o", "json"]).env("FOREMAN_ADMIN_KEY", KEY).env("DATABASE_URL", "postgres://u:sesame@h/d");
    let shown = String::from_utf8(check.output().await.unwrap().stdout).unwrap();
    assert!(shown.contains("hidden") && !shown.contains(KEY) && !shown.contains("sesame"), "{shown}");
    assert_eq!(server.stop().await, Some(0));
    assert!(!server.log().contains(KEY) && !server.greeting.contains(KEY), "{}", server.log());
}
