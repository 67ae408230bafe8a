//! `foreman submit`.

use foreman_client::{Client, JobSpec};

use super::{job, wait};
use crate::cli::Submit;
use crate::exit::{self, Exit};
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
    for hint in &job.hints {
        screen.talk(format!("hint: {}", hint.detail));
    }
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
    Ok(JobSpec {
        run_at: submit.run_at,
        delay: submit.delay,
        expires_at: submit.expires_at,
        idempotency_key: submit.idempotency_key,
        ..job::spec(submit.job)?
    })
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
