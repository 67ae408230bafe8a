use std::collections::BTreeSet;
use std::io::Write as _;

use foreman_core::tenant::{Limit, TenantLimits};

use super::*;

const DEFAULTS: &str = include_str!("../../../../foreman.default.toml");

fn flags(set: &[&str]) -> ServerFlags {
    // A file that is empty, so that one in the directory of the test is not read.
    ServerFlags {
        config: Some("/dev/null".into()),
        set: set.iter().map(|text| (*text).to_owned()).collect(),
        ..ServerFlags::default()
    }
}

fn show(settings: &Settings, path: &str) -> String {
    known().iter().find(|setting| setting.path == path).expect("a known setting").show(settings)
}

#[test]
fn the_default_file_is_the_defaults() {
    let mut loader = Loader::new();
    let mut seen = Vec::new();
    let errors = file::read(
        DEFAULTS,
        |_| false,
        |entry| {
            seen.push(entry.path.clone());
            loader.set(&entry.path, Raw::Toml(entry.value), Origin::Default);
        },
    );
    assert!(errors.is_empty(), "{errors:?}");
    assert!(loader.mistakes.is_empty(), "{:?}", loader.mistakes);
    for setting in known() {
        assert_eq!(setting.show(&loader.settings), setting.show(&Settings::default()), "{}", setting.path);
    }
    let (in_file, in_table): (BTreeSet<String>, BTreeSet<String>) =
        (seen.into_iter().collect(), known().iter().map(|setting| setting.path.to_owned()).collect());
    assert_eq!(in_file, in_table, "each setting has its line, and each line its setting");
}

#[test]
fn the_default_file_writes_values_as_check_shows_them() {
    let mut wrong = Vec::new();
    for setting in known() {
        let key = setting.path.rsplit('.').next().expect("a path has a last part");
        let line = format!("{key} = {}", setting.show(&Settings::default()));
        if !DEFAULTS.lines().any(|known| known == line) {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "not in foreman.default.toml: {wrong:#?}");
}

#[test]
fn every_setting_of_the_default_file_is_explained() {
    let mut silent = Vec::new();
    let mut above = "";
    for line in DEFAULTS.lines() {
        if line.contains(" = ") && !line.starts_with('#') && !above.starts_with('#') {
            silent.push(line);
        }
        above = line;
    }
    assert!(silent.is_empty(), "no comment above: {silent:#?}");
}

#[test]
fn every_setting_has_a_variable_of_its_own() {
    let names: BTreeSet<String> = known().iter().map(Setting::variable).collect();
    assert_eq!(names.len(), known().len());
    assert!(names.contains("FOREMAN_LISTEN") && names.contains("FOREMAN_DATA_DIR"), "people script against these");
    assert!(names.contains("FOREMAN_WORKER_SLOTS"));
    let through = names.iter().map(|name| (name.as_str(), "x"));
    let environment = Environment::of(through);
    assert_eq!(environment.settings().count(), names.len(), "none is taken for somebody else's");
}

#[test]
fn a_flag_beats_a_variable_beats_the_file_beats_the_default() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    writeln!(file, "[worker]\nslots = 2\npoll = \"2s\"\nguard = 2\n").expect("written");
    let environment = Environment::of([("FOREMAN_WORKER_SLOTS", "3"), ("FOREMAN_WORKER_POLL", "3s")]);
    let given = ServerFlags { config: Some(file.path().into()), slots: Some("4".into()), ..ServerFlags::default() };
    let loaded = load(&given, &environment, Role::Dev).expect("no mistakes");
    let from = |path: &str| {
        let setting = known().into_iter().find(|setting| setting.path == path).expect("a known setting");
        (setting.show(&loaded.settings), loaded.origin(&setting).to_string())
    };
    assert_eq!(from("worker.slots"), ("4".into(), "--slots".into()));
    assert_eq!(from("worker.poll"), ("\"3s\"".into(), "the variable FOREMAN_WORKER_POLL".into()));
    assert_eq!(from("worker.guard").0, "2");
    assert!(from("worker.guard").1.ends_with("line 4"), "{}", from("worker.guard").1);
    assert_eq!(from("worker.heartbeat"), ("\"5s\"".into(), "default".into()));
    assert_eq!(from("shutdown.not_ready"), ("\"0s\"".into(), "foreman dev".into()));
}

