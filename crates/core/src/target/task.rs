//! Runs a handler by its name.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Body, Defaults, Route, Target, TargetKind, TargetOutline, TargetSyntax};
use crate::document::Asked;
use crate::limits::Limits;
use crate::retry::Backoff;
use crate::spec::{JobSpec, Mistakes};

const DEFAULTS: Defaults = Defaults { max_attempts: 25, backoff: Backoff::TASK, timeout: Duration::from_mins(10) };

pub(super) const SYNTAX: TargetSyntax =
    TargetSyntax { field: "task", is_given: |spec| spec.task.is_some(), own: &[], read, secrets: |_| None };

/// Run by a worker that knows the task's name: with a Rust handler, or by pulling.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskTarget {
    pub name: String,
    #[serde(default, skip_serializing_if = "Body::is_none")]
    pub payload: Body,
}

/// As lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskOutline {
    pub name: String,
}

impl TargetKind for TaskTarget {
    fn route(&self) -> Route {
        Route::task(&self.name)
    }

    fn body(&self) -> &Body {
        &self.payload
    }

    fn defaults(&self) -> Defaults {
        DEFAULTS
    }

    fn describe(&self, spec: &mut JobSpec) {
        spec.task = Some(self.name.clone());
    }

    fn outline(&self) -> TargetOutline {
        TargetOutline::Task(TaskOutline { name: self.name.clone() })
    }

    /// A task's kind is its name.
    fn fixed_label(&self) -> Option<&str> {
        Some(&self.name)
    }
}

impl TaskOutline {
    pub(super) fn describe(&self, asked: &mut Asked) {
        asked.task = Some(self.name.clone());
    }
}

fn read(spec: JobSpec, body: Body, _limits: &Limits, mistakes: &mut Mistakes) -> Option<Target> {
    let name = name(spec.task?, mistakes);
    Some(Target::Task(TaskTarget { name, payload: body }))
}

fn name(name: String, mistakes: &mut Mistakes) -> String {
    let fits = (1..=128).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-:/".contains(&byte));
    if !fits {
        mistakes.add("/task", format!("{name:?} is not a task name; use 1 to 128 letters, digits and . _ - : /"));
    }
    name
}
