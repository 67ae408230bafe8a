//! How a loop lives: what time it is, when it must stop, who waits for it, when it looks again.
//!
//! Nothing in here has heard of jobs. Everything that runs for longer than one call — a worker, a sweeper, a coalescer — is
//! built from these seven pieces, so that all of them start, stop and fail in the same way:
//!
//! | piece | answers |
//! |---|---|
//! | [`clock`] | what time do we write down? |
//! | [`Shutdown`] | should I stop taking work, or stop working? |
//! | [`Tasks`] | what is still running, and what is its name? |
//! | [`Ticker`] | when do I look for work again? |
//! | [`Backoff`] | how long do I leave a broken thing alone? |
//! | [`Debounce`] | how many messages may I make of many reasons? |
//! | [`Leadership`] | is this work mine alone, for now? |

pub mod backoff;
pub mod clock;
pub mod debounce;
mod jitter;
pub mod leadership;
pub mod shutdown;
pub mod tasks;
pub mod tick;

pub use backoff::Backoff;
pub use debounce::Debounce;
pub use leadership::{Lead, Leadership, Term};
pub use shutdown::{Shutdown, Stop};
pub use tasks::{StillRunning, Task, TaskFailed, Tasks};
pub use tick::{Ticker, WakeReason};