#[test]
fn all_mistakes_are_told_at_once_with_their_places() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    writeln!(file, "listen = 8080\n\n[worker]\nslot = 3\npoll = \"soon\"\n[limits]\nconnections = \"many\"\n")
        .expect("written");
    let environment = Environment::of([
        ("FOREMAN_WORKER_HEARTBEAT", "5"),
        ("FOREMAN_WORKR_POLL", "1s"),
        ("DATABASE_URL", "mysql://x"),
        ("FOREMAN_SERVICE_HOST", "10.0.0.1"),
        ("FOREMAN_IMAGE_TAG", "a variable of somebody's own"),
    ]);
    let mut given = flags(&["sqlite.readers=0", "nothing"]);
    given.config = Some(file.path().into());
    given.grace = Some("never".into());
    let said = load(&given, &environment, Role::Dev).expect_err("mistakes").to_string();
    for expected in [
        "10 errors",
        "line 1: listen: 8080 is not an address",
        "line 4: there is no setting \"worker.slot\"; did you mean worker.slots?",
        "line 5: worker.poll: not a duration: \"soon\"",
        "line 7: limits.connections: \"many\" is not a whole number from 1 to 1000000",
        "the variable FOREMAN_WORKER_HEARTBEAT: worker.heartbeat: not a duration: \"5\"",
        "the variable FOREMAN_WORKR_POLL: there is no setting \"FOREMAN_WORKR_POLL\"; did you mean FOREMAN_WORKER_POLL?",
        "--set sqlite.readers=0: sqlite.readers: \"0\" is not a whole number from 1 to 64",
        "--set nothing: has no value",
        "--grace: shutdown.grace: not a duration: \"never\"",
        "the variable DATABASE_URL: database.url: it is not a Postgres URL",
    ] {
        assert!(said.contains(expected), "{expected:?} is missing in:\n{said}");
    }
}

#[test]
fn an_address_that_others_can_reach_needs_a_key() {
    let key = ("FOREMAN_ADMIN_KEY", "a-key-that-is-long-enough");
    for (role, setting) in [(Role::Dev, "listen"), (Role::Api, "listen")] {
        for address in ["0.0.0.0:8080", "[::]:8080", "192.168.1.2:8080"] {
            let set = [format!("{setting}={address}")];
            let given = flags(&[&set[0]]);
            let said = load(&given, &Environment::default(), role).expect_err(address).to_string();
            assert!(said.contains("other machines") && said.contains(address), "{said}");
            assert!(said.contains("FOREMAN_ADMIN_KEY"), "{said}");
            load(&given, &Environment::of([key]), role).expect(address);
        }
        for address in ["127.0.0.1:0", "[::1]:8080", "127.9.9.9:1", "localhost:1"] {
            load(&flags(&[&format!("{setting}={address}")]), &Environment::default(), role).expect(address);
        }
    }
    // Each role is judged by the address that it listens on.
    load(&flags(&["listen=0.0.0.0:1"]), &Environment::default(), Role::Worker).expect("it does not listen there");
    load(&flags(&["health_listen=0.0.0.0:1"]), &Environment::default(), Role::Api).expect("it does not listen there");
    // Probes tell nothing of anybody, and whoever only answers them is given no key.
    for role in [Role::Worker, Role::Scheduler] {
        load(&flags(&["health_listen=0.0.0.0:1"]), &Environment::default(), role).expect("only probes");
    }
    load_store(&flags(&["listen=0.0.0.0:1", "health_listen=0.0.0.0:1"]), &Environment::default()).expect("nowhere");
}

#[test]
fn a_database_that_is_named_is_the_store_unless_another_is_asked_for() {
    let url = "postgres://u:sesame@h/d";
    let store = |set: &[&str], environment: &[(&str, &str)]| {
        load(&flags(set), &Environment::of(environment.iter().copied()), Role::Dev).map(|loaded| loaded.settings.store)
    };
    assert_eq!(store(&[], &[]).expect("fine"), StoreKind::Sqlite);
    assert_eq!(store(&[], &[("DATABASE_URL", url)]).expect("fine"), StoreKind::Postgres);
    assert_eq!(store(&[], &[("FOREMAN_DATABASE_URL", url)]).expect("fine"), StoreKind::Postgres);
    assert_eq!(store(&["store=memory"], &[("DATABASE_URL", url)]).expect("fine"), StoreKind::Memory);
    let said = store(&["store=postgres"], &[]).expect_err("nowhere").to_string();
    assert!(said.contains("DATABASE_URL"), "{said}");
    let said = store(&[], &[("DATABASE_URL", "mysql://u:sesame@h/d")]).expect_err("another").to_string();
    assert!(said.contains("the variable DATABASE_URL") && !said.contains("sesame"), "{said}");
}

