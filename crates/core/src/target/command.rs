//! Runs a program on the worker's machine.

use std::collections::BTreeMap;
use std::time::Duration;

pub use foreman_protocol::spec::ExitCodes;
use serde::{Deserialize, Serialize};

use super::{Body, Defaults, Route, Target, TargetKind, TargetOutline, TargetSecrets, TargetSyntax};
use crate::document::Asked;
use crate::limits::Limits;
use crate::outline::cut;
use crate::retry::Backoff;
use crate::secret_map::SecretMap;
use crate::spec::{CommandSpec, JobSpec, Mistakes};

/// What the variables of a command are sealed for.
pub const ENV_PLACE: &str = "job/env";

const DEFAULTS: Defaults = Defaults { max_attempts: 3, backoff: Backoff::COMMAND, timeout: Duration::from_mins(10) };

/// So many characters of a command are shown in lists.
const SHOWN: usize = 1_000;

pub(super) const SYNTAX: TargetSyntax = TargetSyntax {
    field: "command",
    is_given: |spec| spec.command.is_some(),
    own: &[
        ("/env", |spec| spec.env.is_some()),
        ("/cwd", |spec| spec.cwd.is_some()),
        ("/exit_codes", |spec| spec.exit_codes.is_some()),
    ],
    read,
    secrets: |spec| spec.env.as_mut(),
};

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

/// As lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutline {
    pub program: Program,
}

impl TargetKind for CommandTarget {
    /// A worker of a version that cannot decrypt variables does not know the route of a command that has some.
    fn route(&self) -> Route {
        if self.env.is_sealed() { Route::sealed_command() } else { Route::command() }
    }

    fn body(&self) -> &Body {
        &self.input
    }

    fn defaults(&self) -> Defaults {
        DEFAULTS
    }

    fn describe(&self, spec: &mut JobSpec) {
        spec.command = Some(CommandSpec::from(&self.program));
        spec.env = (!self.env.is_empty()).then(|| self.env.masked());
        spec.cwd.clone_from(&self.cwd);
        spec.exit_codes = (self.exit_codes != ExitCodes::default()).then(|| self.exit_codes.clone());
    }

    fn outline(&self) -> TargetOutline {
        TargetOutline::Command(CommandOutline { program: self.program.clone() })
    }

    fn secrets(&self) -> Option<TargetSecrets<'_>> {
        Some(TargetSecrets { values: &self.env, field: "env", name: ENV_PLACE })
    }

    fn secrets_mut(&mut self) -> Option<&mut SecretMap> {
        Some(&mut self.env)
    }

    fn voids_secrets_of(&self, kept: &Target) -> Option<&'static str> {
        let Target::Command(kept) = kept else { return None };
        let is_same =
            self.program == kept.program && self.cwd == kept.cwd && self.input.as_str() == kept.input.as_str();
        (!is_same).then_some(
            "is not given to another program, with other arguments, input or directory, than the one it was given for",
        )
    }

    fn command(&self) -> Option<&CommandTarget> {
        Some(self)
    }
}

impl CommandOutline {
    pub(super) fn describe(&self, asked: &mut Asked) {
        asked.command = Some(CommandSpec::from(&self.program));
    }

    pub(super) fn cut(&mut self) {
        match &mut self.program {
            Program::Shell(line) => cut(line, SHOWN),
            Program::Argv(words) => {
                let mut left = SHOWN;
                let mut kept = 0;
                for word in words.iter_mut() {
                    // Every word costs one more, so that the number of empty ones is bounded too.
                    if left == 0 {
                        break;
                    }
                    cut(word, left);
                    left = left.saturating_sub(word.chars().count() + 1);
                    kept += 1;
                }
                if kept < words.len() {
                    words.truncate(kept);
                    words.push("…".into());
                }
            }
        }
    }
}

impl From<&Program> for CommandSpec {
    fn from(program: &Program) -> Self {
        match program {
            Program::Argv(argv) => CommandSpec::Argv(argv.clone()),
            Program::Shell(line) => CommandSpec::Shell(line.clone()),
        }
    }
}

fn read(spec: JobSpec, body: Body, _limits: &Limits, mistakes: &mut Mistakes) -> Option<Target> {
    let program = program(spec.command?, mistakes);
    let env = env(spec.env.unwrap_or_default(), mistakes);
    let cwd = cwd(spec.cwd, mistakes);
    let exit_codes = spec.exit_codes.unwrap_or_default();
    Some(Target::Command(CommandTarget { program, env: env.into(), cwd, input: body, exit_codes }))
}

fn program(command: CommandSpec, mistakes: &mut Mistakes) -> Program {
    let program = match command {
        CommandSpec::Shell(line) => Program::Shell(line),
        CommandSpec::Argv(argv) => Program::Argv(argv),
    };
    let (is_empty, has_nul) = match &program {
        Program::Shell(line) => (line.trim().is_empty(), line.contains('\0')),
        Program::Argv(argv) => {
            (argv.first().is_none_or(|first| first.trim().is_empty()), argv.iter().any(|word| word.contains('\0')))
        }
    };
    if is_empty {
        mistakes.add("/command", "is empty; give a program, such as [\"echo\", \"hello\"]");
    }
    if has_nul {
        mistakes.add("/command", "contains a NUL character, which cannot be passed to a program");
    }
    program
}

fn env(env: BTreeMap<String, String>, mistakes: &mut Mistakes) -> BTreeMap<String, String> {
    if env.len() > 64 {
        mistakes.add("/env", format!("has {} variables, more than the 64 allowed", env.len()));
    }
    for (name, value) in &env {
        let starts_well = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        let fits =
            starts_well && name.len() <= 128 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !fits {
            mistakes.add(format!("/env/{name}"), "is not a variable name; use letters, digits and underscores");
        }
        if value.contains('\0') || value.len() > 32 * 1024 {
            mistakes.add(format!("/env/{name}"), "must be at most 32 KiB without NUL characters");
        }
    }
    env
}

fn cwd(given: Option<String>, mistakes: &mut Mistakes) -> Option<String> {
    let cwd = given?;
    if !cwd.starts_with('/') || cwd.contains('\0') || cwd.len() > 4_096 {
        mistakes.add("/cwd", "must be an absolute path");
        return None;
    }
    Some(cwd)
}
