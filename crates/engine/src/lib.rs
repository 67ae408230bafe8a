//! What happens to a job.
//!
//! | in the order a job meets it | |
//! |---|---|
//! | [`schedule_editor`], [`scheduler`] | makes it when its schedule says so |
//! | [`submit`] | accepts it durably, many callers in one write |
//! | [`promoter`] | gives it its place in the order when it falls due |
//! | [`relay`] | tells a broker that it is due, where there is one |
//! | [`claiming`] | the rules of what may be claimed |
//! | [`worker`] | claims it, makes an attempt, decides what the end of the attempt means |
//! | [`target`], [`output`] | does the work, and shows what it prints meanwhile |
//! | [`settle`] | records the outcome, many in one write |
//! | [`courier`] | tells those who asked how it ended |
//! | [`bookkeeper`] | counts it |
//! | [`sweeper`] | notices when its worker died |
//! | [`pruner`] | removes it when its retention is over |
//!
//! [`pool`], [`coalesce`] and [`follower`] are what these are built from; [`tenants`] and [`Vault`] are what they know of whose
//! job it is. The engine speaks to the outside through the ports of `foreman-core` alone: it has not heard of SQL, signals or
//! sockets, but for what a target calls.

mod backlog;
pub mod bookkeeper;
pub mod claiming;
pub mod coalesce;
mod consumers;
pub mod courier;
mod firing;
pub mod follower;
mod lag;
mod leader_only;
mod log_reader;
mod outage;
pub mod output;
pub mod pool;
pub mod promoter;
pub mod pruner;
mod readings;
pub mod relay;
pub mod schedule_editor;
pub mod scheduler;
pub mod settle;
pub mod submit;
pub mod sweeper;
pub mod target;
pub mod tenants;
mod vault;
pub mod worker;

pub use bookkeeper::Bookkeeper;
pub use courier::Courier;
pub use follower::Follower;
pub use outage::Error as LoopError;
pub use promoter::Promoter;
pub use pruner::Pruner;
pub use relay::{Reconciler, Relay};
pub use schedule_editor::ScheduleEditor;
pub use scheduler::Scheduler;
pub use settle::{SettleHandle, Settler};
pub use submit::{SubmitHandle, Submitter};
pub use sweeper::Sweeper;
pub use tenants::Tenants;
pub use vault::Vault;
pub use worker::Worker;
