//! The engine on the reference store, with paused time: whatever sleeps, sleeps in no time at all.
#![expect(clippy::unwrap_used, reason = "a test says what it expects, and may stop where it is wrong")]

mod coalesce;
mod desk;
mod dispatch;
mod pool;
mod promoter;
mod pruner;
mod runner;
mod scene;
mod scheduler;
mod script;
mod session;
mod settle;
mod simulation;
mod submit;
mod sweeper;
mod unknown_commits;
mod worker;
