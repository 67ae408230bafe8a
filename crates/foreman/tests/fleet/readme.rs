//! The README's way to a fleet, typed as it stands there. Only what depends on this machine is replaced: addresses of
//! services, ports, and the names of topics, which other tests share.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use nix::unistd::Pid;
use tokio::process::Command;
use tokio::time::timeout;

use crate::broker;
use crate::pages::{Group, blocks};
use crate::redis;
use crate::stage::{Database, LONG, beside, binary, call, ports, until, wire};

/// Of the process that answers there, over all labels that the series begins with.
async fn counted(address: &str, series: &str) -> Option<f64> {
    let said = wire::get(address, "/metrics").await.ok()?.body;
    said.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_readmes_fleet_starts_with_exported_variables_alone() {
    let _turn = beside().await;
    let (database, directory) = (Database::fresh().await, tempfile::tempdir().unwrap());
    let [api, worker, relay, scheduler] = std::array::from_fn(|_| format!("127.0.0.1:{}", ports::free()));
    let [start, try_out] = &blocks("README.md", "Three sizes")[..] else { panic!("start, try") };
    // Between the two blocks a person looks; `go` says that there is something to see. The database of the tests does not
    // sync, which the doctor has to say.
    let script = format!("{start}\nuntil [ -e go ]; do sleep 0.05; done\n{try_out}\nkill $(jobs -p)\nwait")
        .replace("postgres://foreman:secret@127.0.0.1:5432/foreman", &database.url)
        .replace("127.0.0.1:9092", &broker::shared())
        .replace("redis://127.0.0.1:6379", &redis::shared())
        .replace("127.0.0.1:8080", &api)
        .replace("127.0.0.1:8082", &relay)
        .replace("127.0.0.1:8083", &scheduler)
        .replace("foreman doctor ", "foreman doctor > doctor || true ");
    let foreman = binary::foreman(directory.path());
    let program = Path::new(foreman.as_std().get_program()).parent().unwrap().to_owned();
    let mut shell = Command::new("bash");
    for (name, _) in foreman.as_std().get_envs() {
        shell.env_remove(name);
    }
    #[expect(clippy::disallowed_methods, reason = "the shell finds its programs where this test does")]
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([program].into_iter().chain(std::env::split_paths(&rest))).unwrap();
    let names = format!("readme.{}", std::process::id());
    shell
        .args(["-euc", &script])
        .current_dir(directory.path())
        .env("PATH", path)
        .env("FOREMAN_API_URL", format!("http://{api}"))
        .env("FOREMAN_LISTEN", &api)
        .env("FOREMAN_HEALTH_LISTEN", &worker)
        .env("FOREMAN_KAFKA_TOPICS", &names)
        .env("FOREMAN_KAFKA_GROUP", &names)
        .env("FOREMAN_REDIS_PREFIX", &names)
        .stdin(Stdio::null())
        .stdout(File::create(directory.path().join("out")).unwrap())
        .stderr(File::create(directory.path().join("err")).unwrap())
        .process_group(0);
    let said = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap_or_default();
    let mut child = shell.spawn().unwrap();
    let _group = Group(Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()));
    for address in [&api, &worker, &relay, &scheduler] {
        until(&format!("{address} is ready"), async || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?} before the roles were there: {}\n{}", said("out"), said("err"));
            wire::get(address, "/readyz").await.ok().filter(|answer| answer.status == 200)
        })
        .await;
        until(&format!("{address} uses Redis"), async || {
            counted(address, "foreman_redis_up").await.filter(|up| *up > 0.5)
        })
        .await;
    }
    let client = foreman_client::Client::new(&format!("http://{api}"), None).unwrap();
    until("a job has travelled through Kafka", async || {
        let job = foreman_client::JobSpec { method: Some("GET".into()), ..call(&format!("http://{api}/healthz")) };
        client.submit(&job).await.ok()?;
        counted(&worker, "foreman_jobs_claimed_total{named_by=\"broker\"}").await.filter(|jobs| *jobs > 0.5)
    })
    .await;
    std::fs::write(directory.path().join("go"), "").unwrap();
    let ended = timeout(LONG, child.wait()).await.expect("it ends").unwrap();
    let (out, err, doctor) = (said("out"), said("err"), said("doctor"));
    assert!(ended.success(), "{ended:?}: {out}\n{err}");
    assert!(err.contains("completed after 1 attempt"), "{err}");
    assert!(out.contains("live"), "the worker is listed: {out}");
    for service in ["kafka topics", "kafka lag", "redis version"] {
        assert!(doctor.contains(service), "the doctor has looked at {service}: {doctor}");
    }
}
