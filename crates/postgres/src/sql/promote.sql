-- Gives jobs that have fallen due the places reserved for them. A job that another promoter is moving, or has moved, is left.
--
--   $1 jobs   $2 keys
WITH due AS MATERIALIZED (
    SELECT ready.job, given.key, given.rank
    FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS given (job, key, rank)
    JOIN ready ON ready.job = given.job
    WHERE ready.key IS NULL AND ready.run_at <= foreman_now()
    ORDER BY ready.job
    FOR UPDATE OF ready SKIP LOCKED
),
moved AS (
    UPDATE ready SET key = due.key FROM due WHERE ready.job = due.job
    RETURNING ready.job, ready.tenant, ready.queue, ready.lane, ready.attempt, ready.key, due.rank
)
SELECT job, tenant, queue, lane, attempt, key FROM moved ORDER BY rank
