//! What goes over the wire between a server, its clients and its command line.
//!
//! Ids, states, and times and durations as text; what a client writes (specs) and what the server answers (documents).
//! Types and their text, with serde and little else: whether a spec makes sense is judged by `foreman-core`, which needs the
//! calendar, the limits and the rules of the server for it. Nothing here knows time zones, a cipher or a store, because
//! every program that links the client links this.
//!
//! People script against these names. A field is added, never renamed.

pub mod attempt;
pub mod document;
pub mod duration;
pub mod id;
pub mod lane;
mod object;
pub mod output;
pub mod schedule;
pub mod scope;
pub mod session;
pub mod spec;
pub mod state;
pub mod statistics;
pub mod tenant;
pub mod time;
pub mod webhook;

pub use lane::Lane;
pub use state::State;
pub use time::Timestamp;
