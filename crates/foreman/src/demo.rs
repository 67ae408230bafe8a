//! `foreman dev --demo`: fills the server with a lively mix, for a first look and for pictures.
//!
//! It is a client like any other: it submits over HTTP to the server that it lives in, whose own `/dev/` addresses are what its
//! jobs call. Every number that the dashboard shows is counted from these jobs, so charts begin when the demo begins. It
//! never fills a store: what it makes ends within the hour, a backlog is topped up to a mark, and the demo keeps finished
//! jobs for an hour.
//!
//! Started again on the same file it finds what it made and adds only what is missing: schedules have names, the webhook its address,
//! the first jobs keys. It dies with its server, and half of a stage is completed by the next start. One that
//! cannot reach its own server says so and tries again.

mod dice;
mod mix;
mod stage;

use std::net::SocketAddr;
use std::time::Duration;

use foreman_client::Client;
use foreman_runtime::{Backoff, Shutdown};
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use crate::config::Settings;
use dice::Dice;
use mix::Mix;
use stage::DemoStage;

/// Between two jobs of the trickle: three a second, more or less.
const BETWEEN: (u64, u64) = (120, 520);
/// How often it is looked whether the stage is still as it should be.
const LOOK: Duration = Duration::from_secs(20);

/// What was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demo {
    /// The same seed picks the same jobs in the same order.
    pub seed: Option<u64>,
}

impl Demo {
    /// What a demo keeps is small. Whoever set something else is obeyed: only what is at its default is changed.
    pub fn adjust(settings: &mut Settings) {
        const HOUR: Duration = Duration::from_hours(1);
        let defaults = Settings::default().pruner.retention;
        let retention = &mut settings.pruner.retention;
        for (kept, default, short) in [
            (&mut retention.completed, defaults.completed, HOUR),
            (&mut retention.cancelled, defaults.cancelled, HOUR * 3),
            (&mut retention.failed, defaults.failed, HOUR * 6),
            (&mut retention.dead, defaults.dead, HOUR * 12),
        ] {
            if *kept == default {
                *kept = Some(short);
            }
        }
    }

    /// Until the server drains.
    pub async fn run(self, address: SocketAddr, settings: Settings, shutdown: Shutdown) {
        let player = match Player::new(self, address, &settings) {
            Ok(player) => player,
            Err(error) => return warn!("could not start the demo: {error}"),
        };
        tokio::select! {
            () = shutdown.draining() => {}
            () = player.play() => {}
        }
    }
}

struct Player {
    client: Client,
    stage: DemoStage,
    mix: Mix,
    dice: Dice,
}

impl Player {
    fn new(demo: Demo, address: SocketAddr, settings: &Settings) -> Result<Self, foreman_client::Error> {
        // What listens everywhere is called here.
        let host = if address.ip().is_unspecified() { "127.0.0.1".into() } else { address.ip().to_string() };
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        let url = format!("http://{host}:{}", address.port());
        let key = settings.admin_key.as_ref().map(foreman_core::secret::Secret::reveal);
        let client = Client::new(&url, key)?;
        let seed = demo.seed.unwrap_or_else(Dice::random_seed);
        info!("demo: submitting a mix of jobs with seed {seed}");
        Ok(Self {
            stage: DemoStage {
                client: client.clone(),
                url: url.clone(),
                has_commands: settings.commands.allow,
                has_begun: false,
            },
            mix: Mix { url, has_commands: settings.commands.allow },
            client,
            dice: Dice::new(seed),
        })
    }

    async fn play(mut self) {
        let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));
        let mut looked: Option<Instant> = None;
        loop {
            let done = if looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
                let set = self.stage.set(&mut self.dice).await;
                looked = set.is_ok().then(Instant::now);
                set
            } else {
                self.submit_one().await
            };
            match done {
                Ok(()) => {
                    backoff.reset();
                    sleep(Duration::from_millis(self.dice.between(BETWEEN.0, BETWEEN.1))).await;
                }
                Err(error) => {
                    warn!("demo: {error}; retrying");
                    sleep(backoff.next()).await;
                }
            }
        }
    }

    async fn submit_one(&mut self) -> Result<(), foreman_client::Error> {
        let (spec, then) = self.mix.next(&mut self.dice);
        let job = match self.client.submit(&spec).await {
            Err(error) if spec.command.is_some() && matches!(error.status(), Some(400..=499)) => {
                info!("the demo runs without commands: {error}");
                self.mix.has_commands = false;
                return Ok(());
            }
            submitted => submitted?,
        };
        if then == mix::Then::Cancel {
            // It may have ended by then.
            match self.client.cancel(&job.id).await {
                Err(error) if error.status() == Some(409) => {}
                cancelled => return cancelled.map(drop),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_demo_keeps_little_and_obeys_whoever_set_something_else() {
        let mut settings = Settings::default();
        settings.pruner.retention.failed = None;
        Demo::adjust(&mut settings);
        let kept = settings.pruner.retention;
        assert_eq!((kept.completed, kept.failed), (Some(Duration::from_hours(1)), None));
        assert!(kept.dead.is_some(), "which a server keeps for ever");
    }
}
