//! Commands of a whole server: what it passes on, what it keeps to itself, and what is left of them when it is killed.

use std::fs;
use std::path::Path;

use foreman_client::State;

use super::{STRANGER, is_root, open_to_all};
use crate::stage::{Server, Stage, command, foreman_of, run, state, until};

/// A zombie nobody has reaped yet is dead.
fn is_dead(pid: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()));
    matches!(state, None | Some('Z' | 'X'))
}

async fn written(path: &Path) -> String {
    until(&format!("there is {}", path.display()), async || {
        fs::read_to_string(path).ok().and_then(|text| Some(text.strip_suffix('\n')?.to_owned()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_a_server_that_is_killed_die_with_it() {
    let stage = Stage::new();
    let mut server = stage.start(&["--allow-commands"]).await;
    let mut pids = Vec::new();
    for n in 0..4 {
        let file = stage.path().join(format!("pid-{n}"));
        let line = format!("trap '' TERM HUP INT; echo $$ > {}; while :; do sleep 0.05; done", file.display());
        server.client.submit(&command(&line)).await.unwrap();
        pids.push(written(&file).await);
    }
    assert!(!pids.iter().any(|pid| is_dead(pid)), "all of them run");
    server.kill_nine().await;
    for pid in &pids {
        until(&format!("{pid} is dead"), async || is_dead(pid).then_some(())).await;
    }
}

const KEY: &str = "sesame-the-key-of-the-admin";

/// An operator's command, done.
async fn asked(server: &Server, words: &[&str]) {
    let mut command = server.command(words);
    command.env("FOREMAN_API_KEY", KEY);
    let said = run(command, None).await;
    assert_eq!(said.code, 0, "{words:?}: {said:?}");
}

/// A server with keys, which runs what is on the lists.
async fn with_keys(stage: &Stage) -> Server {
    let mut dev = stage.command();
    dev.args(["dev", "--listen", "127.0.0.1:0", "--store", "memory", "--allow-commands"]).env("FOREMAN_ADMIN_KEY", KEY);
    stage.start_command(dev).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_became_shorter_counts_for_what_was_accepted_before() {
    let stage = Stage::new();
    let server = with_keys(&stage).await;
    let left = stage.path().join("left");
    let line = format!("touch {}", left.display());
    assert!(server.client.submit(&command(&line)).await.is_err(), "nothing is on its list yet");
    asked(&server, &["tenants", "update", "default", "--commands", "sh"]).await;
    asked(&server, &["queues", "pause", "default"]).await;
    let id = until("it is accepted", async || server.client.submit(&command(&line)).await.ok()).await.id;
    asked(&server, &["tenants", "update", "default", "--commands", "/bin/true"]).await;
    asked(&server, &["queues", "resume", "default"]).await;
    let job = state(&server.client, &id, State::Failed).await;
    let error = job.error.unwrap();
    assert!(error.contains("may not run shell commands"), "{error}");
    assert!(!left.exists(), "it was not started");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_never_sees_the_secrets_of_its_server() {
    let stage = Stage::new();
    let mut dev = stage.command();
    dev.args(["dev", "--listen", "127.0.0.1:0", "--store", "sqlite", "--allow-commands", "--data-dir"])
        .arg(stage.data())
        .env("FOREMAN_ADMIN_KEY", KEY)
        .env("DATABASE_URL", "postgres://u:sesame@127.0.0.1:1/d")
        .env("AWS_SECRET_ACCESS_KEY", "sesame")
        .env("SOME_TOKEN", "sesame");
    if is_root() {
        dev.env("FOREMAN_COMMANDS_USER", format!("{}:{}", STRANGER.uid, STRANGER.gid));
    }
    open_to_all(stage.path());
    let server = stage.start_command(dev).await;
    asked(&server, &["tenants", "update", "default", "--commands", "sh"]).await;
    // As its parent was started, for whoever is its user; and all that one can find about oneself.
    let line = "env; cat /proc/$PPID/environ 2>&1; cat /proc/self/environ /proc/self/cmdline; true";
    let id = server.client.submit(&command(line)).await.unwrap().id;
    let job = state(&server.client, &id, State::Completed).await;
    let said = serde_json::to_string(&job).unwrap();
    assert!(said.contains("FOREMAN_JOB_ID"), "it said something: {said}");
    assert!(said.contains("/environ: Permission denied"), "it looked at its parent: {said}");
    assert!(!said.contains("sesame") && !said.contains("DATABASE_URL") && !said.contains("FOREMAN_ADMIN"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_variable_of_the_servers_own_cannot_be_passed_on() {
    let stage = Stage::new();
    for name in ["DATABASE_URL", "FOREMAN_ADMIN_KEY", "FOREMAN_SECRET_KEY"] {
        let said = stage.foreman(&["check", "--set", &format!("commands.inherit_env=PATH,{name}")]).await;
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.contains(&format!("{name} belongs to Foreman")), "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_settings_of_commands_are_in_force() {
    let stage = Stage::new();
    let scratch = stage.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    open_to_all(stage.path());
    open_to_all(&scratch);
    let mut words = vec!["--allow-commands", "--set", "commands.open_files=77", "--set", "commands.file_size=1MiB"];
    words.extend(["--set", "commands.cpu=90s", "--set", "commands.core_size=unlimited"]);
    let place = format!("commands.scratch={}", scratch.display());
    words.extend(["--set", &place]);
    let user = format!("commands.user={}:{}", STRANGER.uid, STRANGER.gid);
    if is_root() {
        words.extend(["--set", &user]);
    }
    let server = stage.start(&words).await;
    let line = "ulimit -n; ulimit -f; ulimit -t; pwd; id -u; grep NoNewPrivs /proc/self/status";
    let id = server.client.submit(&command(line)).await.unwrap().id;
    let job = serde_json::to_value(state(&server.client, &id, State::Completed).await).unwrap();
    let said = job["attempts"][0]["output"]["stdout"].as_str().unwrap_or_else(|| panic!("{job}")).to_owned();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..3], ["77", "2048", "90"], "{said}");
    assert!(lines[3].starts_with(&format!("{}/foreman-", scratch.canonicalize().unwrap().display())), "{said}");
    let uid = if is_root() { STRANGER.uid } else { nix::unistd::Uid::effective().as_raw() };
    assert_eq!(lines[4..], [uid.to_string().as_str(), "NoNewPrivs:\t1"]);
    until("its directory is gone", async || (fs::read_dir(&scratch).unwrap().count() == 0).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_go_on_when_the_binary_is_replaced_or_gone() {
    let stage = Stage::new();
    let own = stage.path().join("foreman-of-this-test");
    fs::copy(stage.command().as_std().get_program(), &own).unwrap();
    let mut dev = foreman_of(&own, stage.path());
    dev.args(["dev", "--listen", "127.0.0.1:0", "--store", "memory", "--allow-commands"]);
    let server = stage.start_command(dev).await;
    fs::remove_file(&own).unwrap();
    let id = server.client.submit(&command("echo one")).await.unwrap().id;
    state(&server.client, &id, State::Completed).await;
    fs::copy("/bin/false", &own).unwrap();
    let id = server.client.submit(&command("echo two")).await.unwrap().id;
    state(&server.client, &id, State::Completed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_without_the_flag_runs_no_command() {
    let stage = Stage::new();
    let server = stage.start(&[]).await;
    let said = server.foreman(&["submit", "--command", "true"]).await;
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("--allow-commands"), "{said:?}");
}
