//! `foreman jobs output`: what a command has printed, while it runs and after.

use std::time::Duration;

use foreman_client::{Client, JobDocument, OutputChunk, OutputStream};

use crate::cli::Outputs;
use crate::exit::Exit;
use crate::render::{Screen, result_of, summary};

/// Between two looks at a running command.
const PAUSE: Duration = Duration::from_millis(200);

pub async fn run(outputs: &Outputs, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let mut job = client.get(&outputs.id).await?;
    if job.state.is_final() {
        tell_record(&job, screen)?;
        return Ok(Exit::Done);
    }
    let mut live = Live::new(&outputs.id, client, screen);
    loop {
        live.look(&job).await?;
        if !outputs.follow || job.state.is_final() {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        // Looked at before the lines are read: those of a job that is final by now are all there, for a moment.
        job = client.get(&outputs.id).await?;
    }
    match (live.has_shown, job.state.is_final()) {
        (true, _) => {}
        (false, true) => return tell_record(&job, screen).map(|()| Exit::Done),
        (false, false) => screen.talk("no output yet"),
    }
    screen.talk(summary(&job));
    Ok(Exit::Done)
}

/// Reads on where it stopped, attempt by attempt.
struct Live<'a> {
    id: &'a str,
    client: &'a Client,
    screen: &'a Screen,
    attempt: u32,
    after: u64,
    has_shown: bool,
}

impl<'a> Live<'a> {
    fn new(id: &'a str, client: &'a Client, screen: &'a Screen) -> Self {
        Self { id, client, screen, attempt: 0, after: 0, has_shown: false }
    }

    async fn look(&mut self, job: &JobDocument) -> anyhow::Result<()> {
        if job.attempt != self.attempt {
            // A new attempt prints from its own beginning.
            (self.attempt, self.after) = (job.attempt, 0);
        }
        let chunk = match self.client.output(self.id, self.after).await {
            // Nothing of it runs at this moment.
            Err(error) if error.status() == Some(404) => return Ok(()),
            answer => answer?,
        };
        self.tell(&chunk)?;
        self.after = chunk.next_line;
        Ok(())
    }

    fn tell(&mut self, chunk: &OutputChunk) -> anyhow::Result<()> {
        if self.screen.is_json() {
            self.has_shown = true;
            return self.screen.json(chunk);
        }
        if chunk.first_line > self.after {
            self.screen.talk(format!(
                "({} lines were skipped: the command printed faster than they could be read)",
                chunk.first_line - self.after
            ));
        }
        for line in &chunk.lines {
            self.has_shown = true;
            match line.stream {
                OutputStream::Stdout => self.screen.line(&line.text)?,
                OutputStream::Stderr => self.screen.talk(&line.text),
            }
        }
        Ok(())
    }
}

/// What is kept of the last attempt.
fn tell_record(job: &JobDocument, screen: &Screen) -> anyhow::Result<()> {
    if screen.is_json() {
        return screen.json(job);
    }
    let (out, errors) = result_of(job);
    screen.raw(&out)?;
    if !errors.is_empty() {
        screen.talk(errors.trim_end_matches('\n'));
    }
    screen.talk(summary(job));
    Ok(())
}
