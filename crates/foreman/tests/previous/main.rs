//! The version before this one, on this one's schema: beside it during an upgrade, and instead of it when someone goes back.
//!
//! `scripts/check-previous-version` builds the last version that had an older schema, says in `FOREMAN_TEST_PREVIOUS_BINARY`
//! where it is, and runs this; nothing else does. The stage is that of the team tests.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot set its stage has nothing to say"
)]

mod laptop;
#[path = "../team/stage/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the team tests need more of it")]
mod stage;
mod team;

use std::path::PathBuf;

/// The binary one version older.
fn previous() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "the script tells the tests, not the program")]
    let named = std::env::var_os("FOREMAN_TEST_PREVIOUS_BINARY");
    named
        .expect(
            "FOREMAN_TEST_PREVIOUS_BINARY is not set: run `make test SUITE=previous`, or \
         `scripts/with-services scripts/check-previous-version`",
        )
        .into()
}
