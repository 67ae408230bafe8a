//! What it takes to follow the change log: the bookkeeper, and the courier where nobody, an endpoint or every job wants to be told.
//!
//! The jobs have ended before the scheduler starts, so what is timed is how it catches up; how far it is behind when workers
//! drain beside it is a line of the drain ([`behind`]).

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{CreateWebhookAnswer, NewWebhook, Store, WebhookStore};
use foreman_core::signing::SigningKeys;
use foreman_core::webhook::{Events, WebhookSettings};
use foreman_core::{TenantId, WebhookId};
use foreman_postgres::{Config, PostgresStore};
use tokio::time::{Instant, sleep};
use tokio_postgres::Client;

use super::costs::{Meter, per_job};
use super::fleet::{Fleet, Size};
use super::server::{Database, Server};
use crate::floor;
use crate::jobs::{JobMaker, NOOP};
use crate::load::per_second;
use crate::report::{Figure, millis, rate};

const PATIENCE: Duration = Duration::from_mins(5);
const SCHEDULER: Size = Size { workers: 0, slots: 1, has_api: false };

/// Who wants to hear of the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audience {
    Nobody,
    Endpoint,
    Callbacks,
}

impl Audience {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Nobody, "followed, no webhooks"),
        (Self::Endpoint, "followed, an endpoint for every event"),
        (Self::Callbacks, "followed, a callback per job"),
    ];

    async fn gather(self, store: &dyn WebhookStore, maker: JobMaker) -> Result<JobMaker> {
        let url = "http://127.0.0.1:9/told";
        match self {
            Self::Nobody => return Ok(maker),
            Self::Callbacks => return Ok(maker.with_callback(url)),
            Self::Endpoint => {}
        }
        let (url, events) = (url.parse()?, Events::parse(["*"])?);
        let settings = WebhookSettings { url, events, description: String::new(), disabled: None };
        let (tenant, signing) = (TenantId::new("default"), SigningKeys::default());
        let new = NewWebhook { id: WebhookId::fresh(), tenant, settings, signing, at_most: 1 };
        let answer = store.create_webhook(&new).await?;
        ensure!(matches!(answer, CreateWebhookAnswer::Created(_)), "the endpoint was not created");
        Ok(maker)
    }
}

/// Endings per second, and what each costs.
pub async fn measure(server: &Server, jobs: usize) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (audience, what) in Audience::ALL {
        figures.extend(catch_up(server, audience, what, jobs).await?);
    }
    Ok(figures)
}

async fn catch_up(server: &Server, audience: Audience, what: &str, jobs: usize) -> Result<Vec<Figure>> {
    let database = server.database().await?;
    let meter = Meter::new(&database).await?;
    let mut sql = database.connect().await?;
    // A courier tells of what ends after it first came.
    let fleet = Fleet::start(&database, SCHEDULER).await?;
    until_followed(&sql, 0).await?;
    fleet.stop().await?;
    let store = PostgresStore::open(Config::at(&database.url), Arc::new(LocalWakeups::new())).await?;
    let maker = audience.gather(&store, JobMaker::of_task(NOOP)?).await?;
    let store: Arc<dyn Store> = Arc::new(store);
    floor::fill(&store, &maker, jobs).await?;
    floor::drain(&store, &maker.route(), jobs).await?;
    let end = last_position(&sql).await?;
    database.checkpoint().await?;
    // Nobody reads before the clock starts.
    let held = sql.transaction().await?;
    held.batch_execute("LOCK TABLE changes IN ACCESS EXCLUSIVE MODE").await?;
    let fleet = Fleet::start(&database, SCHEDULER).await?;
    let before = meter.read(Some(&fleet)).await?;
    let start = Instant::now();
    held.commit().await?;
    let took = until_followed(&sql, end).await?;
    let after = meter.read(Some(&fleet)).await?;
    let all = start.elapsed();
    fleet.stop().await?;
    database.remove().await?;
    let mut figures = vec![rate(what, per_second(jobs, all), None)];
    for (follower, took) in took {
        figures.push(rate(format!("{what}: {follower}, endings per second"), per_second(jobs, took), None));
    }
    figures.extend(per_job(what, &before, &after, jobs));
    Ok(figures)
}

/// How long after this moment each follower has read what is in the log now. Bookkeeper and courier rest for up to a second
/// between two looks or moves.
pub async fn behind(database: &Database, what: &str) -> Result<Vec<Figure>> {
    let sql = database.connect().await?;
    let end = last_position(&sql).await?;
    let took = until_followed(&sql, end).await?;
    let figure = |(name, took): (String, Duration)| {
        millis(format!("{what}: {name} behind at the end"), took.as_secs_f64() * 1e3, None)
    };
    Ok(took.into_iter().map(figure).collect())
}

async fn last_position(sql: &Client) -> Result<i64> {
    Ok(sql.query_one("SELECT coalesce(max(position), 0) FROM changes", &[]).await?.get(0))
}

/// When each of the two was there.
async fn until_followed(sql: &Client, end: i64) -> Result<Vec<(String, Duration)>> {
    let (start, mut there) = (Instant::now(), Vec::<(String, Duration)>::new());
    while there.len() < 2 {
        ensure!(start.elapsed() < PATIENCE, "the followers did not get to the end of the log in time");
        sleep(Duration::from_millis(5)).await;
        let found =
            sql.query("SELECT name FROM followers WHERE position >= $1 AND holds_log ORDER BY name", &[&end]).await?;
        for name in found.iter().map(|row| row.get::<_, String>(0)) {
            if !there.iter().any(|(known, _)| *known == name) {
                there.push((name, start.elapsed()));
            }
        }
    }
    there.sort();
    Ok(there)
}
