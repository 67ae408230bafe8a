//! What the stream says.

use crate::document::ScheduleWhat;
use crate::ports::Became;

impl From<Became> for ScheduleWhat {
    fn from(became: Became) -> Self {
        match became {
            Became::Created => ScheduleWhat::Created,
            Became::Updated => ScheduleWhat::Updated,
            Became::Paused => ScheduleWhat::Paused,
            Became::Resumed => ScheduleWhat::Resumed,
            Became::Deleted => ScheduleWhat::Deleted,
        }
    }
}
