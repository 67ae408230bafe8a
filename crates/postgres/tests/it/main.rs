//! The team store against its promises, its neighbours and its faults, on a real Postgres.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails where it stands")]

mod announce_costs;
mod bells;
mod claim_costs;
mod claim_sizes;
mod conflicts;
mod cuts;
mod failover;
mod followers;
mod given;
mod leases;
mod locks;
mod log;
mod migrations;
mod neighbours;
mod outlived;
mod partitions;
mod pick_up;
mod pooler;
mod rooms;
mod same;
mod schedules;
mod statements;
mod stress;
mod submissions;
mod tenants;
mod tls;
mod transport;
mod upgrade;
mod vacuum;
mod webhooks;
mod wire;

use given::team;

foreman_conformance::conformance_suite!(team);
foreman_conformance::tenancy_suite!(team);
foreman_conformance::announcing_suite!(team);
