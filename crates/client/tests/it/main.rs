//! The client against servers that answer as they please.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its stage has nothing to say")]

mod answers;
mod schedules;
mod sse;
mod stream;
mod stub;
mod tenancy;
mod transport;
