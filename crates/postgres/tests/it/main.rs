//! The team store against its promises, its neighbours and its faults, on a real Postgres.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails where it stands")]

mod given;
mod same;
mod statements;

use given::team;

foreman_core::conformance_suite!(team);
