//! Who may know whom.

use crate::metadata::{FOR_TESTS, Metadata};

/// Stores and transports: each says how one outside thing is reached.
const ADAPTERS: [&str; 4] = ["foreman-sqlite", "foreman-postgres", "foreman-kafka", "foreman-redis"];

/// Why `from` may not depend on `to`; nothing if it may.
fn objection(from: &str, to: &str) -> Option<&'static str> {
    let allowed: &[&str] = match from {
        "foreman" | "foreman-bench" => return None,
        "foreman-protocol" | "foreman-runtime" => &[],
        "foreman-core" => &["foreman-protocol"],
        "foreman-conformance" => &["foreman-core"],
        "foreman-engine" => &["foreman-core", "foreman-runtime"],
        "foreman-api" => &["foreman-core", "foreman-runtime", "foreman-conformance"],
        "foreman-eventlog" => &["foreman-runtime"],
        "foreman-client" => &["foreman-protocol"],
        adapter if ADAPTERS.contains(&adapter) => &["foreman-core", "foreman-runtime", "foreman-conformance"],
        _ => return Some("a new crate says in tests/architecture/arrows.rs what it may know"),
    };
    if allowed.contains(&to) {
        return None;
    }
    Some(match (from, to) {
        (_, "foreman" | "foreman-bench") => "nothing depends on a program: `foreman` plugs the others into each other",
        ("foreman-protocol", _) => "`protocol` says what goes over the wire, and depends on nothing of ours",
        ("foreman-core", _) => "`core` says what a job is: it knows only `protocol`",
        ("foreman-conformance", _) => {
            "`conformance` says what every store must keep: it knows the ports, and no store but the reference"
        }
        ("foreman-runtime", _) => {
            "`runtime` says how a loop lives, knows nothing of jobs, and depends on nothing of ours"
        }
        ("foreman-api", "foreman-engine") | ("foreman-engine", "foreman-api") => {
            "`api` and `engine` never meet: `api` submits through a port in `core` that the engine's coalescer implements"
        }
        ("foreman-eventlog", _) => "`eventlog` stands alone, usable without Foreman: it knows only `runtime`",
        ("foreman-client", _) => "`client` is what other programs link: it knows only `protocol`",
        (from, to) if ADAPTERS.contains(&from) && ADAPTERS.contains(&to) => "adapters never know each other",
        (_, to) if ADAPTERS.contains(&to) => {
            "`api` and `engine` speak to ports; which adapter is behind them is chosen in `foreman/compose.rs`"
        }
        (_, "foreman-protocol") => {
            "the server takes the words of the protocol from `core`, which gives them their meaning"
        }
        _ => "an arrow that the map does not have",
    })
}

#[test]
fn every_arrow_between_our_crates_is_on_the_map() {
    let metadata = Metadata::read();
    let names: Vec<&str> = metadata.ours().map(|package| package.name.as_str()).collect();
    assert!(names.contains(&"foreman") && names.contains(&"foreman-core"), "the workspace was read: {names:?}");
    let mut wrong = Vec::new();
    for package in metadata.ours() {
        // What tests use counts too: an arrow that is only for tests is an arrow that tests hold in place.
        for dependency in package.dependencies.iter().filter(|dependency| names.contains(&dependency.name.as_str())) {
            if let Some(why) = objection(&package.name, &dependency.name) {
                wrong.push(format!("{} → {}: {why}", package.name, dependency.name));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn what_is_for_tests_is_linked_by_tests_only() {
    let metadata = Metadata::read();
    let mut tests = Vec::new();
    for package in metadata.ours() {
        for dependency in package.dependencies.iter().filter(|it| FOR_TESTS.contains(&it.name.as_str())) {
            assert_eq!(dependency.kind.as_deref(), Some("dev"), "{} → {}", package.name, dependency.name);
            tests.push(package.name.as_str());
        }
    }
    assert!(tests.contains(&"foreman-sqlite") && tests.contains(&"foreman-postgres"), "the stores are held to it");
}

#[test]
fn a_wrong_arrow_is_refused_with_its_reason() {
    let refused = [
        ("foreman-core", "foreman-runtime", "only `protocol`"),
        ("foreman-protocol", "foreman-core", "nothing of ours"),
        ("foreman-core", "foreman-conformance", "only `protocol`"),
        ("foreman-conformance", "foreman-sqlite", "no store but the reference"),
        ("foreman-runtime", "foreman-core", "knows nothing of jobs"),
        ("foreman-api", "foreman-engine", "never meet"),
        ("foreman-engine", "foreman-sqlite", "compose.rs"),
        ("foreman-sqlite", "foreman-postgres", "never know each other"),
        ("foreman-eventlog", "foreman-core", "stands alone"),
        ("foreman-client", "foreman-core", "only `protocol`"),
        ("foreman-engine", "foreman", "depends on a program"),
        ("foreman-helpers", "foreman-core", "a new crate"),
    ];
    for (from, to, why) in refused {
        let said = objection(from, to).unwrap_or_default();
        assert!(said.contains(why), "{from} → {to}: {said}");
    }
}

#[test]
fn the_arrows_of_the_map_are_allowed() {
    let allowed = [
        ("foreman", "foreman-sqlite"),
        ("foreman-api", "foreman-core"),
        ("foreman-engine", "foreman-runtime"),
        ("foreman-sqlite", "foreman-core"),
        ("foreman-sqlite", "foreman-conformance"),
        ("foreman-conformance", "foreman-core"),
        ("foreman-core", "foreman-protocol"),
        ("foreman-client", "foreman-protocol"),
        ("foreman-eventlog", "foreman-runtime"),
    ];
    for (from, to) in allowed {
        assert_eq!(objection(from, to), None, "{from} → {to}");
    }
}
