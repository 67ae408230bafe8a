-- Ends jobs that wait. Locked in the order of their ids; what a claim took while we waited is found in `claims`, by the next
-- statement.
--
--   $1 jobs
WITH locked AS MATERIALIZED (
    SELECT job FROM ready WHERE job = ANY ($1::uuid[]) ORDER BY job FOR UPDATE
),
gone AS (
    DELETE FROM ready USING locked WHERE ready.job = locked.job RETURNING ready.*
),
finished AS (
    INSERT INTO outcomes (job, tenant, state, queue, kind, finished_at, attempt, spent, crashes, moves, run_at, settled,
                          report)
    SELECT job, tenant, 'cancelled', queue, kind, foreman_now(), attempt, spent, crashes,
           foreman_counted(moves, attempt) + 1, run_at, false, '{}'
    FROM gone
)
SELECT job, tenant, queue, attempt, foreman_counted(moves, attempt) + 1 FROM gone ORDER BY array_position($1, job)