#[test]
fn a_redis_is_one_thing_and_its_address_is_not_repeated() {
    let redis = |set: &[&str], variables: &[(&str, &str)]| {
        let loaded = load(&flags(set), &Environment::of(variables.iter().copied()), Role::Api);
        loaded.map(|loaded| loaded.settings.redis.config().expect("a Redis"))
    };
    let url = ("REDIS_URL", "redis://u:sesame@h:7000/2");
    let config = redis(&[], &[url]).expect("fine");
    assert_eq!((config.topology, config.nodes.len()), (foreman_redis::Topology::Single, 0));
    let config = redis(&["redis.sentinel_master=main", "redis.nodes=b:26379, c:26379"], &[url]).expect("fine");
    assert_eq!((config.topology, config.nodes.len()), (foreman_redis::Topology::Sentinel("main".into()), 2));
    for (set, variables, expected) in [
        (&["redis.sentinel_master=main", "redis.cluster=true"][..], &[url][..], "set only one of them"),
        (&["redis.cluster=true"], &[url], "only database 0"),
        (&["redis.nodes=b"], &[url], "host:6379"),
        (&["redis.tls_ca=/nowhere/ca.pem"], &[url], "/nowhere/ca.pem"),
        (&[], &[("REDIS_URL", "http://u:sesame@h")], "the variable REDIS_URL"),
        (&[], &[("REDIS_URL", "redis://u:sesame@h:many")], "cannot be used"),
    ] {
        let said = redis(set, variables).expect_err(expected).to_string();
        assert!(said.contains(expected) && !said.contains("sesame"), "{said}");
    }
}

#[test]
fn what_is_shown_of_a_database_and_a_key_gives_nothing_away() {
    let environment = Environment::of([
        ("DATABASE_URL", "postgres://u:sesame@h/d"),
        ("FOREMAN_ADMIN_KEY", "open-sesame-open-sesame-24"),
    ]);
    let loaded = load(&flags(&[]), &environment, Role::Dev).expect("fine");
    let shown: Vec<String> = known().iter().map(|setting| setting.show(&loaded.settings)).collect();
    assert!(shown.contains(&"\"postgres://u:hidden@h/d\"".to_owned()), "{shown:?}");
    assert!(!shown.iter().any(|value| value.contains("sesame")), "{shown:?}");
    assert!(!format!("{:?}", loaded.settings).contains("sesame"));
}

#[test]
fn a_role_calls_what_is_public_and_dev_this_machine_too() {
    let judge = |role, set: &[&str], url: &str| {
        let settings = load(&flags(set), &Environment::default(), role).expect("fine").settings;
        assert_eq!(settings.limits.egress, settings.http.egress, "who submits and who calls go by the same rules");
        settings.limits.egress.judge_url(&url.parse().expect("a URL")).is_ok()
    };
    for role in [Role::Api, Role::Worker, Role::Scheduler] {
        assert!(!judge(role, &[], "http://127.0.0.1/") && judge(role, &[], "https://example.com/"), "{role}");
        assert!(judge(role, &["egress.allow=127.0.0.0/8"], "http://127.0.0.1/"), "{role}");
    }
    assert!(judge(Role::Dev, &[], "http://localhost:3000/") && !judge(Role::Dev, &[], "http://10.0.0.1/"));
    let more = ["egress.allow=10.0.0.0/8"];
    assert!(judge(Role::Dev, &more, "http://10.0.0.1/") && judge(Role::Dev, &more, "http://[::1]/"));
    assert!(!judge(Role::Dev, &["egress.deny=127.0.0.1"], "http://127.0.0.1/"), "what is denied stays denied");
}

#[test]
fn dev_limits_no_tenant_unless_it_is_told_to() {
    let limits =
        |role, set: &[&str]| load(&flags(set), &Environment::default(), role).expect("fine").settings.tenant_limits;
    assert_eq!(limits(Role::Dev, &[]), TenantLimits::unlimited());
    assert_eq!(limits(Role::Api, &[]), TenantLimits::default());
    assert_eq!(limits(Role::Dev, &["limits.tenant.schedules=3"]).schedules, Limit::AtMost(3));
}

