//! `foreman submit`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;

use anyhow::Context as _;
use foreman_client::{BackoffSpec, Client, CommandSpec, JobSpec};
use serde_json::value::RawValue;

use super::wait;
use crate::cli::Submit;
use crate::exit::{self, Exit, usage};
use crate::render::Screen;

pub async fn run(submit: Submit, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let (waits, timeout) = (submit.wait, submit.wait_timeout);
    let spec = spec(submit)?;
    let job = match client.submit(&spec).await.map_err(anyhow::Error::from) {
        Ok(job) => job,
        Err(error) => {
            crate::complain(&error);
            return Ok(exit::of_submission(&error));
        }
    };
    if waits {
        screen.talk(format!("accepted job {}", job.id));
        return wait::run(&job.id, timeout, client, screen).await;
    }
    if screen.is_json() {
        screen.json(&job)?;
    } else {
        screen.line(&job.id)?;
        screen.talk(format!("{} in queue {}; follow it with: foreman jobs wait {}", job.state, job.queue, job.id));
    }
    Ok(Exit::Done)
}

fn spec(submit: Submit) -> anyhow::Result<JobSpec> {
    let command = match (submit.command, submit.argv) {
        (Some(line), _) => Some(CommandSpec::Shell(line)),
        (None, argv) if argv.is_empty() => None,
        (None, argv) => Some(CommandSpec::Argv(argv)),
    };
    let backoff = BackoffSpec { base: submit.backoff_base, factor: submit.backoff_factor, cap: submit.backoff_cap };
    Ok(JobSpec {
        url: submit.url,
        command,
        task: submit.task,
        payload: submit.payload.map(payload).transpose()?,
        body: submit.body.map(|text| contents(text, "--body")).transpose()?,
        method: submit.method,
        headers: pairs(&submit.headers, "--header", &[':', '='])?,
        env: pairs(&submit.env, "--env", &['='])?,
        cwd: submit.cwd,
        exit_codes: None,
        kind: submit.kind,
        queue: submit.queue,
        priority: submit.priority,
        run_at: submit.run_at,
        delay: submit.delay,
        max_attempts: submit.max_attempts,
        backoff: (backoff != BackoffSpec::default()).then_some(backoff),
        timeout: submit.timeout,
        expires_at: submit.expires_at,
        idempotency_key: submit.idempotency_key,
        callback_url: submit.callback_url,
        correlation_id: submit.correlation_id,
        tags: (!submit.tags.is_empty()).then_some(submit.tags),
    })
}

/// Sent to the letter: numbers keep their digits and keys their order.
fn payload(given: String) -> anyhow::Result<Box<RawValue>> {
    let text = contents(given, "--payload")?;
    serde_json::from_str(text.trim()).map_err(|error| {
        usage(format!("--payload is not JSON: {error}; text goes into --body, or into quotes: '\"text\"'"))
    })
}

/// `@FILE`, `-` for standard input, or the text itself.
fn contents(given: String, flag: &str) -> anyhow::Result<String> {
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn typed(words: &[&str]) -> anyhow::Result<JobSpec> {
        let cli = Cli::try_parse_from([&["foreman", "submit"], words].concat())?;
        let Command::Submit(submit) = cli.command else { panic!("another command") };
        spec(*submit)
    }

    fn json(words: &[&str]) -> serde_json::Value {
        serde_json::to_value(typed(words).expect("valid")).expect("serializes")
    }

    #[test]
    fn what_is_typed_becomes_the_job() {
        let said = json(&[
            "--url",
            "http://127.0.0.1/x",
            "--payload",
            r#"{"n":1.0}"#,
            "-H",
            "X-A: b: c",
            "--queue",
            "mail",
            "--priority",
            "high",
            "--delay",
            "1h30m",
            "--max-attempts",
            "3",
            "--tag",
            "a",
            "--tag",
            "b",
            "--backoff-base",
            "1s",
        ]);
        let expected = serde_json::json!({
            "url": "http://127.0.0.1/x", "payload": {"n": 1.0}, "headers": {"X-A": "b: c"}, "queue": "mail",
            "priority": "high", "delay": "1h30m", "max_attempts": 3, "tags": ["a", "b"], "backoff": {"base": "1s"},
        });
        assert_eq!(said, expected);
    }

    #[test]
    fn a_line_is_for_the_shell_and_words_are_argv() {
        assert_eq!(json(&["--command", "echo $HOME"])["command"], "echo $HOME");
        assert_eq!(json(&["--env", "A=b=c", "--", "echo", "--wait"])["command"], serde_json::json!(["echo", "--wait"]));
        assert_eq!(json(&["--env", "A=b=c", "--", "env"])["env"]["A"], "b=c");
    }

    #[test]
    fn exactly_one_target_must_be_given() {
        assert!(typed(&[]).is_err());
        assert!(typed(&["--url", "http://x", "--task", "y"]).is_err());
        assert!(typed(&["--url", "http://x", "--", "echo"]).is_err());
    }

    #[test]
    fn mistakes_are_told_before_anything_is_sent() {
        for (words, expected) in [
            (vec!["--url", "http://x", "--payload", "{n:1}"], "--payload is not JSON"),
            (
                vec!["--url", "http://x", "--payload", "@/there/is/no/such/file"],
                "could not read /there/is/no/such/file",
            ),
            (vec!["--url", "http://x", "-H", "Plain"], "\"Name: value\""),
            (vec!["--task", "x", "--env", "A"], "NAME=VALUE"),
            (vec!["--task", "x", "--env", "A=1", "--env", "A=2"], "given twice"),
            (vec!["--task", "x", "--delay", "soon"], "1h30m"),
            (vec!["--task", "x", "--priority", "urgent"], "high, normal, low"),
        ] {
            let said = typed(&words).expect_err("a mistake").to_string();
            assert!(said.contains(expected), "{said}");
        }
    }
}
