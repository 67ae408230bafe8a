//! The roles as separate processes on a real Postgres and a real Kafka, and everything that can happen to them.
//!
//! The stage and the checker are those of team size (`../team`), so that the same is promised: every accepted job ends once, no
//! attempt runs twice, and what was recorded is what the target saw. Each test has a database, topics and consumer groups of its
//! own; those that stop the broker have a broker of their own. `FOREMAN_TORTURE` makes those that repeat themselves repeat
//! themselves more often.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot set its stage has nothing to say"
)]

#[path = "../../../kafka/tests/it/broker.rs"]
mod broker;
mod brokers;
mod crashes;
#[path = "../../../postgres/tests/it/given.rs"]
mod given;
mod histories;
mod messages;
#[path = "../it/pages.rs"]
mod pages;
mod readme;
#[allow(dead_code, reason = "the tests of Redis use more of it")]
#[path = "../redis/server.rs"]
mod redis;
mod scene;
#[expect(dead_code, unused_imports, reason = "it is the stage of team size, of which this needs a part")]
#[path = "../team/stage/mod.rs"]
mod stage;
mod topics;
mod travels;
mod unshared;
mod with_redis;
