//! The alert rules for Prometheus.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::binary::duration;
use crate::tree;

const RULES: &str = "deploy/prometheus/alerts.yml";

/// As much of the format as is used. Prometheus refuses a file with a key that it does not know.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    name: String,
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    alert: String,
    expr: String,
    #[serde(rename = "for")]
    lasts: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

/// Every word of a text that names a metric of ours.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("foreman_")).collect()
}

#[test]
fn every_alert_asks_for_metrics_that_are_there_and_says_what_to_do() {
    let rules: Rules = tree::yaml(RULES);
    let documented = tree::read("docs/operations.md");
    let known = metrics(&documented);
    assert!(known.len() > 20, "the page was read: {known:?}");
    let mut names = BTreeSet::new();
    for group in &rules.groups {
        assert!(group.name.starts_with("foreman-") && !group.rules.is_empty(), "{}", group.name);
        for rule in &group.rules {
            let name = &rule.alert;
            assert!(name.starts_with("Foreman") && names.insert(name), "{name}: a name of its own");
            let asked = metrics(&rule.expr);
            assert!(!asked.is_empty(), "{name} asks for no metric of ours");
            for metric in asked {
                assert!(known.contains(metric), "{name}: {metric} is not in docs/operations.md");
            }
            assert!(rule.expr.matches('(').count() == rule.expr.matches(')').count(), "{name}: {}", rule.expr);
            assert!(!duration(&rule.lasts).is_zero(), "{name}: a single look is no alarm");
            assert!(["page", "warn"].contains(&rule.labels["severity"].as_str()), "{name}");
            for part in ["summary", "description"] {
                assert!(rule.annotations[part].len() > 10, "{name}: {part}");
            }
        }
    }
    assert!(names.iter().any(|name| *name == "ForemanChangeLogHeldBack"), "{names:?}");
}
