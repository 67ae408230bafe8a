//! Redis behind Sentinels and as a Cluster, with real processes.

use std::time::Duration;

use foreman_redis::{Config, Topology};
use redis::aio::MultiplexedConnection;
use tempfile::TempDir;
use tokio::time::sleep;

use crate::given::{self, Kept, until};
use crate::limits::uses_everything;
use crate::server::{RedisServer, free_port};

async fn tell(redis: &mut MultiplexedConnection, words: &[&str]) -> redis::Value {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    command.query_async(redis).await.unwrap()
}

/// It writes what it learns into its file.
async fn sentinel(directory: &TempDir, master: u16) -> RedisServer {
    let port = free_port();
    let file = directory.path().join(format!("{port}.conf"));
    let text = format!(
        "sentinel monitor main 127.0.0.1 {master} 2\nsentinel down-after-milliseconds main 500\n\
         sentinel failover-timeout main 3000\nsentinel auth-pass main sesame\n"
    );
    std::fs::write(&file, text).unwrap();
    RedisServer::start_at(port, &[file.to_str().unwrap(), "--sentinel"]).await
}

#[tokio::test]
async fn the_master_that_sentinels_name_is_followed_through_a_failover() {
    let password = ["--requirepass", "sesame", "--masterauth", "sesame"];
    let mut master = RedisServer::start(&password).await;
    let port = master.port.to_string();
    let replica = RedisServer::start(&[&password[..], &["--replicaof", "127.0.0.1", &port]].concat()).await;
    let files = TempDir::with_prefix("foreman-sentinel-").unwrap();
    let mut sentinels = Vec::new();
    for _ in 0..3 {
        sentinels.push(sentinel(&files, master.port).await);
    }
    let mut config = Config {
        topology: Topology::Sentinel("main".into()),
        // The first of them is down: the others know.
        nodes: sentinels.iter().map(|it| it.address().to_string()).collect(),
        ..given::at(&format!("redis://:sesame@127.0.0.1:{}", free_port()))
    };
    let kept = Kept::up(&config).await;
    uses_everything(&kept).await;
    // They must know of each other and of the replica before one of them can be elected to promote it.
    for it in &sentinels {
        let mut asked = given::connection(&it.url()).await;
        until("they know of each other", async || {
            let told = tell(&mut asked, &["INFO", "sentinel"]).await;
            let text = format!("{told:?}");
            text.contains("slaves=1") && text.contains("sentinels=3")
        })
        .await;
    }
    master.kill();
    kept.is_away().await;
    kept.is_up().await;
    uses_everything(&Kept::up(&Config { prefix: "after:".into(), ..config.clone() }).await).await;
    let mut promoted = given::connection(&format!("redis://:sesame@{}", replica.address())).await;
    assert!(format!("{:?}", tell(&mut promoted, &["ROLE"]).await).contains("master"));
    config.topology = Topology::Sentinel("nobody".into());
    let unknown = Kept::start(&config);
    until("a name that no Sentinel knows is said", async || {
        unknown.link.status().why.is_some_and(|why| why.to_lowercase().contains("master"))
    })
    .await;
}

#[tokio::test]
async fn a_cluster_is_used_whichever_node_is_asked_first() {
    let enabled = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--requirepass", "sesame"];
    let servers =
        [RedisServer::start(&enabled).await, RedisServer::start(&enabled).await, RedisServer::start(&enabled).await];
    let mut nodes = Vec::new();
    for server in &servers {
        nodes.push(given::connection(&format!("redis://:sesame@{}", server.address())).await);
    }
    for (place, (from, to)) in [("0", "5460"), ("5461", "10922"), ("10923", "16383")].into_iter().enumerate() {
        tell(&mut nodes[place], &["CLUSTER", "ADDSLOTSRANGE", from, to]).await;
        let port = servers[(place + 1) % 3].port.to_string();
        tell(&mut nodes[place], &["CLUSTER", "MEET", "127.0.0.1", &port]).await;
    }
    for node in &mut nodes {
        until("the cluster is whole", async || {
            let told = format!("{:?}", tell(node, &["CLUSTER", "INFO"]).await);
            told.contains("cluster_state:ok") && told.contains("cluster_known_nodes:3")
        })
        .await;
    }
    sleep(Duration::from_millis(100)).await;
    for server in &servers {
        let config = Config {
            topology: Topology::Cluster,
            nodes: servers.iter().map(|it| it.address().to_string()).collect(),
            ..given::at(&format!("redis://:sesame@{}", server.address()))
        };
        uses_everything(&Kept::up(&config).await).await;
        let facts = foreman_redis::doctor::examine(&config, foreman_runtime::clock::now).await.unwrap();
        assert_eq!(facts.nodes.len(), 3, "{facts:?}");
    }
}
