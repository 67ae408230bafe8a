//! From the flags of a job to the job: shared by `submit` and `schedules`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;

use anyhow::Context as _;
use foreman_client::{BackoffSpec, CommandSpec, JobSpec};
use serde_json::value::RawValue;

use crate::cli::JobFlags;
use crate::exit::usage;

/// What the flags say; nothing else is set.
pub fn spec(flags: JobFlags) -> anyhow::Result<JobSpec> {
    let command = match (flags.command, flags.argv) {
        (Some(line), _) => Some(CommandSpec::Shell(line)),
        (None, argv) if argv.is_empty() => None,
        (None, argv) => Some(CommandSpec::Argv(argv)),
    };
    let backoff = BackoffSpec { base: flags.backoff_base, factor: flags.backoff_factor, cap: flags.backoff_cap };
    Ok(JobSpec {
        url: flags.url,
        command,
        task: flags.task,
        payload: flags.payload.map(payload).transpose()?,
        body: flags.body.map(|text| contents(text, "--body")).transpose()?,
        method: flags.method,
        headers: pairs(&flags.headers, "--header", &[':', '='])?,
        env: pairs(&flags.env, "--env", &['='])?,
        cwd: flags.cwd,
        exit_codes: None,
        kind: flags.kind,
        queue: flags.queue,
        priority: flags.priority,
        max_attempts: flags.max_attempts,
        backoff: (backoff != BackoffSpec::default()).then_some(backoff),
        timeout: flags.timeout,
        callback_url: flags.callback_url,
        correlation_id: flags.correlation_id,
        tags: (!flags.tags.is_empty()).then_some(flags.tags),
        ..JobSpec::default()
    })
}

/// Sent to the letter: numbers keep their digits and keys their order.
fn payload(given: String) -> anyhow::Result<Box<RawValue>> {
    let text = contents(given, "--payload")?;
    serde_json::from_str(text.trim()).map_err(|error| {
        usage(format!("--payload is not JSON: {error}; send text with --body, or quote it: '\"text\"'"))
    })
}

/// `@FILE`, `-` for standard input, or the text itself.
pub fn contents(given: String, flag: &str) -> anyhow::Result<String> {
    if given == "-" {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .with_context(|| format!("could not read standard input for {flag}"))?;
        return Ok(text);
    }
    match given.strip_prefix('@') {
        Some(file) => {
            fs::read_to_string(file).map_err(|error| usage(format!("could not read {file} for {flag}: {error}")))
        }
        None => Ok(given),
    }
}

fn pairs(given: &[String], flag: &str, separators: &[char]) -> anyhow::Result<Option<BTreeMap<String, String>>> {
    let mut map = BTreeMap::new();
    for pair in given {
        let (name, value) = pair.split_once(separators).ok_or_else(|| {
            let example = if separators.contains(&':') { "\"Name: value\"" } else { "NAME=VALUE" };
            usage(format!("{flag} {pair:?} has no value; write it like {example}"))
        })?;
        if map.insert(name.trim().to_owned(), value.trim_start().to_owned()).is_some() {
            return Err(usage(format!("{flag} {name:?} is given twice")));
        }
    }
    Ok((!map.is_empty()).then_some(map))
}