#[test]
fn the_default_tenant_of_an_api_without_keys_is_held_only_to_what_was_set() {
    let loaded = |role, set: &[&str]| load(&flags(set), &Environment::default(), role).expect("fine").settings;
    let settings = loaded(Role::Api, &["limits.tenant.schedules=3"]);
    let own = TenantLimits { schedules: Limit::AtMost(3), ..TenantLimits::unlimited() };
    assert_eq!(settings.own_limits, own);
    assert_eq!(settings.tenant_limits, TenantLimits { schedules: Limit::AtMost(3), ..TenantLimits::default() });
    let keyed = loaded(Role::Api, &["admin_key=a-key-that-nobody-can-guess"]);
    assert_eq!((keyed.own_limits, keyed.tenant_limits), (TenantLimits::default(), TenantLimits::default()));
    assert_eq!(loaded(Role::Scheduler, &[]).own_limits, TenantLimits::default());
}

#[test]
fn a_variable_in_a_section_of_ours_must_be_a_setting() {
    let said = load(&flags(&[]), &Environment::of([("FOREMAN_LIMITS_COLOUR", "red")]), Role::Dev)
        .expect_err("unknown")
        .to_string();
    assert!(said.contains("there is no setting \"FOREMAN_LIMITS_COLOUR\""), "{said}");
}

#[test]
fn a_file_that_was_named_must_be_there() {
    let mut given = flags(&[]);
    given.config = Some("/there/is/no/such.toml".into());
    let said = load(&given, &Environment::default(), Role::Dev).expect_err("missing").to_string();
    assert!(said.starts_with("/there/is/no/such.toml: could not be read"), "{said}");
}

#[test]
fn what_follows_from_other_settings_is_filled_in() {
    let environment = Environment::of([("PATH", "/bin"), ("SECRET", "x")]);
    let loaded = load(&flags(&["data_dir=/data", "worker.name=w1", "shutdown.grace=6s"]), &environment, Role::Dev)
        .expect("fine");
    let settings = loaded.settings;
    assert_eq!(settings.sqlite.path, Path::new("/data/foreman.db"));
    assert_eq!(settings.worker.name, "w1");
    assert_eq!(settings.command.inherited, [("PATH".to_owned(), "/bin".to_owned())]);
    assert_eq!(settings.reserve().as_secs(), 3, "half of a short grace");
    let worker = settings.worker_in_grace();
    assert!(worker.stop_grace + worker.flush_grace <= settings.reserve());
    assert!(settings.command_in_grace().kill_grace <= worker.stop_grace);
    assert_eq!(Settings::default().worker_in_grace().stop_grace, Settings::default().worker.stop_grace);
    assert_eq!(show(&Settings::default(), "shutdown.grace"), "\"25s\"");
}

/// Every part of Foreman that has a `Config`, by its source.
const PARTS: &[(&str, &str)] = &[
    ("serve", include_str!("../../../api/src/serve/mod.rs")),
    ("stream", include_str!("../../../api/src/stream/mod.rs")),
    ("tail", include_str!("../../../api/src/tail/mod.rs")),
    ("output", include_str!("../../../engine/src/output.rs")),
    ("command", include_str!("../../../engine/src/target/command.rs")),
    ("http", include_str!("../../../engine/src/target/http.rs")),
    ("worker", include_str!("../../../engine/src/worker/mod.rs")),
    ("promoter", include_str!("../../../engine/src/promoter.rs")),
    ("settle", include_str!("../../../engine/src/settle.rs")),
    ("bookkeeper", include_str!("../../../engine/src/bookkeeper.rs")),
    ("submit", include_str!("../../../engine/src/submit.rs")),
    ("pruner", include_str!("../../../engine/src/pruner.rs")),
    ("courier", include_str!("../../../engine/src/courier.rs")),
    ("tenants", include_str!("../../../engine/src/tenants.rs")),
    ("sweeper", include_str!("../../../engine/src/sweeper.rs")),
    ("scheduler", include_str!("../../../engine/src/scheduler.rs")),
    ("horizon", include_str!("../horizon.rs")),
    ("database", include_str!("../../../postgres/src/config.rs")),
    ("redis", include_str!("../../../redis/src/config.rs")),
    ("leadership", include_str!("../../../runtime/src/leadership.rs")),
    ("sqlite", include_str!("../../../sqlite/src/config.rs")),
];

