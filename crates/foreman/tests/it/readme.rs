//! The README, and the walkthroughs in `docs` that it links to, as a newcomer types them: their shell blocks are run unchanged.
//!
//! Only what depends on this machine is replaced: ports, the address of the database, and the ids of jobs.

use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;

use foreman_client::State;
use nix::unistd::Pid;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::timeout;

use crate::pages::{Group, blocks};
use crate::stage::{LONG, Server, Stage, call, command, get, run, state, until};

#[path = "../team/stage/ports.rs"]
mod ports;

/// A shell that finds `foreman` on its path.
fn shell(stage: &Stage, script: &str) -> Command {
    let foreman = stage.command();
    let foreman = foreman.as_std();
    let program = PathBuf::from(foreman.get_program());
    let mut command = Command::new("bash");
    command.args(["-euc", script]).current_dir(stage.path()).stdin(Stdio::null()).kill_on_drop(true);
    for (name, _) in foreman.get_envs() {
        command.env_remove(name);
    }
    command.env("PATH", path(&[program.parent().unwrap().to_owned()]));
    command
}

fn path(first: &[PathBuf]) -> std::ffi::OsString {
    let rest = variable("PATH").unwrap_or_default();
    std::env::join_paths(first.iter().cloned().chain(std::env::split_paths(&rest))).unwrap()
}

fn variable(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the runner of the suites tells the tests, not the program")]
    std::env::var(name).ok()
}

