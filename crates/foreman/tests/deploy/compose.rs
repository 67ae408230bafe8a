//! The compose files: team size, and what fleet size adds to it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::binary::{
    RELAY, ROLES, TO_BECOME_OTHERS, assert_command, assert_key_where_reachable, assert_known, assert_only_its_secrets,
    assert_time_to_stop, duration,
};
use crate::tree;

/// As much of the format as is used. A key that is not here is a slip, or a reason to add it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Compose {
    name: String,
    services: BTreeMap<String, Service>,
    volumes: BTreeMap<String, Option<()>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Service {
    image: String,
    build: Option<Build>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    user: Option<String>,
    #[serde(default)]
    read_only: bool,
    #[serde(default)]
    tmpfs: Vec<String>,
    #[serde(default)]
    cap_drop: Vec<String>,
    #[serde(default)]
    cap_add: Vec<String>,
    #[serde(default)]
    profiles: Vec<String>,
    #[serde(default)]
    security_opt: Vec<String>,
    #[serde(default)]
    init: bool,
    restart: String,
    stop_grace_period: Option<String>,
    #[serde(default)]
    depends_on: BTreeMap<String, Dependency>,
    #[serde(default)]
    ports: Vec<String>,
    #[serde(default)]
    volumes: Vec<String>,
    healthcheck: Option<Healthcheck>,
    deploy: Option<Deploy>,
    shm_size: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Build {
    context: String,
    dockerfile: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dependency {
    condition: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Healthcheck {
    test: Vec<String>,
    interval: String,
    timeout: String,
    retries: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deploy {
    replicas: u32,
}

fn compose() -> Compose {
    read(&["deploy/docker-compose.yml"])
}

/// With what fleet size adds.
fn fleet() -> Compose {
    read(&["deploy/docker-compose.yml", "deploy/docker-compose.fleet.yml"])
}

/// Each size, with its roles.
fn sizes() -> [(Compose, Vec<&'static str>); 2] {
    let team: Vec<&str> = ROLES.map(|(role, _)| role).into();
    let with_relay = team.iter().copied().chain([RELAY.0]).collect();
    [(compose(), team), (fleet(), with_relay)]
}

/// As the platform reads several files: maps are merged, and the last one wins. What begins with `x-` is there for its anchors.
fn read(files: &[&str]) -> Compose {
    let mut all = Value::Null;
    for file in files {
        let mut one: BTreeMap<String, Value> = tree::yaml(file);
        one.retain(|key, _| !key.starts_with("x-"));
        merge(&mut all, serde_json::to_value(one).unwrap());
    }
    serde_json::from_value(all).unwrap_or_else(|error| panic!("{files:?}: {error}"))
}

fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}

/// The services that run our image, with their names.
fn ours<'a>(compose: &'a Compose, roles: &[&str]) -> Vec<(&'a str, &'a Service)> {
    let found: Vec<_> = compose
        .services
        .iter()
        .filter(|(_, it)| it.image.starts_with("foreman:"))
        .map(|(name, it)| (name.as_str(), it))
        .collect();
    assert_eq!(found.len(), roles.len() + 2, "the roles, what runs programs, and what migrates");
    found
}

#[test]
fn every_role_runs_as_a_process_of_its_own_beside_one_postgres() {
    for (compose, roles) in sizes() {
        assert_eq!(compose.name, "foreman");
        for role in &roles {
            assert_eq!(compose.services[*role].command, [*role]);
        }
        for (name, service) in ours(&compose, &roles) {
            let words: Vec<&str> = service.command.iter().map(String::as_str).collect();
            assert_command(name, &words);
        }
    }
    let compose = compose();
    let postgres = &compose.services["postgres"];
    assert_eq!(postgres.image, "${POSTGRES_IMAGE:-postgres:15}");
    let [volume] = postgres.volumes.as_slice() else { panic!("the database is kept in one volume") };
    assert!(compose.volumes.contains_key(volume.split_once(':').unwrap().0));
    assert!(postgres.shm_size.is_some() && postgres.stop_grace_period.as_deref().map(duration).is_some());
}

#[test]
fn roles_start_once_the_schema_is_there_and_the_schema_once_postgres_is() {
    let compose = compose();
    assert_eq!(compose.services["migrate"].depends_on["postgres"].condition, "service_healthy");
    assert_eq!(compose.services["migrate"].restart, "no", "what is done once is not done again");
    let health = compose.services["postgres"].healthcheck.as_ref().expect("somebody can tell that it is healthy");
    assert_eq!(health.test[..2], ["CMD", "pg_isready"]);
    assert!(
        duration(&health.interval) * health.retries > duration(&health.timeout) * 2,
        "a first start takes its time"
    );
    for (compose, roles) in sizes() {
        for role in roles {
            assert_eq!(compose.services[role].depends_on["migrate"].condition, "service_completed_successfully");
            assert_eq!(compose.services[role].restart, "unless-stopped");
        }
    }
}

#[test]
fn every_service_is_told_only_what_foreman_knows() {
    for (compose, roles) in sizes() {
        for (name, service) in ours(&compose, &roles) {
            assert_known(name, service.environment.keys().map(String::as_str));
            assert_only_its_secrets(name, service.environment.keys().map(String::as_str));
            assert_key_where_reachable(name, &service.environment);
        }
    }
}

#[test]
fn every_role_is_given_the_time_to_stop() {
    for (compose, roles) in sizes() {
        for role in roles {
            let service = &compose.services[role];
            let given = service.stop_grace_period.as_deref().expect("the default of 10 s is too short");
            assert_time_to_stop(role, duration(given), &service.environment);
        }
    }
}

#[test]
fn nothing_runs_as_root_or_writes_into_its_image() {
    for (compose, roles) in sizes() {
        for (name, service) in ours(&compose, &roles) {
            let runs_programs = name == "worker-commands";
            let user = if runs_programs { "0:0" } else { "65532:65532" };
            assert_eq!(service.user.as_deref(), Some(user), "{name}");
            assert!(service.read_only, "{name}");
            assert!(
                !service.init,
                "{name}: an init has the variables of what it starts, and shows them to commands of the same user"
            );
            assert_eq!(service.tmpfs[0], "/tmp", "{name}");
            assert_eq!(service.cap_drop, ["ALL"], "{name}");
            let added: &[&str] = if runs_programs { &TO_BECOME_OTHERS } else { &[] };
            assert_eq!(service.cap_add, added, "{name}");
            let profiles: &[&str] = if runs_programs { &["commands"] } else { &[] };
            assert_eq!(service.profiles, profiles, "{name}: what is root runs only when asked for");
            assert_eq!(service.security_opt, ["no-new-privileges:true"], "{name}");
        }
    }
}

#[test]
fn only_the_api_can_be_reached_and_only_from_this_machine() {
    let compose = fleet();
    for (name, service) in &compose.services {
        if name != "api" {
            assert!(service.ports.is_empty(), "{name} is published");
        }
    }
    let api = &compose.services["api"];
    let port = api.environment["FOREMAN_LISTEN"].rsplit_once(':').unwrap().1;
    assert_eq!(api.ports, [format!("127.0.0.1:8080:{port}")]);
}

#[test]
fn the_image_is_built_from_this_tree() {
    let (compose, roles) = sizes().into_iter().next_back().expect("fleet size has them all");
    for (name, service) in ours(&compose, &roles) {
        let build = service.build.as_ref().unwrap_or_else(|| panic!("{name} is not built"));
        assert!(tree::root().join("deploy").join(&build.context).join(&build.dockerfile).exists(), "{name}");
        assert_eq!(service.image, format!("foreman:{}", env!("CARGO_PKG_VERSION")), "{name}");
        assert!(
            service.deploy.as_ref().is_none_or(|deploy| deploy.replicas >= 2),
            "{name}: more than one, or nothing said"
        );
    }
}

#[test]
fn programs_run_as_users_of_their_tenants() {
    let compose = compose();
    let worker = &compose.services["worker-commands"];
    assert_eq!(worker.command, ["worker", "--allow-commands"]);
    assert_eq!(worker.environment["FOREMAN_COMMANDS_USERS"], "60000-61000");
    assert_eq!(worker.tmpfs, ["/tmp", "/var/lib/foreman"], "where it is kept which tenant has which");
    assert!(compose.services["api"].environment["FOREMAN_COMMANDS_ALLOW"].ends_with(":-false}"), "off until asked for");
    assert!(!compose.services["worker"].environment.keys().any(|name| name.contains("COMMANDS")));
    let given = worker.stop_grace_period.as_deref().expect("the default of 10 s is too short");
    assert_time_to_stop("worker-commands", duration(given), &worker.environment);
}

#[test]
fn at_fleet_size_workers_and_relays_find_kafka_and_every_role_finds_redis() {
    let fleet = fleet();
    let advertised = &fleet.services["kafka"].environment["KAFKA_ADVERTISED_LISTENERS"];
    let redis = "redis://redis:6379";
    for role in ["worker", "worker-commands", "relay"] {
        let service = &fleet.services[role];
        assert_eq!(advertised, &format!("PLAINTEXT://{}", service.environment["KAFKA_BROKERS"]), "{role}");
        assert_eq!(service.environment["REDIS_URL"], redis, "{role}");
        for other in ["kafka", "redis"] {
            assert_eq!(service.depends_on[other].condition, "service_healthy", "{role} and {other}");
        }
    }
    for role in ["api", "scheduler"] {
        assert_eq!(fleet.services[role].environment["REDIS_URL"], redis, "{role}");
        assert!(!fleet.services[role].environment.contains_key("KAFKA_BROKERS"), "{role} has no use for it");
    }
    for other in ["kafka", "redis"] {
        let health = fleet.services[other].healthcheck.as_ref().expect("somebody can tell that it is healthy");
        assert!(duration(&health.interval) * health.retries > duration(&health.timeout), "{other}");
    }
    assert!(fleet.services["redis"].command.ends_with(&["--maxmemory-policy".into(), "noeviction".into()]));
}
