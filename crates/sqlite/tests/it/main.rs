//! The laptop store against its promises, its file and its faults.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails where it stands")]

mod faults;
mod followers;
mod given;
mod life;
mod live;
mod queues;
mod same;
mod schedules;
mod tenants;
mod webhooks;

use given::laptop;

foreman_conformance::conformance_suite!(laptop);
foreman_conformance::tenancy_suite!(laptop);
