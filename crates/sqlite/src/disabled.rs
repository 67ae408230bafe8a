//! The tenants that are disabled: nothing of theirs is claimed or fired.
//!
//! Read whole and kept until a tenant changes, for every claim asks; there is one process that changes them. A look that began
//! before a change and ends after it is used once and not kept.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foreman_core::TenantId;
use rusqlite::Connection;

use crate::error::Fault;

/// The settings are written by this program alone, without blanks, and what they quote is escaped.
const DISABLED: &str = "SELECT id FROM tenants WHERE deleted_at IS NULL AND settings LIKE '%\"is_disabled\":true%'";

#[derive(Debug, Default)]
pub(crate) struct DisabledTenants(Mutex<DisabledCache>);

#[derive(Debug, Default)]
struct DisabledCache {
    /// How often they were forgotten.
    changes: u64,
    tenants: Option<Arc<HashSet<TenantId>>>,
}

impl DisabledTenants {
    pub fn look(&self, sql: &Connection) -> Result<Arc<HashSet<TenantId>>, Fault> {
        let changes = {
            let kept = self.lock();
            if let Some(tenants) = &kept.tenants {
                return Ok(Arc::clone(tenants));
            }
            kept.changes
        };
        let mut statement = sql.prepare_cached(DISABLED)?;
        let rows = statement.query_map([], |row| Ok(TenantId::new(row.get::<_, String>(0)?)))?;
        let tenants = Arc::new(rows.collect::<Result<HashSet<_>, _>>()?);
        let mut kept = self.lock();
        if kept.changes == changes {
            kept.tenants = Some(Arc::clone(&tenants));
        }
        Ok(tenants)
    }

    /// A tenant was changed, and the change is committed.
    pub fn forget(&self) {
        let mut kept = self.lock();
        kept.changes += 1;
        kept.tenants = None;
    }

    fn lock(&self) -> MutexGuard<'_, DisabledCache> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
