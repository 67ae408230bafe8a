//! What the stores do alike, whatever they keep jobs in: values in the shape in which they are kept, and decisions that need
//! no database.
//!
//! Nothing here knows a driver or a line of SQL. A store reads its rows into these types and binds them to its statements; what
//! they mean is said once, here, so that two stores cannot differ in it.

mod counters;
mod migration;
mod new_job_row;
mod status;
mod stored_report;

pub use counters::Counters;
pub use migration::{Applied, Migration, MigrationStatus, Migrations, Unfit};
pub use new_job_row::NewJobRow;
pub use status::JobStatus;
pub use stored_report::StoredReport;
