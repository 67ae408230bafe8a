//! The environment, read once.

use std::collections::BTreeMap;

/// The variables of the process, as they were when somebody looked.
#[derive(Clone, Debug, Default)]
pub struct Environment(BTreeMap<String, String>);

/// Of the command line, of tests, of the build: not settings of the server.
const NOT_SETTINGS: [&str; 7] = [
    "FOREMAN_API_URL",
    "FOREMAN_API_KEY",
    "FOREMAN_API_KEY_FILE",
    "FOREMAN_TENANT",
    "FOREMAN_CONFIG",
    "FOREMAN_BIN",
    "FOREMAN_TORTURE",
];

impl Environment {
    /// What is not Unicode cannot be one of ours.
    #[expect(clippy::disallowed_methods, reason = "this is the one room that reads the environment")]
    pub fn of_process() -> Self {
        Self(
            std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
        )
    }

    #[cfg(test)]
    pub fn of<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// A variable that is set to something.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Variables that look like settings: ours by their name, and not known to be something else.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .filter(|(name, value)| name.starts_with("FOREMAN_") && !is_something_else(name) && !value.is_empty())
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Kubernetes puts `FOREMAN_SERVICE_HOST`, `FOREMAN_PORT_8080_TCP` and the like into every pod beside a service called
/// `foreman`, and `FOREMAN_WORKER_PORT` for one called `foreman-worker`. No setting of ours is named so.
fn is_something_else(name: &str) -> bool {
    NOT_SETTINGS.contains(&name)
        || name.starts_with("FOREMAN_TEST_")
        || name.contains("_SERVICE_")
        || name.ends_with("_PORT")
        || name.contains("_PORT_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_put_there_is_not_taken_for_a_setting() {
        let environment = Environment::of([
            ("FOREMAN_WORKER_SLOTS", "3"),
            ("FOREMAN_SERVICE_HOST", "10.0.0.1"),
            ("FOREMAN_PORT", "tcp://10.0.0.1:80"),
            ("FOREMAN_WORKER_PORT_8080_TCP", "tcp://10.0.0.1:80"),
            ("FOREMAN_API_URL", "http://x"),
            ("FOREMAN_TEST_POSTGRES", "postgres://127.0.0.1/test"),
            ("FOREMAN_LISTEN", ""),
            ("PATH", "/bin"),
        ]);
        assert_eq!(environment.settings().collect::<Vec<_>>(), [("FOREMAN_WORKER_SLOTS", "3")]);
        assert_eq!(environment.get("FOREMAN_LISTEN"), None, "set to nothing is not set");
    }
}
