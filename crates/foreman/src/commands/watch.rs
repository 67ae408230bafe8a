//! `foreman watch`: what happens, a line each, as it happens.
//!
//! It follows the server's stream and outlives its restarts: what happened meanwhile is printed when it is back. Breaks are
//! said on standard error, so that standard output stays what it is. With `--until-final` it leaves when none of the jobs is
//! unfinished: those named, or those that match, the ones that come while it watches included.

mod until_final;

use std::io::{self, Write as _};

use foreman_client::{Client, Event, Follow, StreamItem};
use foreman_core::duration::Span;
use foreman_core::job::QueueName;
use tokio::time::{Instant, sleep_until};

use crate::cli::Watch;
use crate::exit::Exit;
use crate::lifecycle;
use crate::render::{Screen, event_json, event_line};
use until_final::Finals;

/// More than anybody watches.
const FOR_EVER: std::time::Duration = std::time::Duration::from_hours(24 * 365 * 10);

pub async fn run(watch: &Watch, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let mut finals = watch.until_final.then(|| Finals::new(watch, client));
    let mut stream = match client.stream(follow(watch)).await {
        Err(error) if error.status() == Some(404) => {
            return Err(
                anyhow::Error::from(error).context("this server has no event stream; it may be an older version")
            );
        }
        opened => opened?,
    };
    let deadline = Instant::now() + watch.timeout.map_or(FOR_EVER, |span| span.0);
    let mut printer = Printer::new(watch, screen);
    let mut interrupted = std::pin::pin!(lifecycle::interrupted());
    let left = loop {
        let item = tokio::select! {
            biased;
            () = &mut interrupted => break WatchEnd::Interrupted,
            () = sleep_until(deadline) => break WatchEnd::TimedOut,
            item = stream.next() => item?,
        };
        let StreamItem::Event(received) = item else {
            printer.say_break(&item);
            continue;
        };
        // Deliveries of webhooks are jobs too; only someone who names their queue wants to see them.
        let is_internal =
            matches!(&received.event, Event::Job(job) if QueueName::from_stored(&job.queue).is_internal());
        if is_internal && watch.queues.is_empty() && watch.jobs.is_empty() {
            continue;
        }
        printer.print(received.cursor.as_deref(), &received.event)?;
        if let Some(finals) = &mut finals
            && finals.note(&received.event).await?
        {
            break WatchEnd::AllFinal;
        }
    };
    match (left, finals) {
        (WatchEnd::AllFinal, Some(finals)) => {
            screen.talk(finals.say());
            Ok(finals.exit())
        }
        (WatchEnd::Interrupted, None) => {
            if let Some(cursor) = stream.cursor() {
                screen.talk(format!("stopped; resume from here with --after {cursor}"));
            }
            Ok(Exit::Done)
        }
        (_, finals) => {
            let said = finals.map_or_else(String::new, |finals| finals.say());
            screen.talk(format!("stopped waiting: {said}; the jobs continue"));
            Ok(Exit::TimedOut)
        }
    }
}

enum WatchEnd {
    Interrupted,
    TimedOut,
    AllFinal,
}

fn follow(watch: &Watch) -> Follow {
    let mut follow = Follow::everything().jobs(&watch.jobs);
    follow = watch.queues.iter().fold(follow, Follow::queue);
    follow = watch.kinds.iter().fold(follow, Follow::kind);
    follow = watch.tags.iter().fold(follow, Follow::tag);
    if watch.snapshot || watch.until_final {
        follow = follow.with_snapshot();
    }
    match &watch.after {
        Some(cursor) => follow.after(cursor),
        None => follow,
    }
}

struct Printer<'a> {
    screen: &'a Screen,
    is_json: bool,
    /// How things stood before was not asked for.
    is_hushed: bool,
}

impl<'a> Printer<'a> {
    fn new(watch: &Watch, screen: &'a Screen) -> Self {
        let is_hushed = watch.until_final && !watch.snapshot && watch.jobs.is_empty();
        Self { screen, is_json: watch.json || screen.is_json(), is_hushed }
    }

    fn print(&mut self, cursor: Option<&str>, event: &Event) -> io::Result<()> {
        let was_hushed = self.is_hushed;
        match event {
            Event::Snapshot(snapshot) => {
                self.is_hushed = false;
                if !snapshot.complete && !was_hushed {
                    self.screen.talk(format!("showing the newest {} jobs; there are older ones", snapshot.jobs));
                }
            }
            Event::Reset(reset) => self.screen.talk(format!("events may have been missed: {}", reset.detail)),
            _ => {}
        }
        if was_hushed {
            return Ok(());
        }
        if self.is_json {
            return event_json(cursor, event).map_or(Ok(()), |line| self.screen.line(line));
        }
        event_line(self.screen, event).map_or(Ok(()), |line| self.screen.line(line))
    }

    fn say_break(&self, item: &StreamItem) {
        match item {
            StreamItem::Broken { why, pause } => {
                // Whoever reads along sees what was printed before what is said about it.
                let _ = io::stdout().flush();
                let pause =
                    Span(std::time::Duration::from_millis(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)));
                self.screen.talk(format!("the stream was interrupted: {why}; retrying in {pause}"));
            }
            StreamItem::Resumed => self.screen.talk("the stream is back; missed events follow"),
            StreamItem::Event(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn typed(words: &[&str]) -> Result<Watch, clap::Error> {
        let cli = Cli::try_parse_from([&["foreman", "watch"], words].concat())?;
        let Command::Watch(watch) = cli.command else { panic!("another command") };
        Ok(watch)
    }

    #[test]
    fn what_is_typed_is_followed() {
        let watch = typed(&["a", "b", "--queue", "mail", "--tag", "x", "--tag", "y", "--until-final"]).expect("valid");
        let follow = format!("{:?}", follow(&watch));
        for part in [r#"jobs: ["a", "b"]"#, r#"queues: ["mail"]"#, r#"tags: ["x", "y"]"#, "snapshot: true"] {
            assert!(follow.contains(part), "{part}: {follow}");
        }
    }

    #[test]
    fn a_place_to_go_on_from_is_no_look_at_how_things_stand() {
        assert!(typed(&["--after", "1-5"]).is_ok());
        assert!(typed(&["--after", "1-5", "--snapshot"]).is_err());
        assert!(typed(&["--after", "1-5", "--until-final"]).is_err());
        assert!(typed(&["--timeout", "5s"]).is_err(), "of what?");
    }
}
