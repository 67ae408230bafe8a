//! Schedules over HTTP: made, read, changed, previewed, run by hand.
//!
//! What is read comes from the store; what is written goes through the schedule editor ([`foreman_core::ports::Schedules`]), which fires what is due
//! before it changes anything. A version is an `ETag`, so that two people who change one schedule notice each other.

pub(crate) mod change;
pub(crate) mod look;
pub(crate) mod preview;
mod tag;
