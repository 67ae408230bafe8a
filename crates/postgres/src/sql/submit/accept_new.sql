-- Writes down new jobs that are due and lets them wait in line, or does nothing: a job that is there already is a
-- conflict, and a queue whose use has not been noted lately, or a lane that nobody has opened, a division by zero.
--
-- What the jobs have in common is sent once: taken out of arrays, eleven columns cost as much as both rows do. Arrays are
-- taken apart in SELECT lists: in FROM each would first be copied into a table of its own.
--
-- The reservation (sql/reserve.sql) came right before this, in a transaction of its own and in the same round trip, and
-- has left the first key of each share and its step in `foreman.keys`, behind the mark of this batch. Where a pooler may
-- have given that to another connection, the two are sent.
--
--   $1 ids   $2 work   $3 places: how many jobs of the same share are before it   $4 outlines, or none
--   of all: $5 tenant   $6 queue   $7 route   $8 lane   $9 kind   $10 correlation id   $11 max_attempts   $12 expires_at
--   $13 first key   $14 step, NULL where both were left   $15 the mark   $16 number of the share
--   $17 how long ago the use of the queue may have been noted
WITH reserved AS MATERIALIZED (
    SELECT string_to_array(current_setting('foreman.keys', true), ' ') AS words
),
allowed AS MATERIALIZED (
    SELECT coalesce($13::bigint, words[2 * $16::integer]::bigint) AS first_key,
           coalesce($14::bigint, words[2 * $16 + 1]::bigint) AS step,
           -- No queue that was used so lately is removed, with its lanes, before this has committed.
           1 / coalesce(($13 IS NOT NULL OR words[1] = $15::text)
                        AND EXISTS (SELECT FROM queues WHERE queues.queue = $6::text AND queues.tenant = $5::text
                                    AND queues.used_at > foreman_now() - $17::interval)
                        AND EXISTS (SELECT FROM lanes WHERE lanes.lane = $8::smallint AND lanes.queue = $6),
                        false)::integer AS yes
    FROM reserved
),
written AS (
    INSERT INTO jobs (id, tenant, queue, route, lane, kind, correlation_id, max_attempts, created_at, first_run_at,
        work, outline)
    SELECT asked.id, $5, $6, $7::text, $8, $9::text, $10::text, $11::integer, (SELECT foreman_now()),
           (SELECT foreman_now()), asked.work, asked.outline
    FROM (SELECT unnest($1::uuid[]) AS id, unnest($2::text[]) AS work, unnest($4::text[]) AS outline) AS asked
),
waiting AS (
    INSERT INTO ready (job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, spent, crashes, moves, key)
    SELECT asked.id, $5, $6, $7, $8, $9, (SELECT foreman_now()), $12::timestamptz, 0, 0, 0, 1,
           (SELECT first_key FROM allowed) + (SELECT step FROM allowed) * asked.place
    FROM (SELECT unnest($1) AS id, unnest($3::integer[]) AS place) AS asked
)
SELECT foreman_now() AS accepted_at FROM allowed WHERE yes = 1