/// Types one line at this server, and answers what was printed.
async fn typed(stage: &Stage, server: &Server, line: &str) -> String {
    let line = line.replace("localhost:8080", server.address()).replace("127.0.0.1:8080", server.address());
    let mut shell = shell(stage, &line);
    shell.env("FOREMAN_API_URL", &server.url).env("FOREMAN_DATA_DIR", stage.data());
    let said = run(shell, None).await;
    assert_eq!(said.code, 0, "{line}: {said:?}");
    said.out
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_job_of_the_readme_completes() {
    let stage = Stage::new();
    let [run, submit, read] = &blocks("README.md", "Quick start")[..] else { panic!("start, submit, read") };
    // It builds, and then it is `foreman dev`.
    assert_eq!(run, "make run\n");
    let server = stage.start(&[]).await;
    let job: Value = serde_json::from_str(&typed(&stage, &server, submit).await).unwrap();
    let id = job["id"].as_str().unwrap();
    state(&server.client, id, State::Completed).await;
    let job: Value = serde_json::from_str(&typed(&stage, &server, &read.replace("ID", id)).await).unwrap();
    assert_eq!(job["state"], "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_of_the_readme_does_what_it_says() {
    let stage = Stage::new();
    let server = stage.start(&["--allow-commands"]).await;
    let mut failing = command("exit 1");
    failing.max_attempts = Some(1);
    let dead = server.client.submit(&failing).await.unwrap().id;
    state(&server.client, &dead, State::Dead).await;
    let mut later = call("http://127.0.0.1:9/");
    later.delay = Some("1h".parse().unwrap());
    let waiting = server.client.submit(&later).await.unwrap().id;
    let mut seen = 0;
    for line in blocks("README.md", "The command line").concat().lines() {
        let id = if line.contains(" cancel ") { &waiting } else { &dead };
        let out = typed(&stage, &server, &line.replace(" ID", &format!(" {id}"))).await;
        if line.contains("echo hello") {
            assert_eq!(out, "hello\n");
        }
        if line.contains("--state dead") {
            assert!(out.contains(&dead), "{out}");
        }
        seen += 1;
    }
    assert!(seen >= 9, "the commands were found: {seen}");
    assert_eq!(server.client.get(&waiting).await.unwrap().state, State::Cancelled);
    assert!(server.client.get(&dead).await.unwrap().attempt >= 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_about_webhooks_creates_one_that_receives_events() {
    let stage = Stage::new();
    let server = stage.start(&[]).await;
    let mut id = String::new();
    let mut out = String::new();
    for line in blocks("docs/webhooks.md", "Quick start").concat().lines() {
        if line.contains(" ID") && id.is_empty() {
            let made = typed(&stage, &server, "foreman webhooks list --output json").await;
            let made: Value = serde_json::from_str(&made).unwrap();
            id = made["items"][0]["id"].as_str().unwrap().to_owned();
            let job = server.client.submit(&call(&format!("{}/dev/echo", server.url))).await.unwrap().id;
            state(&server.client, &job, State::Completed).await;
            until("the webhook has received the event", async || {
                let told = typed(&stage, &server, &format!("foreman webhooks deliveries {id}")).await;
                told.contains("job.completed").then_some(())
            })
            .await;
        }
        out = typed(&stage, &server, &line.replace(" ID", &format!(" {id}"))).await;
    }
    assert!(out.contains("webhook.test") && out.contains("job.completed"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_from_laptop_to_team_leads_there() {
    let stage = Stage::new();
    let server: tokio_postgres::Config = variable("FOREMAN_TEST_POSTGRES")
        .expect("FOREMAN_TEST_POSTGRES is not set: run `make test`, or `scripts/with-services cargo test -p foreman --test it`")
        .parse()
        .unwrap();
    let port = server.get_ports()[0].to_string();
    let [api, worker, scheduler] = std::array::from_fn(|_| format!("127.0.0.1:{}", ports::free()));
    let [make, start, try_out, stop] = &blocks("docs/operations.md", "From laptop to team")[..] else {
        panic!("make, start, try, stop")
    };
    // Between two blocks a person looks; `go` says that there is something to see. The server of the tests does not sync, which
    // the doctor has to say.
    let script = format!("{make}\n{start}\nuntil [ -e go ]; do sleep 0.05; done\n{try_out}\n{stop}\nwait")
        .replace("127.0.0.1:5432", &format!("127.0.0.1:{port}"))
        .replace("127.0.0.1:8080", &api)
        .replace("127.0.0.1:8082", &scheduler)
        .replace("foreman doctor\n", "foreman doctor | tee doctor || true\n");
    let mut shell = shell(&stage, &script);
    let psql: Vec<PathBuf> = variable("FOREMAN_TEST_POSTGRES_BIN").into_iter().map(PathBuf::from).collect();
    let foreman = PathBuf::from(stage.command().as_std().get_program());
    shell
        .env("PATH", path(&[psql, vec![foreman.parent().unwrap().to_owned()]].concat()))
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", &port)
        .env("PGUSER", server.get_user().unwrap())
        .env("PGPASSWORD", std::str::from_utf8(server.get_password().unwrap_or_default()).unwrap())
        .env("FOREMAN_API_URL", format!("http://{api}"))
        .env("FOREMAN_LISTEN", &api)
        .env("FOREMAN_HEALTH_LISTEN", &worker)
        .process_group(0)
        .stdout(File::create(stage.path().join("out")).unwrap())
        .stderr(File::create(stage.path().join("err")).unwrap());
    let said = |name: &str| std::fs::read_to_string(stage.path().join(name)).unwrap();
    let mut child = shell.spawn().unwrap();
    let _group = Group(Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()));
    for address in [&api, &worker, &scheduler] {
        until(&format!("{address} is ready"), async || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?} before the roles were there: {}\n{}", said("out"), said("err"));
            TcpStream::connect(address.as_str()).await.ok()?;
            let (status, _) = get(address, "/readyz", LONG).await;
            (status == 200).then_some(())
        })
        .await;
    }
    std::fs::write(stage.path().join("go"), "").unwrap();
    let ended = timeout(LONG, child.wait()).await.expect("it ends").unwrap();
    let (out, err) = (said("out"), said("err"));
    assert!(ended.success(), "{ended:?}: {out}\n{err}");
    assert!(err.contains("completed after 1 attempt"), "{err}");
    assert!(out.contains("live"), "the worker is listed: {out}");
    let doctor = said("doctor");
    let complaints: Vec<&str> = doctor
        .lines()
        .filter(|line| ["warn ", "look "].iter().any(|word| line.contains(word)) && !line.contains("fsync"))
        .collect();
    assert_eq!(complaints, Vec::<&str>::new(), "{doctor}");
}
