//! How long a job waits for an idle fleet.

use std::time::Duration;

use foreman_client::State;
use tokio::time::Instant;

use super::fleet::Fleet;
use super::target::{Answer, Target};
use super::{call, state, until};

/// The longest time, of so many jobs, from before a submission until the target is called. Each is submitted when the one before
/// is done and its worker has nothing to do.
pub async fn picked_up(fleet: &Fleet, target: &Target, jobs: usize) -> Duration {
    let client = fleet.client();
    let mut slowest = Duration::ZERO;
    for _ in 0..jobs {
        let submitted = Instant::now();
        let id = client.submit(&call(&target.url(Answer::Ok))).await.unwrap().id;
        let called =
            until("it is called", async || target.calls().into_iter().find(|call| call.job == id).map(|call| call.at))
                .await;
        slowest = slowest.max(called.duration_since(submitted));
        state(&client, &id, State::Completed).await;
        until("nothing runs", async || {
            let workers = client.workers().await.ok()?.items;
            workers.iter().all(|worker| worker.running == 0).then_some(())
        })
        .await;
    }
    slowest
}
