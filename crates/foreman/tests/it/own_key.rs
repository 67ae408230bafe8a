//! `foreman dev --allow-commands` asks for a key that only its user has.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use foreman_client::{Client, State};

use crate::stage::{Server, Stage, command, run, state};

/// `foreman dev` where a person starts it: its data is in `./.foreman`.
async fn dev(stage: &Stage, words: &[&str]) -> Server {
    let mut dev = stage.command();
    dev.args(["dev", "--listen", "127.0.0.1:0"]).args(words);
    stage.start_command(dev).await
}

/// The command line of the same person in the same place, who was told no key.
async fn foreman(stage: &Stage, server: &Server, words: &[&str]) -> crate::stage::Said {
    let mut command = stage.command();
    command.env("FOREMAN_API_URL", &server.url).args(words);
    run(command, None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_runs_commands_asks_for_a_key_that_its_user_has_already() {
    let stage = Stage::new();
    let mut server = dev(&stage, &["--allow-commands"]).await;
    let stranger = Client::new(&server.url, None).unwrap();
    for refused in [stranger.submit(&command("id > x")).await, stranger.submit(&command("true")).await] {
        assert_eq!(refused.unwrap_err().status(), Some(401));
    }
    let said = foreman(&stage, &server, &["submit", "--command", "echo hello", "--wait"]).await;
    assert_eq!((said.code, said.out.as_str()), (0, "hello\n"), "{said:?}");
    let key = stage.path().join(".foreman/admin.key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&key).unwrap();
    assert_eq!(Some(text.trim()), server.own_key.as_deref());
    let link = format!("{}/sign-in#key={}", server.url, text.trim());
    assert!(server.greeting.contains(&link), "{}", server.greeting);
    assert!(!server.log().contains(text.trim()), "it is told, not logged");
    // A second server, which finds the directory in use and would ask for no key, leaves it alone.
    let mut second = stage.command();
    second.args(["dev", "--listen", "127.0.0.1:0"]);
    let said = run(second, None).await;
    assert!(said.code != 0 && key.exists(), "{said:?}");
    assert_eq!(server.stop().await, Some(0));

    // The same key after a restart; and none where there is nothing to guard, and the command line shows none.
    let mut server = dev(&stage, &["--allow-commands"]).await;
    assert_eq!(server.own_key.as_deref(), Some(text.trim()));
    server.stop().await;
    let server = dev(&stage, &[]).await;
    assert!(server.own_key.is_none() && !key.exists());
    let said = foreman(&stage, &server, &["jobs", "list"]).await;
    assert_eq!(said.code, 0, "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_runs_what_it_likes_and_other_tenants_what_is_on_their_lists() {
    let stage = Stage::new();
    let server = stage.start(&["--allow-commands"]).await;
    let id = server.client.submit(&command("echo $((1 + 1))")).await.unwrap().id;
    state(&server.client, &id, State::Completed).await;
    assert_eq!(server.foreman(&["tenants", "create", "acme"]).await.code, 0);
    let said = server.foreman(&["submit", "--tenant", "acme", "--command", "true"]).await;
    assert!(said.code == 2 && said.err.contains("may run nothing"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_turns_commands_on_is_named_at_the_start() {
    let stage = Stage::new();
    fs::write(stage.path().join("foreman.toml"), "[commands]\nallow = true\n").unwrap();
    let server = dev(&stage, &[]).await;
    assert!(server.greeting.contains("commands are allowed by foreman.toml, line 2"), "{}", server.greeting);
    assert!(server.own_key.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_data_of_a_project_stays_out_of_its_repository() {
    let stage = Stage::new();
    let mut server = dev(&stage, &[]).await;
    let ignore = stage.path().join(".foreman/.gitignore");
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "*\n");
    server.stop().await;
    fs::write(&ignore, "of their own\n").unwrap();
    let _server = dev(&stage, &[]).await;
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "of their own\n");
}
