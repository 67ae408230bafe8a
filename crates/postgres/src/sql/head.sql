-- The end of the log: the last row that can no longer be overtaken. See changes.sql for the horizon.
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
SELECT tx::text::bigint AS tx, position
FROM (
    (SELECT changes.tx, changes.position FROM changes
     WHERE changes.tx < (SELECT horizon.tx FROM horizon)
     ORDER BY changes.tx DESC, changes.position DESC LIMIT 1)
    UNION ALL
    SELECT log_end.tx, log_end.position FROM log_end
) AS ends
ORDER BY ends.tx DESC, ends.position DESC
LIMIT 1
