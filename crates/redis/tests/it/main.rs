//! What goes through Redis, on a real one: what it promises, and what happens when it is slow, flushed, stopped or somewhere else.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails where it stands")]

mod bucket;
mod circuit;
mod doctor;
mod doors;
mod given;
mod leases;
mod limits;
mod proxy;
mod server;
mod topologies;
mod wakeups;
