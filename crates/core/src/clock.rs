//! The port for the current time: the binary passes the runtime's clock, a test its own.

use crate::time::Timestamp;

/// What time it is. Passed in, so that a test can say.
///
/// A plain function is a clock: the binary passes the runtime's.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

impl<F: Fn() -> Timestamp + Send + Sync> Clock for F {
    fn now(&self) -> Timestamp {
        self()
    }
}
