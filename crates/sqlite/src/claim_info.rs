//! Under which claim, session and worker an attempt runs.

use foreman_core::ports::StoreError;
use foreman_core::{Fence, SessionId, Timestamp};
use rusqlite::OptionalExtension;

use crate::error::Fault;
use crate::rows::ClaimInfo;
use crate::write::Write;

/// The claim with that number, if it is there.
pub(crate) fn find(write: &Write<'_>, claim: Fence) -> Result<Option<ClaimInfo>, Fault> {
    let mut statement = write.prepared(
        "SELECT claims.session, claims.claimed_at, sessions.worker
         FROM claims LEFT JOIN sessions ON sessions.id = claims.session WHERE claims.number = ?1",
    )?;
    let claim_info = statement
        .query_row([claim.0], |row| {
            Ok(ClaimInfo {
                claim,
                session: SessionId(row.get(0)?),
                started_at: Timestamp::from_micros(row.get(1)?),
                worker: row.get(2)?,
            })
        })
        .optional()?;
    Ok(claim_info)
}

/// The claim of a job that is held.
pub(crate) fn of_claim(write: &Write<'_>, claim: Fence) -> Result<ClaimInfo, Fault> {
    find(write, claim)?
        .ok_or_else(|| StoreError::Damaged(format!("claim {claim} holds jobs but does not exist")).into())
}

/// The numbers of a session's claims, in order.
pub(crate) fn claims_of(write: &Write<'_>, session: SessionId) -> Result<Vec<Fence>, Fault> {
    let mut statement = write.prepared("SELECT number FROM claims WHERE session = ?1 ORDER BY number")?;
    let claims = statement.query_map([session.0], |row| row.get(0).map(Fence))?;
    Ok(claims.collect::<Result<_, _>>()?)
}
