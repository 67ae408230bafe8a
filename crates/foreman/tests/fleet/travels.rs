//! Jobs through Kafka, when nothing is wrong.

use std::time::Duration;

use foreman_client::{JobSpec, Lane, NewTenantDocument, State};
use tokio::time::{Instant, sleep_until};

use crate::broker::shared;
use crate::scene::Scene;
use crate::stage::{Allowed, Answer, Fault, Mix, Role, beside, call, torture, until};

#[tokio::test(flavor = "multi_thread")]
async fn jobs_travel_through_kafka_with_two_relays_and_workers_that_join_and_leave() {
    let _turn = beside().await;
    let mut scene = Scene::start(&shared(), 2, 2).await;
    scene.until_it_flows().await;
    let before = scene.metric(Role::Relay, "foreman_relay_acknowledged_total").await;
    let load = scene.load(4, Duration::from_millis(10), Mix::Mixed);
    // In the long version one joins or leaves every five seconds, for a minute.
    let (rounds, every) = if torture() { (6, Duration::from_secs(5)) } else { (3, Duration::ZERO) };
    let mut next = Instant::now() + every;
    for _ in 0..rounds {
        load.goes_on(200).await;
        sleep_until(next).await;
        let guest = scene.fleet.add(Role::Worker, &["--slots", "4"]).await;
        scene.fault(Fault::WorkerJoined);
        load.goes_on(200).await;
        sleep_until(next + every).await;
        assert_eq!(scene.fleet.stop(guest).await, Some(0));
        scene.fleet.processes.remove(guest);
        next += every * 2;
    }
    let accepted = load.accepted();
    let sent = scene.metric(Role::Relay, "foreman_relay_acknowledged_total").await - before;
    assert!(sent > accepted as f64 * 0.5, "{sent} of {accepted} jobs were announced: most must travel through Kafka");
    scene.fleet.assert_alive();
    scene.check(load, Allowed::NoCrashes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_high_job_starts_ahead_of_ten_thousand_low_ones() {
    let _turn = beside().await;
    let scene = Scene::start(&shared(), 1, 1).await;
    scene.until_it_flows().await;
    let client = scene.client();
    let url = scene.target.url(Answer::Slow(5));
    let low = JobSpec { priority: Some(Lane::Low), ..call(&url) };
    for _ in 0..10 {
        let answers = client.submit_batch(vec![low.clone(); 1_000]).await.unwrap();
        assert_eq!(answers.len(), 1_000);
    }
    let high =
        client.submit(&JobSpec { priority: Some(Lane::High), ..call(&scene.target.url(Answer::Ok)) }).await.unwrap();
    let begun = Instant::now();
    let before = scene.target.count();
    let done = client.wait(&high.id, Some(Duration::from_secs(30))).await.unwrap();
    assert_eq!(done.state, State::Completed);
    let overtook = scene.target.count() - before;
    assert!(overtook < 1_000, "{overtook} low jobs ran first, for {:?}: {done:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_burst_of_ten_thousand_holds_up_no_job_of_another() {
    let _turn = beside().await;
    let scene = Scene::start(&shared(), 2, 1).await;
    scene.until_it_flows().await;
    let client = scene.client();
    let single = NewTenantDocument { id: "single".into(), ..NewTenantDocument::default() };
    client.create_tenant(&single).await.unwrap();
    let single = client.for_tenant("single").unwrap();
    let burst = call(&scene.target.url(Answer::Slow(5)));
    for _ in 0..10 {
        let answers = client.submit_batch(vec![burst.clone(); 1_000]).await.unwrap();
        assert_eq!(answers.len(), 1_000);
    }
    let mut overtook = Vec::new();
    while overtook.len() < 5 {
        // In the thick of it, with messages of the burst in every partition.
        let before = scene.target.count();
        until("the burst goes on", async || (scene.target.count() > before + 20).then_some(())).await;
        let before = scene.target.count();
        let job = single.submit(&call(&scene.target.url(Answer::Ok))).await.unwrap();
        let done = single.wait(&job.id, Some(Duration::from_secs(30))).await.unwrap();
        assert_eq!(done.state, State::Completed);
        overtook.push(scene.target.count() - before);
    }
    assert!(scene.target.count() < 10_000, "the burst was over before the last single job: {overtook:?}");
    overtook.sort_unstable();
    assert!(overtook[2] < 500, "so many jobs of the burst ran before each single job: {overtook:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_in_one_process_with_exported_variables_alone() {
    let _turn = beside().await;
    let database = crate::stage::Database::fresh().await;
    let directory = tempfile::tempdir().unwrap();
    let address = format!("127.0.0.1:{}", crate::stage::ports::free());
    let mut command = crate::stage::binary::foreman(directory.path());
    command.args(["dev", "--listen", &address]);
    command.env("DATABASE_URL", &database.url).env("KAFKA_BROKERS", shared());
    command.env("FOREMAN_KAFKA_TOPICS", format!("dev.{}", std::process::id()));
    command.env("FOREMAN_KAFKA_GROUP", format!("dev.{}", std::process::id()));
    let mut child = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    until("it is ready", async || {
        crate::stage::wire::get(&address, "/readyz").await.ok().filter(|answer| answer.status == 200)
    })
    .await;
    let client = foreman_client::Client::new(&format!("http://{address}"), None).unwrap();
    let echo = format!("http://{address}/dev/echo");
    until("a job went through Kafka", async || {
        let job = client.submit(&call(&echo)).await.ok()?;
        let done = client.wait(&job.id, Some(Duration::from_secs(10))).await.ok()?;
        assert_eq!(done.state, State::Completed);
        let said = crate::stage::wire::get(&address, "/metrics").await.ok()?.body;
        let sent = said.lines().find_map(|line| line.strip_prefix("foreman_relay_acknowledged_total "))?;
        (sent.parse::<f64>().ok()? > 0.0).then_some(())
    })
    .await;
    child.start_kill().unwrap();
    child.wait().await.unwrap();
}
