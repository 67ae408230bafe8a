//! What processes tell each other through Redis: "look now", how much of a rate is used, and who tries to lead.
//!
//! Redis is never the truth. Whatever lies in it may be lost, flushed or too late at any moment, and each use has something
//! to fall back to: wake-ups and leadership the database, rates the books of one process. All of them
//! share one [`RedisLink`], which is asked with a short limit and not at all while Redis does not answer, so that nothing ever
//! queues behind it. Every key has a time to live.
//!
//! | use | port | while Redis is away |
//! |---|---|---|
//! | [`RedisWakeups`] | `Wakeups` | the database carries rings |
//! | [`RedisLimiter`] | `Limiter` | each process counts for itself, from what it saw last |
//! | [`HintedLease`] | `Lease` | every contender asks the database |

mod config;
mod connect;
pub mod doctor;
mod lease;
mod limiter;
mod link;
mod script;
mod wakeups;

pub use config::{Config, InvalidConfig, Topology};
pub use lease::HintedLease;
pub use limiter::RedisLimiter;
pub use link::{Away, LinkKeeper, LinkStatus, RedisLink, RedisObserver, RedisUse};
pub use wakeups::{RedisWakeups, WakeupCarrier};
