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
closing AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY expires_at, job) AS rank, job, tenant, queue, kind, run_at, attempt, spent,
           crashes, foreman_counted(moves, attempt) AS moves, 'failed'::text AS state, $2::text AS report,
           $3::text AS error_group, false AS settled, NULL::bigint AS claim, NULL::uuid AS session,
           NULL::text AS worker, NULL::timestamptz AS claimed_at
    FROM gone
),
