//! How much of a tenant waits and is held: counted from the places themselves, never kept as a number.

use foreman_core::TenantId;
use rusqlite::Connection;

use crate::error::Fault;

/// No further than `enough`.
pub(super) fn waiting(sql: &Connection, tenant: &TenantId, enough: u64) -> Result<u64, Fault> {
    let mut statement = sql.prepare_cached("SELECT count(*) FROM (SELECT 1 FROM ready WHERE tenant = ?1 LIMIT ?2)")?;
    let enough = i64::try_from(enough).unwrap_or(i64::MAX);
    let count: i64 = statement.query_row((tenant.as_str(), enough), |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

pub(super) fn running(sql: &Connection) -> Result<Vec<(TenantId, u64)>, Fault> {
    let mut statement = sql.prepare_cached("SELECT tenant, count(*) FROM held GROUP BY tenant ORDER BY tenant")?;
    let counts = statement.query_map([], |row| {
        let count: i64 = row.get(1)?;
        Ok((TenantId::new(row.get::<_, String>(0)?), count.unsigned_abs()))
    })?;
    Ok(counts.collect::<Result<_, _>>()?)
}
