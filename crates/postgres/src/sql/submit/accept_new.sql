-- Writes down new jobs that are due and lets them wait in line. What they have in common is sent once: taken out of
-- arrays, eleven columns cost as much as both rows do. A job that is there already is a conflict, and fails all of it.
--
--   $1 ids   $2 work   $3 keys
--   $12 outlines, or none
--   of all: $4 tenant   $5 queue   $6 route   $7 lane   $8 kind   $9 correlation id   $10 max_attempts   $11 expires_at
WITH asked AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::bigint[], $12::text[]) AS asked (id, work, key, outline)
),
written AS (
    INSERT INTO jobs (id, tenant, queue, route, lane, kind, correlation_id, max_attempts, created_at, first_run_at,
        work, outline)
    SELECT id, $4::text, $5::text, $6::text, $7::smallint, $8::text, $9::text, $10::integer, (SELECT foreman_now()),
           (SELECT foreman_now()), work, outline
    FROM asked
),
waiting AS (
    INSERT INTO ready (job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, spent, crashes, moves, key)
    SELECT id, $4, $5, $6, $7, $8, (SELECT foreman_now()), $11::timestamptz, 0, 0, 0, 1, key
    FROM asked
)
SELECT foreman_now()
