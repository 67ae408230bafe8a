//! What a server tells of itself.

use std::time::Duration;

use foreman_redis::doctor::{Unexamined, examine};
use foreman_runtime::clock;

use crate::given;
use crate::server::{RedisServer, free_port};

#[tokio::test]
async fn a_server_says_what_it_is_and_when_it_would_evict() {
    let server = RedisServer::start(&["--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"]).await;
    let facts = examine(&given::at(&server.url()), clock::now).await.unwrap();
    let [node] = facts.nodes.as_slice() else { panic!("{facts:?}") };
    assert_eq!((node.role.as_str(), node.policy.as_str(), node.max_memory), ("master", "allkeys-lru", 64 << 20));
    assert!(node.version.starts_with(|first: char| first.is_ascii_digit()) && node.used_memory > 0, "{node:?}");
    assert!(facts.latency > Duration::ZERO && facts.skew_micros.abs() < 5_000_000, "{facts:?}");
    let nobody = examine(&given::at(&format!("redis://127.0.0.1:{}", free_port())), clock::now).await;
    assert!(matches!(nobody, Err(Unexamined::Away(_))));
}
