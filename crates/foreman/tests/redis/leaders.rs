//! Who leads, with a hint in Redis and the lease in Postgres: whatever happens to the hint, one term at a time can write.

use std::sync::Arc;
use std::time::Duration;

use foreman_core::memory::LocalWakeups;
use foreman_core::ports::{Advance, Begin, Effect, FollowerName, Followers, Leader};
use foreman_postgres::leases::PgLeases;
use foreman_postgres::{Config, PostgresStore};
use foreman_redis::{HintedLease, Link, RedisObserver, RedisUse};
use foreman_runtime::leadership::Lease;
use foreman_runtime::{Stop, Tasks};

use crate::server::RedisServer;
use crate::stage::{Database, Fleet, Pace, Plan, Role, beside, until};
