//! Names that mean something inside of a network, whatever a resolver says of them today.
//!
//! This is the smaller half of the protection: most names say nothing about where they lead, and every address is judged.
//! But a name is refused when the job is submitted, where a person reads it, and not hours later at an attempt.

/// Names of the inside, with all that is below them.
const INSIDE: [&str; 14] = [
    "localhost",
    "localdomain",
    "local",
    "internal",
    "svc",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "home.arpa",
    "consul",
    "onion",
    "alt",
];

/// As names are compared: without the dot that may end one. `Err` says what the name has that no name can have.
pub(super) fn normal(name: &str) -> Result<&str, &'static str> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let mut labels = name.split('.');
    if labels.any(str::is_empty) {
        Err("an empty label")
    } else if name.len() > 253 || name.split('.').any(|label| label.len() > 63) {
        Err("more characters than a name can have")
    } else {
        Ok(name)
    }
}

pub(super) fn is_under(name: &str, suffix: &str) -> bool {
    name.strip_suffix(suffix).and_then(|front| front.strip_suffix('.')).is_some_and(|front| !front.is_empty())
}

/// Why a name is one of the inside; `name` as [`normal`] gives it.
pub(super) fn inside(name: &str) -> Option<&'static str> {
    if let Some(suffix) = INSIDE.iter().find(|suffix| name == **suffix || is_under(name, suffix)) {
        return Some(suffix);
    }
    if name.split('.').next() == Some("metadata") {
        return Some("metadata");
    }
    // No such top-level domain exists, and another parser than ours may take it for an address.
    if name.rsplit('.').next().is_some_and(|last| last.starts_with(|first: char| first.is_ascii_digit())) {
        return Some("a number at the end");
    }
    // Found by the search list of a resolver, or in a file of hosts: `postgres`, `redis`, `instance-data`.
    (!name.contains('.')).then_some("a name without a dot")
}
