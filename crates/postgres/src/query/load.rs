//! How much a tenant has waiting and running, for its limits: counted, never kept as a number.

use foreman_core::TenantId;

use crate::error::Fault;
use crate::write::Transaction;

/// Through an index of its own, and no further than is asked for: what others have waiting costs nothing.
pub(crate) const WAITING: &str =
    "SELECT count(*) FROM (SELECT FROM ready WHERE ready.tenant = $1::text LIMIT $2::bigint) AS counted";
/// As `held` has them, without taking apart what is not asked for.
pub(crate) const RUNNING: &str = "SELECT member.tenant, count(*)
    FROM claims
    CROSS JOIN LATERAL unnest(claims.tenants) WITH ORDINALITY AS member (tenant, place)
    WHERE get_bit(claims.open, member.place::integer - 1) = 1
    GROUP BY member.tenant ORDER BY member.tenant COLLATE \"C\"";

pub(super) async fn waiting(tx: &Transaction, tenant: &TenantId, enough: u64) -> Result<u64, Fault> {
    let enough = i64::try_from(enough).unwrap_or(i64::MAX);
    let row = tx.row(WAITING, &[&tenant.as_str(), &enough]).await?;
    let count: i64 = row.map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
    Ok(u64::try_from(count).unwrap_or_default())
}

pub(super) async fn running(tx: &Transaction) -> Result<Vec<(TenantId, u64)>, Fault> {
    let rows = tx.rows(RUNNING, &[]).await?;
    rows.iter()
        .map(|row| {
            let count: i64 = row.try_get(1)?;
            Ok((TenantId::new(row.try_get::<_, &str>(0)?), u64::try_from(count).unwrap_or_default()))
        })
        .collect()
}
