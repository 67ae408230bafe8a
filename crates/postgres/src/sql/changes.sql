-- What was written to the log after a position, and can no longer be overtaken.
--
-- A transaction draws its number when it first writes and its position when it writes here; neither is the order in which
-- commits become visible. What makes the pair safe is the horizon: below the oldest transaction still under way nothing can
-- appear any more. All in one statement, so that horizon and rows come from one snapshot.
--
-- Transactions of other databases of the cluster have numbers from the same counter, but cannot write here; nor can the
-- autovacuum. They are left out, or somebody's long transaction next door would hold up our readers. One that is not
-- found in the list of backends (it ended since the snapshot, or is a prepared transaction) counts as ours.
--
--   $1 transaction and $2 position to go on from   $3 at most so many
WITH horizon AS MATERIALIZED (
    SELECT coalesce(
        (SELECT running.tx FROM pg_snapshot_xip(snapshot.taken) AS running (tx)
         WHERE NOT EXISTS (
             SELECT FROM pg_stat_activity AS backend
             WHERE backend.backend_xid = running.tx::xid
               AND (backend.datname <> current_database() OR backend.backend_type = 'autovacuum worker')
         )
         ORDER BY running.tx LIMIT 1),
        pg_snapshot_xmax(snapshot.taken)
    ) AS tx
    FROM (SELECT pg_current_snapshot() AS taken) AS snapshot
)
SELECT changes.tx::text::bigint AS tx, changes.position, changes.at, changes.moved
FROM changes
WHERE (changes.tx, changes.position) > ($1::bigint::text::xid8, $2::bigint)
  AND changes.tx < (SELECT horizon.tx FROM horizon)
ORDER BY changes.tx, changes.position
LIMIT $3::bigint
