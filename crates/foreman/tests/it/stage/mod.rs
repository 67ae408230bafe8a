//! What the tests stand on: the binary, a server, and a target that it calls.

mod binary;
mod database;
mod server;
mod target;

use std::collections::BTreeMap;
use std::time::Duration;

use foreman_client::{Client, FilterDocument, JobDocument, JobSpec, State};
use tokio::time::{Instant, sleep};

pub use binary::{Said, foreman_of, run};
pub use database::Database;
pub use server::{Server, Stage};
pub use target::{Target, get};

/// Far more than anything here needs; a wait that reaches it has failed.
pub const LONG: Duration = Duration::from_mins(1);

/// Asks until the answer is yes.
pub async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(start.elapsed() < LONG, "waited in vain until {what}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Every job there is, when all of them have ended. Read one by one: a count goes from state to state, and may miss a job that does
/// so too.
pub async fn all_ended(client: &Client) -> BTreeMap<String, JobDocument> {
    until("all jobs have ended", async || {
        let mut pages = client.pages(FilterDocument::default());
        let mut jobs = BTreeMap::new();
        while let Some(page) = pages.next().await.unwrap() {
            jobs.extend(page.into_iter().map(|job| (job.id.clone(), job)));
        }
        jobs.values().all(|job| job.state.is_final()).then_some(jobs)
    })
    .await
}

/// A call of `url` that is tried again soon.
pub fn call(url: &str) -> JobSpec {
    JobSpec { url: Some(url.into()), backoff: Some(soon()), ..JobSpec::default() }
}

pub fn soon() -> foreman_client::BackoffSpec {
    foreman_client::BackoffSpec {
        base: Some("50ms".parse().unwrap()),
        factor: Some(1.0),
        cap: Some("50ms".parse().unwrap()),
    }
}

pub fn command(line: &str) -> JobSpec {
    JobSpec {
        command: Some(foreman_client::CommandSpec::Shell(line.into())),
        backoff: Some(soon()),
        ..JobSpec::default()
    }
}

/// Waits until a job is in this state.
pub async fn state(client: &Client, id: &str, wanted: State) -> JobDocument {
    until(&format!("job {id} is {wanted}"), async || client.get(id).await.ok().filter(|job| job.state == wanted)).await
}

/// More of everything, when somebody asked for it.
pub fn torture() -> bool {
    #[expect(clippy::disallowed_methods, reason = "this is for the tests alone")]
    std::env::var_os("FOREMAN_TORTURE").is_some_and(|value| !value.is_empty() && value != "0")
}
