//! On SQLite, where one process at a time has the file, and someone may go back to the version before.

use std::path::Path;

use tempfile::TempDir;
use tokio::process::Command;

use crate::previous;
use crate::stage::binary::{Said, foreman, foreman_of, run};
use crate::stage::{ports, until, wire};

/// `foreman dev` of either version on the file, from its start to its stop, with one job in between.
async fn works(mut dev: Command, directory: &Path) -> String {
    let address = format!("127.0.0.1:{}", ports::free());
    let log = directory.join(format!("log-{address}"));
    let file = std::fs::File::create(&log).unwrap();
    dev.args(["dev", "--data-dir", "data", "--listen", &address]).stdout(file.try_clone().unwrap()).stderr(file);
    let mut server = dev.spawn().unwrap();
    let said = || std::fs::read_to_string(&log).unwrap();
    until("it serves", async || {
        let ended = server.try_wait().unwrap();
        assert!(ended.is_none(), "it ended with {ended:?}: {}", said());
        wire::get(&address, "/readyz").await.ok().filter(|answer| answer.status == 200)
    })
    .await;
    let mut submit = foreman(directory);
    submit.args(["submit", "--task", "foreman.noop", "--wait", "--api-url", &format!("http://{address}")]);
    let done = run(submit, None).await;
    assert_eq!(done.code, 0, "{done:?}: {}", said());
    let pid = nix::unistd::Pid::from_raw(i32::try_from(server.id().unwrap()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(server.wait().await.unwrap().code(), Some(0), "{}", said());
    said()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_goes_to_the_new_version_and_back() {
    let directory = TempDir::with_prefix("foreman-previous-").unwrap();
    let directory = directory.path();
    let before = works(foreman_of(&previous(), directory), directory).await;
    assert!(!before.contains("newer than this binary"), "{before}");
    works(foreman(directory), directory).await;
    let back = works(foreman_of(&previous(), directory), directory).await;
    assert!(back.contains("newer than this binary"), "this run proves nothing: {back}");
    for mut check in [foreman(directory), foreman_of(&previous(), directory)] {
        check.args(["check", "--deep", "--data-dir", "data"]);
        let Said { code, out, err } = run(check, None).await;
        assert!(code == 0 && out.contains("every job is in exactly one place"), "{out}{err}");
    }
}
