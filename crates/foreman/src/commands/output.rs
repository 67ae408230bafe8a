//! `foreman jobs output`: what a command has printed, while it runs and after.

use std::time::Duration;

use foreman_client::{Client, OutputChunk, OutputStream};

use crate::cli::Outputs;
use crate::exit::Exit;
use crate::render::{Screen, result_of, summary};

/// Between two looks at a running command.
const PAUSE: Duration = Duration::from_millis(300);

pub async fn run(outputs: &Outputs, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let mut job = client.get(&outputs.id).await?;
    let mut after = 0;
    let mut has_shown = false;
    // The attempt under way, live. Lines printed between the last look and its end are in the record below.
    while !job.state.is_final() {
        let chunk = match client.output(&outputs.id, after).await {
            // Nothing of it runs at this moment: it waits, or has just ended.
            Err(error) if error.status() == Some(404) => OutputChunk { next_line: after, ..OutputChunk::default() },
            answer => answer?,
        };
        if screen.is_json() && !outputs.follow {
            screen.json(&chunk)?;
            return Ok(Exit::Done);
        }
        for line in &chunk.lines {
            has_shown = true;
            match line.stream {
                OutputStream::Stdout => screen.line(&line.text)?,
                OutputStream::Stderr => screen.talk(&line.text),
            }
        }
        after = chunk.next_line;
        if !outputs.follow {
            if !has_shown {
                screen.talk(format!("nothing yet: {}", summary(&job)));
            }
            return Ok(Exit::Done);
        }
        tokio::time::sleep(PAUSE).await;
        job = client.get(&outputs.id).await?;
    }
    if screen.is_json() {
        screen.json(&job)?;
        return Ok(Exit::Done);
    }
    let (out, errors) = result_of(&job);
    if has_shown {
        let seen = usize::try_from(after).unwrap_or(usize::MAX);
        // Both streams count into one number; only a command that used one of them can be continued line by line.
        if errors.is_empty() {
            for line in out.lines().skip(seen) {
                screen.line(line)?;
            }
        } else {
            screen.talk("it ended; `foreman jobs output` prints the whole record");
        }
    } else {
        screen.raw(&out)?;
        if !errors.is_empty() {
            screen.talk(errors.trim_end_matches('\n'));
        }
    }
    screen.talk(summary(&job));
    Ok(Exit::Done)
}
