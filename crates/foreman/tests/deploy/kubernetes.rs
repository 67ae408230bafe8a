//! The Kubernetes manifests: all of fleet size, which are those of team size and what an overlay adds.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::binary::{
    RELAY, ROLES, SECRETS, TO_BECOME_OTHERS, assert_command, assert_key_where_reachable, assert_known,
    assert_only_its_secrets, assert_time_to_stop, default_of,
};
use crate::tree;

type Labels = BTreeMap<String, String>;

/// As much of the kinds as is used. A key that is not here is a slip, or a reason to add it.
#[derive(Deserialize)]
#[serde(tag = "kind")]
enum Manifest {
    Deployment(Object<DeploymentSpec>),
    Job(Object<JobSpec>),
    Service(Object<ServiceSpec>),
    PodDisruptionBudget(Object<DisruptionSpec>),
    NetworkPolicy(Object<NetworkSpec>),
    ConfigMap(Data),
    Secret(Data),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Object<Spec> {
    api_version: String,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Data {
    api_version: String,
    metadata: Metadata,
    #[serde(rename = "type")]
    _type: Option<String>,
    #[serde(alias = "data", alias = "stringData")]
    entries: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    name: String,
    #[serde(rename = "namespace")]
    _namespace: Option<String>,
    #[serde(default)]
    labels: Labels,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Selector {
    match_labels: Labels,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct DeploymentSpec {
    replicas: u32,
    selector: Selector,
    strategy: Strategy,
    template: Template,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Strategy {
    r#type: String,
    rolling_update: RollingUpdate,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RollingUpdate {
    max_surge: u32,
    max_unavailable: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct JobSpec {
    backoff_limit: u32,
    ttl_seconds_after_finished: u32,
    template: Template,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServiceSpec {
    selector: Labels,
    ports: Vec<ServicePort>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ServicePort {
    name: String,
    port: u16,
    target_port: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct DisruptionSpec {
    max_unavailable: u32,
    selector: Selector,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NetworkSpec {
    pod_selector: Value,
    policy_types: Vec<String>,
    #[serde(default)]
    ingress: Vec<Rule>,
    #[serde(default)]
    egress: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    #[serde(default)]
    from: Vec<Value>,
    #[serde(default)]
    to: Vec<Peer>,
    #[serde(default)]
    ports: Vec<NetworkPort>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Peer {
    namespace_selector: Option<Value>,
    ip_block: Option<IpBlock>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IpBlock {
    cidr: String,
    #[serde(default)]
    except: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NetworkPort {
    protocol: String,
    port: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Template {
    metadata: TemplateMetadata,
    spec: Pod,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TemplateMetadata {
    labels: Labels,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Pod {
    restart_policy: Option<String>,
    termination_grace_period_seconds: Option<u64>,
    enable_service_links: bool,
    automount_service_account_token: bool,
    security_context: PodSecurity,
    #[serde(default)]
    topology_spread_constraints: Vec<Spread>,
    containers: Vec<Container>,
    volumes: Vec<Volume>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Spread {
    max_skew: u32,
    topology_key: String,
    when_unsatisfiable: String,
    label_selector: Selector,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PodSecurity {
    run_as_non_root: bool,
    run_as_user: u32,
    run_as_group: u32,
    seccomp_profile: Seccomp,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Seccomp {
    r#type: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Container {
    name: String,
    image: String,
    args: Vec<String>,
    env_from: Vec<Source>,
    #[serde(default)]
    env: Vec<Variable>,
    #[serde(default)]
    ports: Vec<ContainerPort>,
    liveness_probe: Option<Probe>,
    readiness_probe: Option<Probe>,
    startup_probe: Option<Probe>,
    resources: Resources,
    security_context: ContainerSecurity,
    volume_mounts: Vec<Mount>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Source {
    config_map_ref: Option<Reference>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Variable {
    name: String,
    value: Option<String>,
    value_from: Option<ValueFrom>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ValueFrom {
    secret_key_ref: SecretKey,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretKey {
    name: String,
    key: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reference {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ContainerPort {
    name: String,
    container_port: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Probe {
    http_get: HttpGet,
    period_seconds: u64,
    #[serde(default = "one_second")]
    timeout_seconds: u64,
    failure_threshold: u64,
}

/// What Kubernetes takes when nothing is said.
fn one_second() -> u64 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpGet {
    path: String,
    port: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resources {
    requests: BTreeMap<String, String>,
    limits: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ContainerSecurity {
    allow_privilege_escalation: bool,
    read_only_root_filesystem: bool,
    capabilities: Capabilities,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Capabilities {
    drop: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Mount {
    name: String,
    mount_path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Volume {
    name: String,
    #[serde(rename = "emptyDir")]
    _empty_dir: Value,
}

/// The roles of fleet size.
fn roles() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROLES.into_iter().chain([RELAY])
}

const FLEET: &str = "deploy/kubernetes-fleet";

/// What the overlay sets for every role.
fn fleet_settings() -> Data {
    match tree::yaml(&format!("{FLEET}/config.yaml")) {
        Manifest::ConfigMap(data) => data,
        _ => panic!("settings are a ConfigMap"),
    }
}

/// Everything, each with the file it stands in. The settings of fleet size are among those that it changes.
fn manifests() -> Vec<(String, Manifest)> {
    let mut all = Vec::new();
    let team =
        tree::files("deploy/kubernetes", ".yaml").into_iter().filter(|file| !file.ends_with("kustomization.yaml"));
    for file in team.chain(["relay", "network"].map(|name| format!("{FLEET}/{name}.yaml"))) {
        let documents: Vec<Manifest> =
            serde_saphyr::from_multiple(&tree::read(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(!documents.is_empty(), "{file} is empty");
        all.extend(documents.into_iter().map(|document| (file.clone(), document)));
    }
    assert!(all.len() > 8, "the manifests were found");
    let fleet = fleet_settings();
    let mut found = 0;
    for (_, manifest) in &mut all {
        if let Manifest::ConfigMap(settings) = manifest
            && settings.metadata.name == fleet.metadata.name
        {
            settings.entries.extend(fleet.entries.clone());
            found += 1;
        }
    }
    assert_eq!(found, 1, "the overlay changes the settings that are there");
    all
}

fn role(all: &[(String, Manifest)], role: &str) -> DeploymentOf {
    let name = format!("foreman-{role}");
    let found = all.iter().position(|(_, it)| matches!(it, Manifest::Deployment(it) if it.metadata.name == name));
    DeploymentOf(found.unwrap_or_else(|| panic!("no Deployment {name}")))
}

/// The place of a Deployment among the manifests.
struct DeploymentOf(usize);

impl DeploymentOf {
    fn of<'a>(&self, all: &'a [(String, Manifest)]) -> &'a Object<DeploymentSpec> {
        match &all[self.0].1 {
            Manifest::Deployment(deployment) => deployment,
            _ => unreachable!("it was found as one"),
        }
    }
}

/// Every pod, with the name of what makes it.
fn pods(all: &[(String, Manifest)]) -> Vec<(&str, &Template)> {
    let pods: Vec<_> = all
        .iter()
        .filter_map(|(_, manifest)| match manifest {
            Manifest::Deployment(it) => Some((it.metadata.name.as_str(), &it.spec.template)),
            Manifest::Job(it) => Some((it.metadata.name.as_str(), &it.spec.template)),
            _ => None,
        })
        .collect();
    assert_eq!(pods.len(), roles().count() + 1, "the roles, and what migrates");
    pods
}

/// What a container finds in its environment.
fn variables(all: &[(String, Manifest)], container: &Container) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for source in &container.env_from {
        for (_, manifest) in all {
            let (reference, data) = match manifest {
                Manifest::ConfigMap(data) => (&source.config_map_ref, data),
                _ => continue,
            };
            if reference.as_ref().is_some_and(|reference| reference.name == data.metadata.name) {
                found.extend(data.entries.clone());
            }
        }
    }
    // What stands in the pod itself wins over what it takes from elsewhere.
    for variable in &container.env {
        let value = match (&variable.value, &variable.value_from) {
            (Some(value), None) => value.clone(),
            (None, Some(ValueFrom { secret_key_ref })) => of_secret(all, secret_key_ref),
            _ => panic!("{} has one value", variable.name),
        };
        found.insert(variable.name.clone(), value);
    }
    found
}

/// What the example of the Secret says.
fn of_secret(all: &[(String, Manifest)], of: &SecretKey) -> String {
    let secrets = all.iter().filter_map(|(_, manifest)| match manifest {
        Manifest::Secret(data) => Some(data),
        _ => None,
    });
    let found = secrets.into_iter().find(|data| data.metadata.name == of.name);
    let found = found.and_then(|data| data.entries.get(&of.key));
    found.unwrap_or_else(|| panic!("the Secret {} has no {}", of.name, of.key)).clone()
}

fn only_container(template: &Template) -> &Container {
    let [container] = template.spec.containers.as_slice() else { panic!("one container in each pod") };
    container
}

#[test]
fn every_kind_is_of_the_version_that_clusters_serve() {
    for (file, manifest) in manifests() {
        let (found, wanted) = match &manifest {
            Manifest::Deployment(it) => (&it.api_version, "apps/v1"),
            Manifest::Job(it) => (&it.api_version, "batch/v1"),
            Manifest::Service(it) => (&it.api_version, "v1"),
            Manifest::PodDisruptionBudget(it) => (&it.api_version, "policy/v1"),
            Manifest::NetworkPolicy(it) => (&it.api_version, "networking.k8s.io/v1"),
            Manifest::ConfigMap(it) | Manifest::Secret(it) => (&it.api_version, "v1"),
        };
        assert_eq!(found, wanted, "{file}");
    }
}

#[test]
fn every_pod_runs_a_command_of_the_binary() {
    let all = manifests();
    for (name, template) in pods(&all) {
        let container = only_container(template);
        let words: Vec<&str> = container.args.iter().map(String::as_str).collect();
        assert_command(name, &words);
        assert_eq!(container.image, format!("foreman:{}", env!("CARGO_PKG_VERSION")), "{name}");
    }
    for (it, _) in roles() {
        let container = only_container(&role(&all, it).of(&all).spec.template);
        assert_eq!((container.name.as_str(), container.args.as_slice()), (it, [it.to_owned()].as_slice()));
    }
}

#[test]
fn every_pod_is_told_only_what_foreman_knows() {
    let all = manifests();
    for (name, template) in pods(&all) {
        let variables = variables(&all, only_container(template));
        assert_only_its_secrets(name.trim_start_matches("foreman-"), variables.keys().map(String::as_str));
        assert_known(name, variables.keys().map(String::as_str));
        assert_key_where_reachable(name, &variables);
        assert!(!template.spec.enable_service_links, "{name}: variables that Kubernetes makes up look like ours");
    }
}

#[test]
fn every_role_is_given_the_time_to_stop() {
    let all = manifests();
    for (it, _) in roles() {
        let template = &role(&all, it).of(&all).spec.template;
        let given = template.spec.termination_grace_period_seconds.expect("said, not left to the default of 30 s");
        assert_time_to_stop(it, Duration::from_secs(given), &variables(&all, only_container(template)));
    }
}

#[test]
fn probes_ask_where_the_role_answers() {
    let all = manifests();
    for (it, listen) in roles() {
        let container = only_container(&role(&all, it).of(&all).spec.template);
        let address = variables(&all, container).remove(listen).unwrap_or_else(|| panic!("{it}: {listen} is not set"));
        let (host, port) = address.rsplit_once(':').unwrap();
        assert_eq!(host, "0.0.0.0", "{it}: kubelet asks at the pod's address");
        let [named] = container.ports.as_slice() else { panic!("{it} has one port") };
        assert_eq!(named.container_port.to_string(), port, "{it}");

        let probes = [
            (&container.liveness_probe, "/healthz"),
            (&container.readiness_probe, "/readyz"),
            (&container.startup_probe, "/healthz"),
        ];
        for (probe, path) in probes {
            let probe = probe.as_ref().unwrap_or_else(|| panic!("{it} has no probe of {path}"));
            assert_eq!((probe.http_get.path.as_str(), &probe.http_get.port), (path, &named.name), "{it}");
            assert!(probe.timeout_seconds <= probe.period_seconds && probe.failure_threshold >= 2, "{it}: {path}");
        }
    }
}

#[test]
fn nothing_runs_as_root_or_writes_into_its_image() {
    for (name, template) in pods(&manifests()) {
        let pod = &template.spec;
        assert!(pod.security_context.run_as_non_root, "{name}");
        assert_eq!((pod.security_context.run_as_user, pod.security_context.run_as_group), (65532, 65532), "{name}");
        assert_eq!(pod.security_context.seccomp_profile.r#type, "RuntimeDefault", "{name}");
        assert!(!pod.automount_service_account_token, "{name} has no business with the cluster");

        let container = only_container(template);
        assert!(!container.security_context.allow_privilege_escalation, "{name}");
        assert!(container.security_context.read_only_root_filesystem, "{name}");
        assert_eq!(container.security_context.capabilities.drop, ["ALL"], "{name}");
        let [mount] = container.volume_mounts.as_slice() else { panic!("{name} writes to one place") };
        assert_eq!(mount.mount_path, "/tmp", "{name}");
        assert!(pod.volumes.iter().any(|volume| volume.name == mount.name), "{name}");
        assert!(container.resources.requests.contains_key("memory"), "{name}");
        assert!(container.resources.limits.contains_key("memory"), "{name}");
    }
}

#[test]
fn selectors_choose_the_pods_they_mean() {
    let all = manifests();
    let labels_of = |name: &str| {
        let (_, template) =
            pods(&all).into_iter().find(|(it, _)| *it == name).unwrap_or_else(|| panic!("no pods of {name}"));
        template.metadata.labels.clone()
    };
    let mut services = 0;
    let mut budgets = 0;
    for (file, manifest) in &all {
        match manifest {
            Manifest::Deployment(it) => {
                assert_eq!(it.spec.selector.match_labels, it.spec.template.metadata.labels, "{file}");
                assert_eq!(it.metadata.labels, it.spec.template.metadata.labels, "{file}");
                for spread in &it.spec.template.spec.topology_spread_constraints {
                    assert_eq!(spread.label_selector.match_labels, it.spec.selector.match_labels, "{file}");
                    assert_eq!(
                        (spread.max_skew, spread.topology_key.as_str()),
                        (1, "kubernetes.io/hostname"),
                        "{file}"
                    );
                    assert_eq!(spread.when_unsatisfiable, "ScheduleAnyway", "{file}: a cluster of one node is one too");
                }
            }
            Manifest::Service(it) => {
                services += 1;
                assert_eq!(it.spec.selector, labels_of(&it.metadata.name), "{file}");
                let container =
                    only_container(pods(&all).into_iter().find(|(name, _)| *name == it.metadata.name).unwrap().1);
                let [port] = it.spec.ports.as_slice() else { panic!("{file}: one port") };
                assert!(container.ports.iter().any(|it| it.name == port.target_port), "{file}: {}", port.name);
                assert_eq!(port.port, 80, "{file}");
            }
            Manifest::PodDisruptionBudget(it) => {
                budgets += 1;
                assert_eq!(it.spec.selector.match_labels, labels_of(&it.metadata.name), "{file}");
                let Manifest::Deployment(of) =
                    &all.iter().find(|(_, other)| matches!(other, Manifest::Deployment(other) if other.metadata.name == it.metadata.name)).unwrap().1
                else {
                    unreachable!("it was found as one")
                };
                assert!(it.spec.max_unavailable < of.spec.replicas, "{file}: a drained node may not take the last one");
            }
            Manifest::Job(_) | Manifest::NetworkPolicy(_) | Manifest::ConfigMap(_) | Manifest::Secret(_) => {}
        }
    }
    assert_eq!((services, budgets), (1, roles().count()), "a Service for the API, a budget for each role");
}

#[test]
fn a_new_version_replaces_the_old_one_step_by_step() {
    let all = manifests();
    for (it, _) in roles() {
        let deployment = role(&all, it);
        let spec = &deployment.of(&all).spec;
        assert_eq!(spec.strategy.r#type, "RollingUpdate", "{it}");
        let RollingUpdate { max_surge, max_unavailable } = spec.strategy.rolling_update;
        assert!(max_surge + max_unavailable >= 1 && max_unavailable < spec.replicas, "{it}");
    }
    for (file, manifest) in &all {
        if let Manifest::Job(job) = manifest {
            assert_eq!(job.metadata.labels, job.spec.template.metadata.labels, "{file}");
            assert_eq!(job.spec.template.spec.restart_policy.as_deref(), Some("OnFailure"), "{file}");
            assert!(job.spec.backoff_limit > 3, "{file}: the database may come later than the Job");
            assert!(job.spec.ttl_seconds_after_finished > 0, "{file}");
        }
    }
}

#[test]
fn the_kustomization_applies_every_file_but_the_example() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Kustomization {
        api_version: String,
        kind: String,
        namespace: String,
        labels: Vec<Value>,
        images: Vec<Image>,
        resources: Vec<String>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Image {
        name: String,
        new_tag: String,
    }
    let it: Kustomization = tree::yaml("deploy/kubernetes/kustomization.yaml");
    assert_eq!((it.api_version.as_str(), it.kind.as_str()), ("kustomize.config.k8s.io/v1beta1", "Kustomization"));
    assert_eq!((it.namespace.as_str(), it.labels.len()), ("foreman", 1));
    let [image] = it.images.as_slice() else { panic!("one image") };
    assert_eq!((image.name.as_str(), image.new_tag.as_str()), ("foreman", env!("CARGO_PKG_VERSION")));
    let mut listed: Vec<String> = it.resources.iter().map(|name| format!("deploy/kubernetes/{name}")).collect();
    listed.sort();
    let mut there = tree::files("deploy/kubernetes", ".yaml");
    there.retain(|file| !file.ends_with("kustomization.yaml") && !file.ends_with("secret.example.yaml"));
    assert_eq!(listed, there);
}

fn policies(all: &[(String, Manifest)]) -> BTreeMap<&str, &NetworkSpec> {
    all.iter()
        .filter_map(|(_, manifest)| match manifest {
            Manifest::NetworkPolicy(it) => Some((it.metadata.name.as_str(), &it.spec)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_pod_speaks_to_nobody_but_whom_it_must() {
    let all = manifests();
    let policies = policies(&all);
    let default = policies["foreman-default"];
    let labels = &default.pod_selector["matchLabels"];
    for (name, template) in pods(&all) {
        for (label, value) in labels.as_object().unwrap() {
            assert_eq!(template.metadata.labels.get(label).map(String::as_str), value.as_str(), "{name}");
        }
    }
    assert_eq!(default.policy_types, ["Ingress", "Egress"]);
    assert!(default.ingress.is_empty(), "nobody comes in by it");
    // Names and the database: no rule lets all ports out.
    for rule in &default.egress {
        assert!(!rule.ports.is_empty() && rule.ports.iter().all(|port| matches!(port.port, 53 | 5432)));
        let is_database = rule.ports[0].port == 5432;
        let of_cluster = rule.to.iter().all(|peer| peer.namespace_selector.is_some());
        assert!(is_database || (!rule.to.is_empty() && of_cluster), "names are asked of the cluster");
        assert!(rule.ports.iter().all(|port| ["TCP", "UDP"].contains(&port.protocol.as_str())));
    }
    for (name, policy) in &policies {
        let may_call = ["foreman-worker", "foreman-default", "foreman-fleet"];
        assert!(policy.egress.is_empty() || may_call.contains(name), "{name} calls out");
        for rule in &policy.ingress {
            assert!(rule.ports.iter().all(|port| matches!(port.port, 8080 | 8081)) && !rule.ports.is_empty(), "{name}");
            assert!(*name == "foreman-api" || !rule.from.is_empty(), "{name}: anybody may come in");
        }
    }
}

#[test]
fn workers_call_what_is_public_and_nothing_private() {
    let all = manifests();
    let worker = policies(&all)["foreman-worker"];
    let blocks: Vec<&IpBlock> = worker
        .egress
        .iter()
        .flat_map(|rule| &rule.to)
        .map(|peer| peer.ip_block.as_ref().expect("by address"))
        .collect();
    let of = |cidr: &str| &blocks.iter().find(|block| block.cidr == cidr).unwrap_or_else(|| panic!("no {cidr}")).except;
    let (four, six) = (of("0.0.0.0/0"), of("::/0"));
    for network in ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16", "127.0.0.0/8"] {
        assert!(four.iter().any(|it| it == network), "{network}");
    }
    for network in ["fc00::/7", "fe80::/10", "::1/128", "64:ff9b::/96"] {
        assert!(six.iter().any(|it| it == network), "{network}");
    }
    assert_eq!(blocks.len(), 2, "and nothing else");
}

#[test]
fn the_secret_has_what_is_asked_of_it_and_nothing_else() {
    let all = manifests();
    let secret = all.iter().find_map(|(_, manifest)| match manifest {
        Manifest::Secret(data) => Some(data),
        _ => None,
    });
    let mut names: Vec<&str> = secret.expect("an example").entries.keys().map(String::as_str).collect();
    names.sort_unstable();
    let mut wanted = SECRETS.map(|(name, _)| name);
    wanted.sort_unstable();
    assert_eq!(names, wanted);
}

#[test]
fn programs_run_as_users_of_their_tenants() {
    let overlay: Value = tree::yaml("deploy/kubernetes-commands/kustomization.yaml");
    assert_eq!(overlay["resources"], serde_json::json!(["../kubernetes"]));
    for patch in overlay["patches"].as_array().unwrap() {
        let file = format!("deploy/kubernetes-commands/{}", patch["path"].as_str().unwrap());
        let patch: Value = tree::yaml(&file);
        let (kind, name) = (&patch["kind"], patch["metadata"]["name"].as_str().unwrap());
        let is_there = manifests().iter().any(|(_, manifest)| match manifest {
            Manifest::Deployment(it) => kind == "Deployment" && it.metadata.name == name,
            Manifest::ConfigMap(it) => kind == "ConfigMap" && it.metadata.name == name,
            _ => false,
        });
        assert!(is_there, "{file} changes what is not there");
    }
    let worker: Value = tree::yaml("deploy/kubernetes-commands/worker.yaml");
    let pod = &worker["spec"]["template"]["spec"];
    assert_eq!(
        (&pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsNonRoot"].as_bool()),
        (&serde_json::json!(0), Some(false))
    );
    let container = &pod["containers"][0];
    assert_eq!(container["securityContext"]["capabilities"]["add"], serde_json::json!(TO_BECOME_OTHERS));
    assert_eq!(container["env"][0]["name"], "FOREMAN_COMMANDS_USERS");
    assert_eq!(container["volumeMounts"][0]["mountPath"], "/var/lib/foreman");
    let config: Value = tree::yaml("deploy/kubernetes-commands/config.yaml");
    assert_known("the overlay", config["data"].as_object().unwrap().keys().map(String::as_str));
}

/// The port of the first address in a list such as `a:9092,b:9092`.
fn port_of(addresses: &str) -> u16 {
    let first = addresses.split(',').next().unwrap_or_default();
    first.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or_else(|| panic!("{addresses}: no port"))
}

#[test]
fn at_fleet_size_every_pod_reaches_kafka_and_redis_and_nothing_else_is_opened() {
    let overlay: Value = tree::yaml(&format!("{FLEET}/kustomization.yaml"));
    let listed = |part: &str| -> Vec<String> {
        let entries = overlay[part].as_array().unwrap().iter();
        entries.map(|it| it["path"].as_str().or(it.as_str()).unwrap().to_owned()).collect()
    };
    assert_eq!(listed("resources"), ["../kubernetes", "relay.yaml", "network.yaml", "autoscaling.yaml"]);
    assert_eq!(listed("patches"), ["config.yaml"]);
    assert_eq!(overlay["images"][0]["newTag"], env!("CARGO_PKG_VERSION"));
    let settings = fleet_settings().entries;
    let wanted = [port_of(&settings["KAFKA_BROKERS"]), port_of(&settings["REDIS_URL"])];
    let all = manifests();
    let policies = policies(&all);
    let (fleet, default) = (policies["foreman-fleet"], policies["foreman-default"]);
    assert_eq!(fleet.pod_selector, default.pod_selector, "of every pod");
    let opened: Vec<u16> = fleet.egress.iter().flat_map(|rule| &rule.ports).map(|it| it.port).collect();
    assert_eq!(opened, wanted);
}

#[test]
fn workers_scale_on_what_waits_for_them_in_kafka() {
    let object: Value = tree::yaml(&format!("{FLEET}/autoscaling.yaml"));
    assert_eq!((&object["kind"], &object["apiVersion"]), (&"ScaledObject".into(), &"keda.sh/v1alpha1".into()));
    let spec = &object["spec"];
    let all = manifests();
    let worker = role(&all, "worker").of(&all);
    assert_eq!(spec["scaleTargetRef"]["name"], worker.metadata.name.as_str());
    assert_eq!(spec["minReplicaCount"], worker.spec.replicas);
    let settings = fleet_settings().entries;
    let partitions: u64 = settings["FOREMAN_KAFKA_PARTITIONS"].parse().unwrap();
    assert_eq!(spec["maxReplicaCount"], partitions, "more receive nothing");
    let (topics, group) = (default_of("FOREMAN_KAFKA_TOPICS"), default_of("FOREMAN_KAFKA_GROUP"));
    let triggers = spec["triggers"].as_array().unwrap();
    for (trigger, name) in triggers.iter().zip(["high", "normal", "low", "retry"]) {
        let asked = &trigger["metadata"];
        assert_eq!(trigger["type"], "kafka");
        assert_eq!(asked["bootstrapServers"], settings["KAFKA_BROKERS"].as_str());
        assert_eq!(asked["topic"], format!("{topics}.{name}"));
        assert_eq!(asked["consumerGroup"], format!("{group}.{name}"));
        assert_eq!(asked["lagThreshold"], default_of("FOREMAN_WORKER_SLOTS"), "the slots of one worker");
    }
    assert_eq!(triggers.len(), 4);
}
