//! Kafka and Redis together: either may lose everything, at any moment.

use std::time::Duration;

use crate::broker::shared;
use crate::redis::RedisServer;
use crate::scene::Scene;
use crate::stage::{Allowed, Fault, Mix, Role, beside, until};

#[tokio::test(flavor = "multi_thread")]
async fn with_both_jobs_travel_through_kafka_and_either_may_lose_everything() {
    let _turn = beside().await;
    let redis = RedisServer::start().await;
    let mut scene = Scene::start_with(&shared(), 2, 2, &[("REDIS_URL", &redis.url)]).await;
    scene.fleet.add(Role::Api, &[]).await;
    scene.until_it_flows().await;
    let before = scene.through_kafka().await;
    let load = scene.load(4, Duration::from_millis(5), Mix::Mixed);
    until("a hundred jobs were named by a message", async || {
        (scene.through_kafka().await - before > 100.0).then_some(())
    })
    .await;
    redis.flush().await;
    scene.fault(Fault::RedisBroken);
    scene.delete_topics().await;
    load.goes_on(100).await;
    redis.kill().await;
    scene.fault(Fault::RedisBroken);
    load.goes_on(100).await;
    redis.start_again().await;
    for process in &scene.fleet.processes {
        until(&format!("{} uses Redis again", process.name), async || {
            process.metric("foreman_redis_up").await.filter(|up| *up > 0.5)
        })
        .await;
    }
    let before = scene.through_kafka().await;
    until("jobs travel again", async || (scene.through_kafka().await > before).then_some(())).await;
    scene.fleet.assert_alive();
    scene.check(load, Allowed::NoCrashes).await;
    scene.until_drained().await;
}
