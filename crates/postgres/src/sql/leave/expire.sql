-- Fails what may no longer start. What a claim or another promoter is taking is left to it.
--
--   $1 at most so many   $2 the report   $3 the group of its error
WITH late AS MATERIALIZED (
    SELECT job, expires_at FROM ready
    WHERE expires_at IS NOT NULL AND expires_at <= foreman_now() ORDER BY expires_at, job LIMIT $1::bigint
    FOR UPDATE SKIP LOCKED
),
gone AS (
    DELETE FROM ready USING late WHERE ready.job = late.job RETURNING ready.*
),
finished AS (
    INSERT INTO outcomes (job, tenant, state, queue, kind, finished_at, attempt, spent, crashes, moves, run_at, settled,
                          report, error_group)
    SELECT job, tenant, 'failed', queue, kind, foreman_now(), attempt, spent, crashes,
           foreman_counted(moves, attempt) + 1, run_at, false, $2::text, $3::text
    FROM gone
)
SELECT job, tenant, queue, attempt, foreman_counted(moves, attempt) + 1 FROM gone ORDER BY expires_at, job
