//! The runners against real sockets on loopback and real processes.
//!
//! Each test ends by itself: what could hang is awaited with [`given::in_time`], which is far longer than it takes and only
//! there so that a hang is a failure with a name.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod command_ends;
mod command_launcher;
mod command_locks;
mod command_output;
mod command_start;
mod dns;
mod egress;
mod egress_property;
mod given;
mod gzip;
mod http_faults;
mod http_reuse;
mod http_signed;
mod http_wire;
mod sealing;
mod server;
mod street;
mod task;
mod tls;
mod webhook_life;
mod webhook_wire;
