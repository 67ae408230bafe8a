//! Our calendar against another one that shares nothing with it.
//!
//! The oracle walks through real time minute by minute, or second by second, and looks at the clock on the wall. It is
//! slow and plain, and it is never wrong in the same way. Everything is drawn from a seed: a failure prints the seed, the
//! expression, the zone, the policies and the instant.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod against_the_oracle;
mod any_text;
mod draw;
mod oracle;
