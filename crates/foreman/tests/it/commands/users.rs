//! Commands as a user that may do less.

use std::os::unix::fs::PermissionsExt as _;

use foreman_core::outcome::AttemptEnd;
use serde_json::json;

use super::{Commands, STRANGER, error_of, is_root, output_of};
use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_run_by_the_user_that_is_set() {
    let commands = Commands::as_user(STRANGER);
    let line = "id -u; id -g; id -G; stat -c %u:%g:%a .; touch mine && stat -c %u:%g mine; cat /proc/self/status";
    let ending = commands.run(&json!({"command": line})).await;
    if !is_root() {
        assert_eq!(ending.ended, AttemptEnd::Again { after: None });
        // To give the directory away is the first thing that only root can do.
        assert!(error_of(&ending).contains("Operation not permitted"), "{ending:?}");
        return;
    }
    let said = &output_of(&ending).stdout;
    assert!(said.starts_with("54241\n54242\n54242\n54241:54242:700\n54241:54242\n"), "{ending:?}");
    for line in [
        "Uid:\t54241\t54241\t54241\t54241",
        "Gid:\t54242\t54242\t54242\t54242",
        "CapEff:\t0000000000000000",
        "CapPrm:\t0000000000000000",
        "NoNewPrivs:\t1",
    ] {
        assert!(said.contains(line), "{line} is not in {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_another_user_reads_nothing_of_ours() {
    if !is_root() {
        let why = Stage::new().foreman(&["check", "--allow-commands", "--set", "commands.user=nobody"]).await;
        assert!(why.err.contains("this process is not root"), "{why:?}");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("secret");
    std::fs::write(&secret, "sesame").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    super::open_to_all(directory.path());
    let ending = Commands::as_user(STRANGER).run(&json!({"command": ["cat", secret]})).await;
    assert!(output_of(&ending).stderr.contains("Permission denied"), "{ending:?}");
    let ending = Commands::new().run(&json!({"command": ["cat", secret]})).await;
    assert_eq!(output_of(&ending).stdout, "sesame", "as our own user it would have");
    // A place that is not for this user is not entered as root first.
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let ending = Commands::as_user(STRANGER).run(&json!({"command": ["pwd"], "cwd": directory.path()})).await;
    assert_eq!(ending.ended, AttemptEnd::Failed);
    assert!(error_of(&ending).contains("Permission denied"), "{ending:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_that_cannot_be_is_told_at_the_start() {
    let stage = Stage::new();
    let cases: &[(&str, &str)] = if is_root() {
        &[
            ("no-such-user", "there is no user no-such-user on this machine"),
            ("root", "an unprivileged user"),
            ("0:0", "an unprivileged user"),
            ("12", "there is no user 12"),
        ]
    } else {
        &[("nobody", "this process is not root"), ("65534:65534", "this process is not root")]
    };
    for (user, why) in cases {
        let set = format!("commands.user={user}");
        for first in [&["check"][..], &["dev", "--listen", "127.0.0.1:0", "--store", "memory"]] {
            let mut words = first.to_vec();
            words.extend(["--allow-commands", "--set", &set]);
            let said = stage.foreman(&words).await;
            assert_eq!(said.code, 2, "{said:?}");
            assert!(said.err.contains("commands.user") && said.err.contains(why), "{said:?}");
        }
        let said = stage.foreman(&["check", "--set", &set]).await;
        assert_eq!(said.code, 0, "who runs no commands need not care: {said:?}");
    }
}
