//! The Redis that can be added to the compose file and to the Kubernetes manifests.

use serde_json::{Value, json};

use crate::binary::{ROLES, assert_known};
use crate::tree;

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect()
}

/// What a Redis of Foreman is started with: a password, nothing on the disk, and nothing that is evicted.
fn assert_settings(args: &[&str]) {
    let value = |name: &str| {
        let place = args.iter().position(|arg| *arg == name).unwrap_or_else(|| panic!("no {name}: {args:?}"));
        args[place + 1]
    };
    assert_eq!(args[0], "redis-server");
    assert!(value("--requirepass").contains("REDIS_PASSWORD"));
    assert_eq!((value("--save"), value("--appendonly"), value("--maxmemory-policy")), ("", "no", "noeviction"));
    assert!(value("--maxmemory").ends_with("mb"));
}

#[test]
fn every_role_of_the_compose_file_can_be_given_a_redis() {
    let (base, added): (Value, Value) =
        (tree::yaml("deploy/docker-compose.yml"), tree::yaml("deploy/docker-compose.redis.yml"));
    let redis = &added["services"]["redis"];
    assert_settings(&strings(&redis["command"]));
    assert_eq!((&redis["read_only"], strings(&redis["cap_drop"])), (&json!(true), vec!["ALL"]));
    assert!(redis["ports"].is_null() && base["services"]["redis"].is_null(), "it cannot be reached from outside");
    let mut given: Vec<&String> =
        added["services"].as_object().unwrap().keys().filter(|name| *name != "redis").collect();
    given.sort();
    let mut wanted: Vec<&str> = ROLES.iter().map(|(role, _)| *role).collect();
    wanted.push("worker-commands");
    wanted.sort_unstable();
    assert_eq!(given, wanted);
    for name in given {
        assert!(!base["services"][name].is_null(), "{name} is changed and is not there");
        let variables = added["services"][name]["environment"].as_object().unwrap();
        assert_known(name, variables.keys().map(String::as_str));
        let url = variables["REDIS_URL"].as_str().unwrap();
        assert!(url.starts_with("redis://default:") && url.ends_with("@redis:6379/0"), "{url}");
        assert!(added["services"][name]["depends_on"].is_null(), "{name} works without it");
    }
}

#[test]
fn every_role_in_kubernetes_can_be_given_a_redis() {
    let overlay: Value = tree::yaml("deploy/kubernetes-redis/kustomization.yaml");
    assert_eq!(overlay["resources"], json!(["../kubernetes", "redis.yaml"]));
    let patch = &overlay["patches"][0];
    assert_eq!((&patch["path"], &patch["target"]["kind"]), (&json!("roles.yaml"), &json!("Deployment")));
    let names = ROLES.map(|(role, _)| role).join("|");
    assert_eq!(patch["target"]["name"], format!("foreman-({names})"));
    let patches: Vec<Value> = tree::yaml("deploy/kubernetes-redis/roles.yaml");
    for patch in &patches {
        assert_eq!((&patch["op"], &patch["path"]), (&json!("add"), &json!("/spec/template/spec/containers/0/env/-")));
    }
    let variables: Vec<&str> = patches.iter().map(|patch| patch["value"]["name"].as_str().unwrap()).collect();
    assert_eq!(variables, ["REDIS_URL", "FOREMAN_REDIS_PASSWORD"]);
    assert_known("the overlay", variables);

    let documents: Vec<Value> = serde_saphyr::from_multiple(&tree::read("deploy/kubernetes-redis/redis.yaml")).unwrap();
    let of = |kind: &str, name: &str| {
        let found = documents.iter().find(|it| it["kind"] == kind && it["metadata"]["name"] == name);
        found.unwrap_or_else(|| panic!("no {kind} {name}"))
    };
    let deployment = &of("Deployment", "foreman-redis")["spec"];
    let pod = &deployment["template"]["spec"];
    let container = &pod["containers"][0];
    assert_settings(&strings(&container["args"]));
    assert_eq!(deployment["selector"]["matchLabels"], deployment["template"]["metadata"]["labels"]);
    assert_eq!((&deployment["replicas"], &deployment["strategy"]["type"]), (&json!(1), &json!("Recreate")));
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(container["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
    // The address that the roles are given is that of the Service.
    let service = &of("Service", "foreman-redis")["spec"];
    assert_eq!(service["selector"], deployment["selector"]["matchLabels"]);
    assert_eq!(
        patches[0]["value"]["value"],
        format!("redis://default@foreman-redis:{}/0", service["ports"][0]["port"])
    );
    assert_eq!(container["ports"][0]["containerPort"], service["ports"][0]["port"]);
    // Both sides of the one way between them.
    let to = &of("NetworkPolicy", "foreman-to-redis")["spec"];
    assert_eq!(to["podSelector"]["matchLabels"], json!({ "app.kubernetes.io/name": "foreman" }));
    assert_eq!(to["egress"][0]["to"][0]["podSelector"]["matchLabels"], service["selector"]);
    let from = &of("NetworkPolicy", "foreman-redis")["spec"];
    assert_eq!(from["podSelector"]["matchLabels"], service["selector"]);
    assert_eq!(from["policyTypes"], json!(["Ingress", "Egress"]), "and it calls nobody");
    assert_eq!(from["ingress"][0]["from"][0]["podSelector"], to["podSelector"]);
    for rule in [&to["egress"][0], &from["ingress"][0]] {
        assert_eq!(rule["ports"], json!([{ "protocol": "TCP", "port": 6379 }]));
    }
}
