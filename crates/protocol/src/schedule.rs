//! Schedules: what a client writes, what became of their ticks, and what they will do.

mod policy;
mod spec;
mod tick;

pub use policy::{DstGap, DstOverlap, Missed, Overlap};
pub use spec::ScheduleSpec;
pub use tick::{PreviewItem, TickReason, TickState};
