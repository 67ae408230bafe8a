//! A new job as the rows of a SQL store want it: what queries look for in columns, the rest as JSON.
//!
//! Made before a store begins its transaction, so that none waits for JSON to be written.

use std::time::Duration;

use crate::id::{JobId, TenantId};
use crate::job::{Idempotency, NewJob, QueueName, Start};
use crate::lane::Lane;
use crate::outline::Outline;
use crate::ports::StoreError;
use crate::target::Route;
use crate::time::Timestamp;

/// A job that is about to be written down.
#[derive(Clone, Debug)]
pub struct NewJobRow {
    pub id: JobId,
    pub tenant: TenantId,
    pub queue: QueueName,
    pub route: Route,
    pub lane: Lane,
    pub kind: Option<String>,
    pub correlation_id: Option<String>,
    pub max_attempts: u32,
    /// What it is found by.
    pub tags: Vec<String>,
    pub expires_at: Option<Timestamp>,
    pub start: Start,
    pub idempotency: Option<Idempotency>,
    /// As JSON.
    pub work: String,
    /// Of large work: what lists show, so that they need not read all of it.
    pub outline: Option<String>,
}

impl NewJobRow {
    pub fn of(new: &NewJob) -> Result<Self, StoreError> {
        let broken = |error| StoreError::Broken(format!("job {} cannot be written down: {error}", new.id));
        let work = serde_json::to_string(&*new.work).map_err(broken)?;
        let outline = Outline::beside(&new.work, &work);
        let outline = outline.map(|outline| serde_json::to_string(&outline)).transpose().map_err(broken)?;
        Ok(Self {
            id: new.id,
            tenant: new.tenant.clone(),
            queue: new.work.queue.clone(),
            route: new.work.target.route(),
            lane: new.work.lane,
            kind: new.work.kind.clone(),
            correlation_id: new.work.correlation_id.clone(),
            max_attempts: new.work.max_attempts,
            tags: new.work.index_tags().map(str::to_owned).collect(),
            expires_at: new.work.expires_at,
            start: new.start,
            idempotency: new.idempotency.clone(),
            work,
            outline,
        })
    }

    /// Whether it is due at once, whatever the store's clock says.
    pub fn is_due(&self) -> bool {
        matches!(self.start, Start::Now | Start::After(Duration::ZERO))
    }
}
