//! What a Redis tells of itself. It reads only, but for one key that is gone a second later.

use std::collections::HashMap;
use std::time::Duration;

use redis::aio::ConnectionLike as _;
use redis::{Cmd, FromRedisValue, RedisResult};
use tokio::time::{Instant, timeout};

use crate::config::{Config, InvalidConfig};
use crate::connect::{Connection, Dialer, LinkFault};

/// How long each question may take: somebody waits at a terminal.
const LIMIT: Duration = Duration::from_secs(2);

/// So many round trips; the middle one counts.
const ROUND_TRIPS: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisFacts {
    /// Of each node that answers; one without a cluster.
    pub nodes: Vec<NodeFacts>,
    /// How long a write takes from here.
    pub latency: Duration,
    /// How far its clock is ahead of ours, in microseconds.
    pub skew_micros: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    pub version: String,
    /// `master` or `slave`.
    pub role: String,
    pub policy: String,
    /// 0: as much as the machine has.
    pub max_memory: u64,
    pub used_memory: u64,
    /// Keys that were evicted since it started.
    pub evicted: u64,
}

/// Why there is nothing to tell.
#[derive(Debug, thiserror::Error)]
pub enum Unexamined {
    #[error(transparent)]
    Config(#[from] InvalidConfig),
    #[error("Redis does not answer: {0}")]
    Away(String),
}

pub async fn examine(config: &Config, now: impl Fn() -> i64) -> Result<RedisFacts, Unexamined> {
    let dialer = Dialer::new(config)?;
    let mut connection = dialer.connect().await.map_err(|fault| away(&fault))?;
    let mut took = Vec::new();
    for _ in 0..ROUND_TRIPS {
        let asked = Instant::now();
        let mut write = redis::cmd("SET");
        write.arg(format!("{}probe", config.prefix)).arg(1).arg("PX").arg(1_000);
        ask::<String>(&mut connection, &write).await.map_err(|fault| away(&fault))?;
        took.push(asked.elapsed());
    }
    took.sort_unstable();
    let before = now();
    let (secs, micros): (i64, i64) = ask(&mut connection, &redis::cmd("TIME")).await.map_err(|fault| away(&fault))?;
    let middle = before + (now() - before) / 2;
    let nodes = nodes(&mut connection).await.map_err(|fault| away(&fault))?;
    Ok(RedisFacts { nodes, latency: took[ROUND_TRIPS / 2], skew_micros: secs * 1_000_000 + micros - middle })
}

fn away(fault: &LinkFault) -> Unexamined {
    Unexamined::Away(fault.to_string())
}

/// A cluster answers for each of its nodes.
async fn nodes(connection: &mut Connection) -> Result<Vec<NodeFacts>, LinkFault> {
    match connection {
        Connection::One(_) => Ok(vec![NodeFacts::read(&ask::<String>(connection, &redis::cmd("INFO")).await?)]),
        Connection::Cluster(_) => {
            let told: HashMap<String, String> = ask(connection, &redis::cmd("INFO")).await?;
            Ok(told.values().map(|text| NodeFacts::read(text)).collect())
        }
    }
}

async fn ask<T: FromRedisValue>(connection: &mut Connection, command: &Cmd) -> Result<T, LinkFault> {
    let answer = timeout(LIMIT, connection.req_packed_command(command)).await.map_err(|_| LinkFault::Late(LIMIT))?;
    let answer: RedisResult<T> = answer.and_then(|value| Ok(T::from_redis_value(value.extract_error()?)?));
    answer.map_err(LinkFault::Redis)
}

impl NodeFacts {
    /// From `INFO`, with what it does not say left empty.
    fn read(text: &str) -> Self {
        let told: HashMap<&str, &str> = text.lines().filter_map(|line| line.trim_end().split_once(':')).collect();
        let word = |name: &str| told.get(name).copied().unwrap_or_default().to_owned();
        let number = |name: &str| told.get(name).and_then(|text| text.parse().ok()).unwrap_or_default();
        Self {
            version: word("redis_version"),
            role: word("role"),
            policy: word("maxmemory_policy"),
            max_memory: number("maxmemory"),
            used_memory: number("used_memory"),
            evicted: number("evicted_keys"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_info_says_is_read_and_what_it_does_not_say_is_empty() {
        let text = "# Server\r\nredis_version:7.0.15\r\nrole:master\r\nmaxmemory:1048576\r\nmaxmemory_policy:allkeys-lru\r\nused_memory:900000\r\nevicted_keys:7\r\n";
        let facts = NodeFacts {
            version: "7.0.15".into(),
            role: "master".into(),
            policy: "allkeys-lru".into(),
            max_memory: 1 << 20,
            used_memory: 900_000,
            evicted: 7,
        };
        assert_eq!(NodeFacts::read(text), facts);
        assert_eq!(NodeFacts::read(""), NodeFacts::default());
    }
}
