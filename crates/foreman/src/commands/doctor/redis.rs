//! What a Redis tells of itself, judged as somebody who runs Foreman on it would.

use std::time::Duration;

use foreman_redis::doctor::{self, NodeFacts, RedisFacts};

use super::Finding;
use crate::config::{Settings, without_password};

/// The oldest server whose commands we use.
const OLDEST: [u32; 2] = [6, 2];
/// Buckets count by its clock alone; only the times of logs are harder to compare.
const SKEW: Duration = Duration::from_secs(1);

/// Nothing without one.
pub(super) async fn examine(settings: &Settings) -> Vec<Finding> {
    let Some(config) = settings.redis.config() else { return Vec::new() };
    let url = without_password(config.url.reveal());
    let found = format!("{url}, {}", config.topology);
    match doctor::examine(&config, foreman_runtime::clock::now).await {
        Ok(facts) => {
            let mut findings = vec![Finding::fine("redis", found)];
            findings.extend(judge(&facts, config.call_timeout));
            findings
        }
        Err(error) => vec![Finding::alarm(
            "redis",
            format!("{found}: {error}"),
            "Foreman works without it, with limits per process and wake-ups through the database: check the address, the password \
             and whether it runs",
        )],
    }
}

fn judge(facts: &RedisFacts, limit: Duration) -> Vec<Finding> {
    let mut findings = Vec::new();
    for node in &facts.nodes {
        findings.push(Finding::judged(
            "redis version",
            format!("Redis {}", node.version),
            is_old(&node.version),
            || "Foreman needs Redis 6.2 or newer: upgrade the server".into(),
        ));
        findings.push(memory(node));
    }
    let latency = format!("{:.1} ms for a write from here", facts.latency.as_secs_f64() * 1_000.0);
    findings.push(Finding::judged("redis latency", latency, facts.latency * 2 > limit, || {
        format!(
            "calls that take longer than redis.call_timeout ({}) are given up: bring Redis closer, or raise the limit",
            foreman_core::duration::format(limit)
        )
    }));
    let skew = Duration::from_micros(facts.skew_micros.unsigned_abs());
    let way = if facts.skew_micros >= 0 { "ahead of" } else { "behind" };
    let found = format!("{:.1} ms {way} this machine's clock", skew.as_secs_f64() * 1_000.0);
    findings.push(Finding::judged("redis clock", found, skew > SKEW + facts.latency, || {
        "synchronize both machines with NTP; rate limits use the clock of Redis".into()
    }));
    findings
}

fn is_old(version: &str) -> bool {
    let parts: Vec<u32> = version.split('.').take(2).filter_map(|part| part.parse().ok()).collect();
    parts.len() == 2 && parts[..] < OLDEST[..]
}

/// Whatever is evicted is a bucket that is full again, or a hint that somebody else takes.
fn memory(node: &NodeFacts) -> Finding {
    let mib = |bytes: u64| bytes >> 20;
    let NodeFacts { policy, max_memory, used_memory, evicted, .. } = node;
    let room = if *max_memory == 0 { "no limit".into() } else { format!("{} MiB at most", mib(*max_memory)) };
    let found = format!("{} MiB used, {room}, policy {policy}, {evicted} keys evicted", mib(*used_memory));
    let advice = "a rate limit that is evicted is granted again: set maxmemory-policy to noeviction, and give Redis enough memory \
                  (docs/redis.md)";
    let evicts = !policy.is_empty() && policy != "noeviction";
    if *max_memory > 0 && (*evicted > 0 || evicts) {
        Finding::alarm("redis memory", found, advice)
    } else if evicts {
        Finding::hint("redis memory", found, advice)
    } else {
        let is_full = *max_memory > 0 && used_memory.saturating_mul(10) > max_memory.saturating_mul(9);
        Finding::judged("redis memory", found, is_full, || {
            "a full Redis takes no writes, and Foreman goes on without it: give it more memory".into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::planted::{self, Complaint};
    use super::*;

    fn healthy() -> RedisFacts {
        let node = NodeFacts {
            version: "7.2.4".into(),
            role: "master".into(),
            policy: "noeviction".into(),
            max_memory: 256 << 20,
            used_memory: 10 << 20,
            evicted: 0,
        };
        RedisFacts { nodes: vec![node], latency: Duration::from_micros(400), skew_micros: -2_000 }
    }

    fn complaints(facts: &RedisFacts) -> Vec<Complaint> {
        planted::complaints(judge(facts, Duration::from_millis(50)))
    }

    #[test]
    fn a_server_in_order_is_not_complained_of() {
        assert_eq!(complaints(&healthy()), []);
        let mut old_enough = healthy();
        old_enough.nodes[0].version = "6.2.0".into();
        assert_eq!(complaints(&old_enough), []);
    }

    #[test]
    fn each_thing_that_is_wrong_is_found_alone_and_says_what_to_do() {
        let cases: [planted::Case<RedisFacts>; 7] = [
            ("redis version", "upgrade", |it| it.nodes[0].version = "6.0.16".into()),
            ("redis version", "upgrade", |it| it.nodes[0].version = "5.0.3".into()),
            ("redis memory", "noeviction", |it| it.nodes[0].policy = "allkeys-lru".into()),
            ("redis memory", "noeviction", |it| it.nodes[0].evicted = 3),
            ("redis memory", "more memory", |it| it.nodes[0].used_memory = 250 << 20),
            ("redis latency", "redis.call_timeout (50ms)", |it| it.latency = Duration::from_millis(30)),
            ("redis clock", "NTP", |it| it.skew_micros = 1_500_000),
        ];
        planted::assert_found_alone(healthy, complaints, &cases);
    }

    #[test]
    fn a_server_that_would_evict_if_it_had_a_limit_is_a_suggestion() {
        let mut facts = healthy();
        (facts.nodes[0].policy, facts.nodes[0].max_memory) = ("volatile-lru".into(), 0);
        assert_eq!(complaints(&facts), []);
        assert!(judge(&facts, Duration::from_millis(50)).iter().any(|it| it.advice.is_some()));
    }
}
