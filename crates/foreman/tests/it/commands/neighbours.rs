//! Processes of one user beside each other: a command may be one of them, and a role that holds keys another.

use std::fs;
use std::path::Path;

use foreman_client::State;
use tokio::process::Command;

use super::{STRANGER, is_root, open_to_all};
use crate::stage::{Database, Server, Stage, command, state, until};

const SECRET: &str = "sesame-that-no-neighbour-may-read";

/// As a user without rights, where that can be had; everything else of the test is that user's too.
fn unprivileged(command: &mut Command) {
    if is_root() {
        command.uid(STRANGER.uid).gid(STRANGER.gid);
    }
}

async fn environment_as_told_to_a_neighbour(pid: u32) -> (bool, String) {
    let mut cat = Command::new("cat");
    cat.arg(format!("/proc/{pid}/environ"));
    unprivileged(&mut cat);
    let output = cat.output().await.unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.success(), said)
}

async fn assert_keeps_to_itself(server: &Server, what: &str) {
    let (was_told, said) = environment_as_told_to_a_neighbour(server.pid()).await;
    assert!(!was_told && said.contains("Permission denied") && !said.contains(SECRET), "{what}: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_role_lets_another_process_of_its_user_read_its_keys() {
    let stage = Stage::new();
    open_to_all(stage.path());
    open_to_all(Path::new(stage.command().as_std().get_program()).parent().unwrap());
    // What is not guarded is read: the test can fail.
    let mut open = Command::new("sleep");
    open.arg("60").env("FOREMAN_ADMIN_KEY", SECRET).kill_on_drop(true);
    unprivileged(&mut open);
    let open = open.spawn().unwrap();
    let (was_told, said) = environment_as_told_to_a_neighbour(open.id().unwrap()).await;
    assert!(was_told && said.contains(SECRET), "{said}");

    let data = stage.path().join("data-of-neighbours");
    fs::create_dir(&data).unwrap();
    if is_root() {
        std::os::unix::fs::chown(&data, Some(STRANGER.uid), Some(STRANGER.gid)).unwrap();
    }
    let mut dev = stage.command();
    dev.args(["dev", "--listen", "127.0.0.1:0", "--data-dir"]).arg(&data).env("FOREMAN_ADMIN_KEY", SECRET);
    unprivileged(&mut dev);
    assert_keeps_to_itself(&stage.start_command(dev).await, "dev").await;
    let database = Database::migrated().await;
    for role in ["api", "worker", "scheduler"] {
        let mut command = stage.role(&database, role, &[]);
        command.env("FOREMAN_ADMIN_KEY", SECRET);
        unprivileged(&mut command);
        assert_keeps_to_itself(&stage.start_command(command).await, role).await;
    }
}

fn field(pid: &str, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_takes_in_what_a_command_leaves_behind_and_no_zombie_stays() {
    let stage = Stage::new();
    let server = stage.start(&["--allow-commands"]).await;
    let (pid, go) = (stage.path().join("pid"), stage.path().join("go"));
    let inner = format!(
        "echo $$ > {0}.new; mv {0}.new {0}; until [ -e {1} ]; do sleep 0.02; done",
        pid.display(),
        go.display()
    );
    let line = format!(
        "setsid sh -c '{inner}' > /dev/null 2>&1 < /dev/null & until [ -e {} ]; do sleep 0.02; done",
        pid.display()
    );
    let id = server.client.submit(&command(&line)).await.unwrap().id;
    state(&server.client, &id, State::Completed).await;
    let orphan = fs::read_to_string(&pid).unwrap().trim().to_owned();
    let parent = server.pid().to_string();
    until("the server is its parent", async || field(&orphan, "PPid:").filter(|of| *of == parent)).await;
    fs::write(&go, "").unwrap();
    until("nothing is left of it, not even a zombie", async || {
        (!Path::new(&format!("/proc/{orphan}")).exists()).then_some(())
    })
    .await;
    // Its own children are still waited for by whoever started them.
    for _ in 0..3 {
        let id = server.client.submit(&command("sh -c 'exit 0' & wait; exit 0")).await.unwrap().id;
        state(&server.client, &id, State::Completed).await;
    }
}
