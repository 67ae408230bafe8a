//! Going round the lines of a lane and route, where there are more than one claim looks at.

use foreman_core::job::QueueName;
use foreman_core::target::Route;
use foreman_core::{Lane, TenantId};
use rusqlite::OptionalExtension;

use super::find::{LATEST_OF, NEXT_LINE, NEXT_TENANT, find};
use super::line::LaneLine;
use super::lines::{AT_ONCE, CLOSED_AT_ONCE};
use super::rotation::CyclePlace;
use crate::error::Fault;
use crate::write::Write;

/// So many of a tenant's latest lines are looked at where there are too many lines for all of them.
const LATEST: usize = 4;

/// Once through all lines of a lane and route, from some place to the end and from the beginning to that place.
pub(super) struct LineCycle {
    pub route: Route,
    from: Option<QueueName>,
    pub at: Option<QueueName>,
    /// After which tenant the latest lines are looked at next.
    pub tenant: Option<TenantId>,
    has_wrapped: bool,
    pub is_over: bool,
    /// Lines that may still be passed over.
    pub closed_left: usize,
}

impl LineCycle {
    pub fn from(route: Route, CyclePlace { queue: from, tenant }: CyclePlace) -> Self {
        Self {
            route,
            at: from.clone(),
            tenant,
            has_wrapped: from.is_none(),
            from,
            is_over: false,
            closed_left: CLOSED_AT_ONCE,
        }
    }

    /// The queues that tenants have come to last, of as many tenants as a claim looks at; none where all lines are seen.
    pub fn latest(&mut self, write: &Write<'_>, lane: Lane) -> Result<Vec<QueueName>, Fault> {
        let mut queues = Vec::new();
        if self.is_over {
            return Ok(queues);
        }
        for _ in 0..AT_ONCE {
            let after = self.tenant.as_ref().map_or("", TenantId::as_str);
            let next: Option<String> = write
                .prepared(NEXT_TENANT)?
                .query_row((lane.rank(), self.route.as_str(), after), |row| row.get(0))
                .optional()?;
            self.tenant = next.map(TenantId::new);
            let Some(tenant) = &self.tenant else { break };
            let mut statement = write.prepared(LATEST_OF)?;
            let mut rows = statement.query((lane.rank(), self.route.as_str(), tenant.as_str(), LATEST as i64))?;
            while let Some(row) = rows.next()? {
                queues.push(QueueName::from_stored(&row.get::<_, String>(0)?));
            }
        }
        Ok(queues)
    }

    pub fn next(&mut self, write: &Write<'_>, lane: Lane) -> Result<Option<LaneLine>, Fault> {
        while !self.is_over {
            // No queue has an empty name.
            let after = self.at.as_ref().map_or("", QueueName::as_str);
            let line = find(write, NEXT_LINE, lane, &self.route, after)?;
            let line =
                line.filter(|line| !(self.has_wrapped && self.from.as_ref().is_some_and(|from| line.queue > *from)));
            if let Some(line) = line {
                self.at = Some(line.queue.clone());
                return Ok(Some(line));
            }
            self.is_over = self.has_wrapped;
            self.has_wrapped = true;
            self.at = None;
        }
        Ok(None)
    }
}
