//! Marker secrets go in by every way there is; then everything that came out is searched for them: logs, answers, problems, metrics,
//! what commands print, the words of processes, what targets and receivers were sent, the database.
//!
//! A marker that must be somewhere (a header at its target, a payload in the database, a request's name in the log) shows that
//! the way was walked and the place searched.

mod marker;
mod receiver;
mod walk;
mod wire;

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rusqlite::types::ValueRef;
use tokio::process::Command;

use self::marker::{Canary, Kind};
use self::walk::Walk;
use crate::stage::{Database, Server, Stage, run, until};

/// What an operator has in the environment of every process.
struct Operator {
    admin: String,
    ring: String,
}

impl Operator {
    fn new(canary: &mut Canary) -> Self {
        let admin = canary.secret("the operator's key", &[]);
        let keys = [rand::random::<[u8; 32]>(), rand::random()].map(|key| BASE64_STANDARD.encode(key));
        for (path, key) in ["the master key", "the old master key"].iter().zip(&keys) {
            canary.watch(path, key, &[], &[]);
        }
        Self { admin, ring: keys.join(",") }
    }

    fn equip(&self, command: &mut Command) {
        command.env("FOREMAN_ADMIN_KEY", &self.admin).env("FOREMAN_SECRET_KEY", &self.ring);
    }
}

/// Settings that everybody can get wrong, and what is said of them.
async fn mistakes(canary: &mut Canary, stage: &Stage) {
    let secret = canary.secret("a key in a file of settings that is wrong", &[]);
    let file = stage.path().join("wrong.toml");
    fs::write(
        &file,
        format!("admin_key = [\"{secret}\"]\nsecret_key = \"{secret}\"\n[database]\nurl = \"mysql://u:{secret}@h\"\n"),
    )
    .unwrap();
    let password = canary.secret("a password of a database that is not there", &[]);
    let url = format!("postgres://ann:{password}@127.0.0.1:9/jobs?sslpassword={password}");
    let wrong = canary.secret("a setting on the command line that is wrong", &[]);
    let (admin, ring) = (format!("admin_key={wrong} {wrong}"), format!("secret_key={wrong}"));
    for (words, variables) in [
        (vec!["check", "--config", file.to_str().unwrap()], vec![]),
        (vec!["check", "--set", &admin, "--set", &ring], vec![]),
        (vec!["check", "-o", "json"], vec![("DATABASE_URL", url.as_str())]),
        (vec!["check", "--deep"], vec![("DATABASE_URL", url.as_str())]),
        (vec!["migrate", "status"], vec![("DATABASE_URL", url.as_str())]),
        (vec!["doctor"], vec![("DATABASE_URL", url.as_str())]),
        (vec!["keys", "list", "--direct"], vec![("DATABASE_URL", url.as_str())]),
        (vec!["check", "-o", "json"], vec![("FOREMAN_ADMIN_KEY", &wrong[..9]), ("FOREMAN_SECRET_KEY", wrong.as_str())]),
        (vec!["dev", "--listen", "0.0.0.0:0", "--nonsense"], vec![("FOREMAN_SECRET_KEY", wrong.as_str())]),
    ] {
        let mut command = stage.command();
        command.args(&words).envs(variables);
        let said = run(command, None).await;
        canary.collect(
            Kind::Said,
            format!("what `foreman {}` said", words.join(" ")),
            format!("{}\n{}", said.out, said.err),
        );
    }
}

/// What an operator asks of a deployment, with everything in the environment.
async fn operators_commands(canary: &mut Canary, commands: Vec<Command>) {
    for command in commands {
        let name = format!("{:?}", command.as_std().get_args().collect::<Vec<_>>());
        let said = run(command, None).await;
        canary.collect(Kind::Said, format!("what `foreman {name}` said"), format!("{}\n{}", said.out, said.err));
    }
}

async fn probes(canary: &mut Canary, server: &Server) {
    for path in ["/metrics", "/readyz", "/healthz"] {
        let (status, text) = server.get(path).await;
        assert!(status == 200 && !text.is_empty(), "{path}: {status} {text}");
        canary.collect(Kind::Probe, format!("{path} of {}", server.url), text);
    }
}

/// The bytes of the files, and every value in them: a long one may be cut in two by a page's end.
fn sqlite(canary: &mut Canary, stage: &Stage) {
    files(canary, &stage.data());
    let file = rusqlite::Connection::open(stage.database()).unwrap();
    let mut tables = file.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(tables.iter().any(|table| table == "webhooks"), "{tables:?}");
    for table in tables {
        let mut rows = file.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let columns = rows.column_count();
        let mut rows = rows.query([]).unwrap();
        let mut bytes = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                if let ValueRef::Text(value) | ValueRef::Blob(value) = row.get_ref(column).unwrap() {
                    bytes.extend_from_slice(value);
                    bytes.push(b'\n');
                }
            }
        }
        canary.collect(Kind::Database, format!("the table {table}"), bytes);
    }
}

fn files(canary: &mut Canary, directory: &Path) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            canary.collect(Kind::Database, path.display().to_string(), fs::read(&path).unwrap());
        }
    }
}

