//! What is there before the trickle begins, and is kept there: schedules, a webhook, a paused queue with a backlog, work for
//! later, and a first handful of everything so that no page is empty.

use foreman_client::{BatchItem, Client, Error, JobSpec, ScheduleSpec, WebhookSpec};
use serde_json::{Value, json};

use super::dice::Dice;
use super::mix::Mix;

/// What waits in the paused queue.
const BACKLOG: u64 = 48;
/// What waits for its time, tomorrow and later.
const PLANNED: usize = 12;
/// Of each kind of the first jobs.
const FIRST_DEAD: u64 = 14;
const FIRST_LATER: usize = 8;
const FIRST_MIXED: usize = 60;
const FIRST_CANCELLED: usize = 3;

const PAUSED: &str = "imports";

pub struct DemoStage {
    pub client: Client,
    pub url: String,
    pub has_commands: bool,
    /// The first jobs are there.
    pub has_begun: bool,
}

impl DemoStage {
    /// Makes what is missing.
    pub async fn set(&mut self, dice: &mut Dice) -> Result<(), Error> {
        self.schedules().await?;
        self.webhook().await?;
        self.backlog(dice).await?;
        if !self.has_begun {
            self.first_jobs().await?;
            self.has_begun = true;
        }
        Ok(())
    }

    async fn schedules(&self) -> Result<(), Error> {
        let specs = [
            json!({"name": "check-health", "every": "7s", "job": {"url": format!("{}/dev/echo", self.url), "queue": "reports",
                   "kind": "health-check", "tags": ["internal"], "payload": {"checks": ["database", "payments", "search"]}}}),
            json!({"name": "weekday-digest", "cron": "30 8 * * MON-FRI", "timezone": "Europe/Berlin",
                   "job": {"url": format!("{}/dev/echo", self.url), "queue": "mail", "kind": "digest-mail", "tags": ["customer"],
                           "payload": {"to": "everyone@example.com"}}}),
            json!({"name": "quarterly-cleanup", "cron": "0 3 1 */3 *", "timezone": "America/New_York", "overlap": "skip",
                   "job": {"url": format!("{}/dev/echo", self.url), "queue": "reports", "kind": "cleanup", "tags": ["internal"],
                           "payload": {"older_than": "90d"}}}),
        ];
        for spec in specs {
            let spec: ScheduleSpec = read(&spec);
            match self.client.schedule(&spec.name).await {
                Err(error) if error.status() == Some(404) => {
                    self.client.create_schedule(&spec).await?;
                    if spec.name == "quarterly-cleanup" {
                        self.client.pause_schedule(&spec.name).await?;
                    }
                }
                found => drop(found?),
            }
        }
        Ok(())
    }

    async fn webhook(&self) -> Result<(), Error> {
        const ABOUT: &str = "webhook of the demo";
        let url = format!("{}/dev/echo", self.url);
        let all = self.client.webhooks(100, None).await?.items;
        match all.iter().find(|webhook| webhook.description == ABOUT) {
            Some(webhook) if webhook.url == url => Ok(()),
            // The server has moved to another port since.
            Some(webhook) => {
                let patch = foreman_client::WebhookPatch { url: Some(url), ..Default::default() };
                self.client.update_webhook(&webhook.id, &patch, None).await.map(drop)
            }
            None => {
                let events = vec!["job.dead".into(), "job.failed".into()];
                let spec = WebhookSpec { url, events, description: Some(ABOUT.into()), enabled: None };
                match self.client.create_webhook(&spec).await {
                    // Without a master key no secret can be sealed, and there is no webhook.
                    Err(error) if error.status().is_some_and(|status| status < 500) => {
                        tracing::info!("the demo runs without a webhook: {error}");
                        Ok(())
                    }
                    made => made.map(drop),
                }
            }
        }
    }

    async fn backlog(&self, dice: &mut Dice) -> Result<(), Error> {
        let queues = self.client.queues().await?.items;
        let queue = queues.iter().find(|queue| queue.name == PAUSED);
        if queue.is_none() {
            self.client.pause(PAUSED).await?;
        } else if queue.is_some_and(|queue| !queue.paused) {
            // Somebody tried the button. Let them see what it does.
            return Ok(());
        }
        let missing = BACKLOG.saturating_sub(queue.map_or(0, |queue| queue.pending));
        let mix = self.mix();
        let jobs: Vec<JobSpec> = (0..missing).map(|_| mix.import(dice)).collect();
        self.submit(jobs).await
    }

    /// Under keys: whoever starts again within a day finds them, and makes none twice. Chosen by dice of their own, so that
    /// a key always stands for the same job.
    async fn first_jobs(&self) -> Result<(), Error> {
        let (mix, mut dice) = (self.mix(), Dice::new(1));
        let mut jobs = Vec::new();
        for number in 0..FIRST_DEAD {
            jobs.push(keyed(mix.hopeless(number, &mut dice), &format!("demo-dead-{number}")));
        }
        for number in 0..FIRST_LATER {
            jobs.push(keyed(mix.later(&mut dice), &format!("demo-later-{number}")));
        }
        for number in 0..PLANNED {
            let spec = json!({"url": format!("{}/dev/echo", self.url), "queue": "reports", "kind": "renewal", "tags": ["money"],
                              "delay": format!("{}m", 30 + number * 45), "idempotency_key": format!("demo-planned-{number}"),
                              "correlation_id": format!("contract-{}", 400 + number), "payload": {"contract": 400 + number}});
            jobs.push(read(&spec));
        }
        for number in 0..FIRST_MIXED {
            let (spec, _) = Mix { has_commands: false, ..self.mix() }.next(&mut dice);
            jobs.push(keyed(spec, &format!("demo-first-{number}")));
        }
        self.submit(jobs).await?;
        let regretted = |number| keyed(mix.regretted(&mut Dice::new(2)), &format!("demo-regretted-{number}"));
        let made = self.client.submit_batch((0..FIRST_CANCELLED).map(regretted).collect()).await?;
        for job in made.iter().filter_map(BatchItem::job).filter(|job| !job.state.is_final()) {
            self.client.cancel(&job.id).await?;
        }
        Ok(())
    }

    /// One that is refused holds up no other: a key of an earlier start stands for a call to an earlier port.
    async fn submit(&self, jobs: Vec<JobSpec>) -> Result<(), Error> {
        if jobs.is_empty() { Ok(()) } else { self.client.submit_batch(jobs).await.map(drop) }
    }

    fn mix(&self) -> Mix {
        Mix { url: self.url.clone(), has_commands: self.has_commands }
    }
}

fn keyed(spec: JobSpec, key: &str) -> JobSpec {
    JobSpec { idempotency_key: Some(key.into()), ..spec }
}

fn read<T: serde::de::DeserializeOwned>(fields: &Value) -> T {
    // By way of text, for a payload is kept to the letter.
    serde_json::from_str(&fields.to_string()).expect("written above, and made by every demo that a test starts")
}
