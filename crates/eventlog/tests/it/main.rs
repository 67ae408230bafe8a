//! The event log on a real Postgres. Needs `FOREMAN_TEST_POSTGRES` and `FOREMAN_TEST_PGBOUNCER`: `scripts/with-services` has them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod admin;
mod exactly_once;
mod example;
mod failures;
mod given;
mod log;
mod mistakes;
mod processes;
mod retention;
mod schema;
mod workers;
