//! Runs a program on the worker's machine.

use serde::{Deserialize, Serialize};

use super::Body;
use crate::secret_map::SecretMap;

/// What the variables of a command are sealed for.
pub const ENV_PLACE: &str = "job/env";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CommandTarget {
    pub program: Program,
    #[serde(default, skip_serializing_if = "SecretMap::is_empty")]
    pub env: SecretMap,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Given to the command on its standard input.
    #[serde(default, skip_serializing_if = "Body::is_none")]
    pub input: Body,
    #[serde(default)]
    pub exit_codes: ExitCodes,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Program {
    Argv(Vec<String>),
    /// `sh -c`
    Shell(String),
}

impl Program {
    pub fn argv(&self) -> Vec<String> {
        match self {
            Program::Argv(argv) => argv.clone(),
            Program::Shell(line) => vec!["sh".into(), "-c".into(), line.clone()],
        }
    }
}

/// Which exit codes complete a command and which fail it at once; any other code is retried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ExitCodes {
    pub completed: Vec<i32>,
    pub failed: Vec<i32>,
}

impl Default for ExitCodes {
    /// 126 is "found, but cannot be run" and 127 "not found": no second try will find it.
    fn default() -> Self {
        Self { completed: vec![0], failed: vec![126, 127] }
    }
}
