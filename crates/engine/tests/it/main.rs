//! The engine on the reference store, with paused time: whatever sleeps, sleeps in no time at all.
#![expect(clippy::unwrap_used, reason = "a test says what it expects, and may stop where it is wrong")]

mod bookkeeper;
mod broker;
mod claiming;
mod coalesce;
mod courier;
mod courier_health;
mod disabled;
mod dispatch;
mod fed;
mod follower;
mod pool;
mod post;
mod promoter;
mod pruner;
mod relay;
mod rooms;
mod runner;
mod scene;
mod schedule_editor;
mod schedule_secrets;
mod scheduler;
mod script;
mod session;
mod settle;
mod shares;
mod simulation;
mod submit;
mod sweeper;
mod unknown_commits;
mod worker;
