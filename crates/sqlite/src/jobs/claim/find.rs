//! Finding lines: the next one in the claim index, that of a queue, and those that a tenant has come to last.

use foreman_core::fair::{self, Front};
use foreman_core::job::QueueName;
use foreman_core::target::Route;
use foreman_core::{JobId, Lane, TenantId};
use rusqlite::{OptionalExtension, Row};

use super::closed::ClosedTenants;
use super::line::LaneLine;
use super::skipped::LinePart;
use crate::error::Fault;
use crate::write::Write;

/// What is known of a line before it is read: its first, whether another tenant has ever come to it, and V.
macro_rules! found {
    () => {
        "SELECT queue, key, job, tenant,
         EXISTS (SELECT 1 FROM line_shares AS share
                 WHERE share.queue = ready.queue AND share.lane = ready.lane AND share.route = ready.route
                 AND share.tenant <> ready.tenant),
         (SELECT v FROM line_fronts AS front
          WHERE front.queue = ready.queue AND front.lane = ready.lane AND front.route = ready.route)
         FROM ready INDEXED BY ready_in_order "
    };
}

/// The next line after a queue.
pub(super) const NEXT_LINE: &str = concat!(
    found!(),
    "WHERE lane = ?1 AND route = ?2 AND queue > ?3 AND key IS NOT NULL ORDER BY queue, key, job LIMIT 1"
);

/// The line of a queue.
pub(super) const LINE_OF: &str =
    concat!(found!(), "WHERE lane = ?1 AND route = ?2 AND queue = ?3 AND key IS NOT NULL ORDER BY key, job LIMIT 1");

/// The next tenant that has ever come to a line.
pub(super) const NEXT_TENANT: &str = "SELECT tenant FROM line_shares INDEXED BY line_shares_by_time
     WHERE lane = ?1 AND route = ?2 AND tenant > ?3 ORDER BY tenant LIMIT 1";

/// The lines that a tenant has come to last.
pub(super) const LATEST_OF: &str = "SELECT queue FROM line_shares INDEXED BY line_shares_by_time
     WHERE lane = ?1 AND route = ?2 AND tenant = ?3 ORDER BY given_at DESC LIMIT ?4";

pub(super) fn find(
    write: &Write<'_>,
    sql: &'static str,
    lane: Lane,
    route: &Route,
    queue: &str,
) -> Result<Option<LaneLine>, Fault> {
    let read = |row: &Row<'_>| {
        let (time, first): (i64, i64) = (row.get::<_, Option<i64>>(5)?.unwrap_or_default(), row.get(1)?);
        Ok(LaneLine {
            queue: QueueName::from_stored(row.get_ref(0)?.as_str()?),
            route: route.clone(),
            time,
            front: fair::front(time, first),
            first: (first, JobId(row.get(2)?), TenantId::new(row.get_ref(3)?.as_str()?)),
            is_shared: row.get(4)?,
            closed: ClosedTenants::default(),
            part: LinePart::whole(),
            sections: Vec::new(),
            is_met: false,
            stopped: None,
            waiting: Front::default(),
        })
    };
    Ok(write.prepared(sql)?.query_row((lane.rank(), route.as_str(), queue), read).optional()?)
}
