//! The systemd units.

use std::collections::BTreeMap;

use crate::binary::{
    RELAY, ROLES, TO_BECOME_OTHERS, assert_command, assert_key_where_reachable, assert_known, assert_only_its_secrets,
    assert_time_to_stop, default_of, duration,
};
use crate::tree;

/// Key and value of each line, by section. A key may stand more than once.
type Unit = BTreeMap<String, Vec<(String, String)>>;

fn unit(name: &str) -> Unit {
    read(&format!("deploy/systemd/foreman-{name}.service"))
}

fn read(file: &str) -> Unit {
    let mut unit = Unit::new();
    let mut section = String::new();
    for line in tree::read(file).lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.clone_into(&mut section);
        } else {
            let (key, value) = line.split_once('=').unwrap_or_else(|| panic!("{file}: {line}"));
            unit.entry(section.clone()).or_default().push((key.to_owned(), value.to_owned()));
        }
    }
    assert!(unit.keys().all(|section| ["Unit", "Service", "Install"].contains(&section.as_str())), "{file}");
    unit
}

fn all<'a>(unit: &'a Unit, section: &str, key: &str) -> Vec<&'a str> {
    unit[section].iter().filter(|(it, _)| it == key).map(|(_, value)| value.as_str()).collect()
}

fn one<'a>(unit: &'a Unit, section: &str, key: &str) -> &'a str {
    match all(unit, section, key).as_slice() {
        [value] => value,
        found => panic!("{key} is said {} times", found.len()),
    }
}

/// What the process finds in its environment, with the example of the file that it reads.
fn variables(unit: &Unit) -> BTreeMap<String, String> {
    let examples = examples(unit);
    let lines = examples.lines().filter(|line| !line.starts_with('#')).chain(all(unit, "Service", "Environment"));
    lines.filter_map(|line| line.split_once('=')).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// What the files that a unit reads say in their examples.
fn examples(unit: &Unit) -> String {
    let files = all(unit, "Service", "EnvironmentFile").into_iter();
    let names = files.map(|file| file.strip_prefix("/etc/foreman/").unwrap_or_else(|| panic!("{file}")).to_owned());
    names.map(|name| tree::read(&format!("deploy/systemd/{name}.example"))).collect::<Vec<_>>().join("\n")
}

/// The names of what they set, or offer to.
fn offered(unit: &Unit) -> Vec<String> {
    let examples = examples(unit);
    let lines = examples.lines().map(|line| line.trim_start_matches('#')).filter_map(|line| line.split_once('='));
    lines.map(|(name, _)| name.to_owned()).filter(|name| !name.contains(' ')).collect()
}

const UNITS: [&str; 5] = ["api", "worker", "scheduler", "relay", "migrate"];

/// The roles that may run side by side on one machine.
fn roles() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROLES.into_iter().chain([RELAY])
}

#[test]
fn every_unit_runs_a_command_of_the_binary_with_what_it_knows() {
    for name in UNITS {
        let unit = unit(name);
        let words: Vec<&str> = one(&unit, "Service", "ExecStart").split_whitespace().collect();
        assert_eq!(words[0], "/usr/local/bin/foreman", "{name}");
        assert_eq!(words[1], name);
        assert_command(name, &words[1..]);
        let variables = variables(&unit);
        let offered = offered(&unit);
        assert_only_its_secrets(name, offered.iter().map(String::as_str));
        assert_known(name, offered.iter().map(String::as_str));
        assert_known(name, variables.keys().map(String::as_str));
        assert_key_where_reachable(name, &variables);
    }
}

#[test]
fn every_role_is_given_the_time_to_stop() {
    for (role, _) in roles() {
        let unit = unit(role);
        assert_time_to_stop(role, duration(one(&unit, "Service", "TimeoutStopSec")), &variables(&unit));
        assert_eq!(one(&unit, "Service", "KillMode"), "mixed", "{role}: it stops its jobs' commands itself");
        assert_eq!(one(&unit, "Service", "SuccessExitStatus"), "3", "{role}: handed back is stopped in good order");
    }
}

#[test]
fn a_role_that_ends_is_started_again_unless_its_settings_are_wrong() {
    for (role, _) in roles() {
        let unit = unit(role);
        assert_eq!(one(&unit, "Service", "Restart"), "always", "{role}");
        assert_eq!(one(&unit, "Service", "RestartPreventExitStatus"), "2", "{role}");
        assert_eq!(one(&unit, "Unit", "StartLimitIntervalSec"), "0", "{role}: however long the schema takes");
        assert!(one(&unit, "Unit", "After").contains("foreman-migrate.service"), "{role}");
        assert!(all(&unit, "Unit", "Wants").contains(&"foreman-migrate.service"), "{role}");
        assert_eq!(one(&unit, "Install", "WantedBy"), "multi-user.target", "{role}");
    }
    assert_eq!(one(&unit("migrate"), "Service", "Type"), "oneshot");
}

#[test]
fn nothing_runs_as_root() {
    for name in UNITS {
        let unit = unit(name);
        for (key, value) in [
            ("DynamicUser", "yes"),
            ("NoNewPrivileges", "yes"),
            ("ProtectSystem", "strict"),
            ("CapabilityBoundingSet", ""),
            ("ProtectProc", "invisible"),
            ("MemoryDenyWriteExecute", "yes"),
            ("SystemCallArchitectures", "native"),
            ("SystemCallErrorNumber", "EPERM"),
            ("IPAddressDeny", "169.254.169.254 fd00:ec2::254"),
        ] {
            assert_eq!(one(&unit, "Service", key), value, "{name}: {key}");
        }
        let filters = all(&unit, "Service", "SystemCallFilter");
        // What a worker starts may be any program.
        let wanted: &[&str] =
            if name == "worker" { &["@system-service"] } else { &["@system-service", "~@privileged"] };
        assert_eq!(filters, wanted, "{name}");
    }
}

#[test]
fn programs_run_as_users_of_their_tenants() {
    let unit = read("deploy/systemd/foreman-worker.service.d/commands.conf");
    let [empty, run] = all(&unit, "Service", "ExecStart")[..] else { panic!("the unit's own is taken back first") };
    assert_eq!((empty, run), ("", "/usr/local/bin/foreman worker --allow-commands"));
    assert_command("the drop-in", &["worker", "--allow-commands"]);
    assert_eq!(one(&unit, "Service", "Environment"), "FOREMAN_COMMANDS_USERS=60000-61000");
    assert_eq!(one(&unit, "Service", "DynamicUser"), "no");
    let wanted = TO_BECOME_OTHERS.map(|name| format!("CAP_{name}")).join(" ");
    assert_eq!(one(&unit, "Service", "CapabilityBoundingSet"), wanted);
    assert_eq!(one(&unit, "Service", "StateDirectory"), "foreman", "where it is kept which tenant has which");
}

#[test]
fn roles_on_one_machine_do_not_take_each_others_port() {
    let mut taken = BTreeMap::new();
    for (role, listen) in roles() {
        let address = variables(&unit(role)).remove(listen).unwrap_or_else(|| default_of(listen));
        if let Some(other) = taken.insert(address.clone(), role) {
            panic!("{role} and {other} both listen on {address}");
        }
    }
}