/// What is in a `Config` and not in the table, and why.
const NOT_SETTINGS: &[(&str, &str)] = &[
    ("bookkeeper.step", "how a read is cut into pages; `statistics.every` says how old numbers may be"),
    ("command.inherited", "the values of commands.inherit_env"),
    ("command.keyring", "made from secret_key"),
    ("command.launcher", "made from commands.user and the limits of commands"),
    ("command.sharing", "made from commands.users, commands.users_dir and commands.share_user"),
    ("courier.step", "how a read is cut into pages"),
    ("courier.slice", "how a read is cut into pages"),
    ("courier.loads", "a share of database.connections"),
    ("database.application_name", "the role"),
    ("database.clock", "for tests"),
    ("database.changes_patience", "a share of database.idle_timeout, after which a writer is gone"),
    ("http.trust", "the machine's certificates"),
    ("leadership.holder", "fresh at every start"),
    ("leadership.renew", "follows from leader.ttl"),
    ("leadership.margin", "follows from leader.ttl"),
    ("leadership.contend", "follows from leader.ttl"),
    ("leadership.contend_woken", "follows from leader.ttl"),
    ("output.line_bytes", "how a line without an end is cut"),
    ("output.linger", "longer than a client takes to ask again"),
    ("redis.topology", "made from redis.sentinel_master and redis.cluster"),
    ("settle.in_flight", "a share of database.connections"),
    ("sqlite.path", "a file in data_dir"),
    ("sqlite.wal_bytes", "cuts back a log that grew because reads never paused"),
    ("stream.queue_pieces", "bounds many small pieces, as stream.backlog bounds large ones"),
    ("submit.in_flight", "a share of database.connections"),
    ("submit.resend_for", "shorter than a client waits for its answer"),
    ("tail.gap", "shorter than anyone notices"),
    ("tail.page", "how a read is cut into pages"),
    ("tenants.believed", "the 5 s within which a change of a tenant is promised to take effect"),
    ("tenants.most", "bounds a cache"),
    ("worker.drain_grace", "follows from shutdown.grace"),
    ("worker.flush_grace", "follows from shutdown.grace"),
    ("worker.linger", "how a claim is gathered"),
];

/// Where a setting is kept under another name than the part has for it.
const ALIASES: &[(&str, &str)] = &[
    ("worker_name", "worker.name"),
    ("database.connections", "database.data_connections"),
    ("commands.scratch", "command.scratch"),
    ("egress.allow", "http.egress"),
    ("tail.streams.per_process", "stream.per_process"),
    ("tail.streams.per_tenant", "stream.per_tenant"),
    ("tail.streams.heartbeat", "stream.heartbeat"),
    ("tail.streams.write_timeout", "stream.write_timeout"),
    ("tail.streams.queue_bytes", "stream.queue_bytes"),
    ("tenant_limits.running_jobs", "tenants.limits"),
    ("leader_ttl", "leadership.ttl"),
];

/// What every loop has: shorter than the store's own limit, which is a setting.
const CALL_TIMEOUT: &str = "call_timeout";

fn fields_of(source: &str) -> Vec<String> {
    let (_, after) = source.split_once("pub struct Config {\n").expect("a Config");
    let (body, _) = after.split_once("\n}").expect("its end");
    let fields = body.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(':'));
    fields.map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn every_part_is_set_by_the_one_table() {
    let table = include_str!("table.rs");
    let mut left_out = Vec::new();
    let mut excused: BTreeSet<&str> = NOT_SETTINGS.iter().map(|(path, _)| *path).collect();
    for (part, source) in PARTS {
        for field in fields_of(source) {
            let path = format!("{part}.{field}");
            let fills = |line: &str| {
                line.split_once("=> ").is_some_and(|(_, place)| {
                    let place = place.trim_end_matches(';');
                    place == path
                        || place.ends_with(&format!(".{path}"))
                        || place.starts_with(&format!("{path}."))
                        || ALIASES.iter().any(|(alias, of)| *alias == place && *of == path)
                })
            };
            if table.lines().any(fills) || field == CALL_TIMEOUT && *part != "database" && *part != "sqlite" {
                assert!(!NOT_SETTINGS.iter().any(|(excuse, _)| *excuse == path), "{path} is a setting after all");
            } else if !excused.remove(path.as_str()) {
                left_out.push(path);
            }
        }
    }
    assert!(left_out.is_empty(), "neither in the table nor excused with a reason: {left_out:#?}");
    assert!(excused.is_empty(), "no such field: {excused:#?}");
}
