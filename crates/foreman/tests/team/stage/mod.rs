//! What the tests stand on: a database, a fleet of real processes, a target that they call, load, and the checker.

#[path = "../../it/stage/binary.rs"]
pub mod binary;
mod checker;
mod cluster;
mod database;
mod dice;
mod faults;
mod fleet;
mod forwarder;
mod load;
mod pickup;
mod pooler;
pub mod ports;
mod process;
mod target;
mod turn;
mod watcher;
pub mod wire;

use std::time::Duration;

use foreman_client::{BackoffSpec, Client, JobDocument, JobSpec, State};
use tokio::time::{Instant, sleep};

pub use checker::{Allowed, Checker};
pub use cluster::Cluster;
pub use database::{Database, Sql};
pub use dice::Dice;
pub use faults::Fault;
pub use fleet::{Fleet, Pace, Plan};
pub use forwarder::Forwarder;
pub use load::{Load, Mix};
pub use pickup::picked_up;
pub use pooler::Pooler;
pub use process::{Process, Role};
pub use target::{Answer, Target};
pub use turn::{alone, beside};
pub use watcher::Watcher;

/// Far more than anything here needs; a wait that reaches it has failed.
pub const LONG: Duration = Duration::from_secs(90);

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

/// A call of `url` that is tried again soon.
pub fn call(url: &str) -> JobSpec {
    let soon = Some("50ms".parse().unwrap());
    JobSpec {
        url: Some(url.into()),
        backoff: Some(BackoffSpec { base: soon, factor: Some(1.0), cap: soon }),
        max_attempts: Some(50),
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
