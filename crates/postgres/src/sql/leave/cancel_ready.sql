-- Ends jobs that wait. Locked in the order of their ids; what a claim took while we waited is found in `claims`, by the
-- next statement.
--
--   $1 jobs
WITH locked AS MATERIALIZED (
    SELECT job FROM ready WHERE job = ANY ($1::uuid[]) ORDER BY job FOR UPDATE
),
gone AS (
    DELETE FROM ready USING locked WHERE ready.job = locked.job RETURNING ready.*
),
closing AS MATERIALIZED (
    SELECT array_position($1, job)::bigint AS rank, job, tenant, queue, kind, run_at, attempt, spent, crashes,
           foreman_counted(moves, attempt) AS moves, 'cancelled'::text AS state, '{}'::text AS report,
           NULL::text AS error_group, false AS settled, NULL::bigint AS claim, NULL::uuid AS session,
           NULL::text AS worker, NULL::timestamptz AS claimed_at
    FROM gone
),
