//! The map, held by a test: who may depend on whom, what may be in the tree, and which room a line belongs to.
//!
//! It reads `cargo metadata` and `cargo tree` (offline, for this machine's target) and the sources. A rule that is broken fails with the
//! sentence that explains it. Each rule also has a small test that shows it can fail.

mod arrows;
mod bans;
mod licences;
mod linked;
mod metadata;
mod names;
mod rooms;
mod stores;
mod targets;