/// Every row of every table, as text, and what the server itself shows of our statements.
async fn postgres(canary: &mut Canary, database: &Database) {
    let sql = database.connect().await;
    let tables = sql
        .query("SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')", &[])
        .await
        .unwrap();
    assert!(tables.len() > 10, "{} tables", tables.len());
    for table in tables {
        let table: String = table.get(0);
        let rows = sql.query(&format!("SELECT row::text FROM {table} AS row"), &[]).await.unwrap();
        let text: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        canary.collect(Kind::Database, format!("the table {table}"), text.join("\n"));
    }
    let rows = sql.query("SELECT concat_ws(' ', application_name, query) FROM pg_stat_activity", &[]).await.unwrap();
    let text: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    canary.collect(Kind::Log, "what the server shows of its connections", text.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_given_to_a_laptop_is_seen_nowhere() {
    let (stage, mut canary) = (Stage::new(), Canary::default());
    let operator = Operator::new(&mut canary);
    mistakes(&mut canary, &stage).await;
    let data = stage.data();
    let mut dev = stage.command();
    dev.args([
        "dev",
        "--listen",
        "127.0.0.1:0",
        "--allow-commands",
        "--set",
        "log.level=trace",
        "--set",
        "log.format=human",
    ]);
    dev.arg("--data-dir").arg(&data);
    operator.equip(&mut dev);
    let mut server = stage.start_command(dev).await;
    let mut walk = Walk::begin(canary, &server, &operator.admin).await;
    walk.all().await;
    let mut canary = walk.canary;
    probes(&mut canary, &server).await;
    files(&mut canary, &data);

    let greeting = server.greeting.clone();
    assert_eq!(server.stop().await, Some(0));
    canary.collect(Kind::Log, "the log", server.log());
    canary.collect(Kind::Log, "the greeting", greeting);
    sqlite(&mut canary, &stage);
    let data = data.to_str().unwrap();
    let commands = [
        vec!["check", "--data-dir", data],
        vec!["check", "-o", "json", "--data-dir", data],
        vec!["check", "--deep", "--data-dir", data],
        vec!["doctor", "--data-dir", data],
        vec!["secrets", "reseal", "--direct", "--data-dir", data],
        vec!["audit", "--direct", "--data-dir", data],
        vec!["keys", "list", "--direct", "--data-dir", data],
    ];
    let equipped = commands.map(|words| {
        let mut command = stage.command();
        command.args(words);
        operator.equip(&mut command);
        command
    });
    operators_commands(&mut canary, equipped.into()).await;
    canary.assert_silent();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_given_to_a_team_is_seen_nowhere() {
    let (stage, mut canary) = (Stage::new(), Canary::default());
    let operator = Operator::new(&mut canary);
    let password = canary.secret("the password of the database", &[]);
    let database = Database::owned(&password).await;
    let level = "log.level=trace,tokio_postgres=trace,deadpool=trace";
    let mut servers = Vec::new();
    for role in ["api", "worker", "scheduler"] {
        let mut command = stage.role(&database, role, &["--set", level, "--set", "log.format=json"]);
        command.env("FOREMAN_COMMANDS_ALLOW", "true");
        operator.equip(&mut command);
        servers.push(stage.start_command(command).await);
    }
    let mut walk = Walk::begin(canary, &servers[0], &operator.admin).await;
    walk.all().await;
    let mut canary = walk.canary;
    for server in &servers {
        probes(&mut canary, server).await;
        canary.collect(Kind::Log, "the greeting", server.greeting.clone());
    }
    postgres(&mut canary, &database).await;

    // One that does not get in says so, and goes on trying.
    let wrong = canary.secret("a wrong password of the database", &[]);
    let mut shut_out = stage.role(&database, "worker", &["--set", level]);
    shut_out.env("DATABASE_URL", database.url.replace(&password, &wrong));
    let log = stage.path().join("shut-out");
    let mut child = shut_out.stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
    let said = until("it says that it does not get in", async || {
        Some(fs::read_to_string(&log).unwrap()).filter(|said| said.contains("password authentication failed"))
    })
    .await;
    // It may have given up by itself.
    let _ = child.start_kill();
    child.wait().await.unwrap();
    canary.collect(Kind::Said, "what a worker says that does not get in", said);

    for server in &mut servers {
        assert_eq!(server.stop().await, Some(0));
    }
    canary.collect(Kind::Log, "the log", servers[0].log());
    let commands = [
        vec!["check"],
        vec!["check", "-o", "json"],
        vec!["check", "--deep"],
        vec!["doctor"],
        vec!["migrate", "status"],
        vec!["secrets", "reseal", "--direct"],
        vec!["audit", "--direct"],
        vec!["keys", "list", "--direct"],
    ];
    let equipped = commands.map(|words| {
        let mut command = stage.command();
        command.args(words).env("DATABASE_URL", &database.url);
        operator.equip(&mut command);
        command
    });
    operators_commands(&mut canary, equipped.into()).await;
    canary.assert_silent();
}
