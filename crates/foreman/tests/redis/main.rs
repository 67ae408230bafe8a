//! The roles as separate processes that share a Postgres and a Redis, and everything that can happen to that Redis.
//!
//! They stand on the stage of the team tests, and end the same way: the checker looks at every job, attempt and call. A
//! Redis that is flushed, stopped or slow must show in none of them.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot set its stage has nothing to say"
)]

mod faults;
mod leaders;
#[allow(dead_code, reason = "the tests of the crate use more of it")]
#[path = "../../../redis/tests/it/proxy.rs"]
mod proxy;
mod server;
mod shared;
#[allow(dead_code, unused_imports, reason = "it is the stage of the team tests, and not all of it is needed here")]
#[path = "../team/stage/mod.rs"]
mod stage;
