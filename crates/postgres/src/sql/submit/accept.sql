-- Writes down what was asked, in the order of the ids so that two batches never wait for each other. A job sent again
-- is there already and is left alone; the next statement tells which these were.
--
--   $1 ids   $2 tenants   $3 queues   $4 routes   $5 lanes   $6 kinds   $7 correlation ids   $8 max_attempts
--   $9 when to start, NULL for now   $10 how long after now   $11 work   $12 outlines, or none
INSERT INTO jobs (id, tenant, queue, route, lane, kind, correlation_id, max_attempts, created_at, first_run_at, work,
    outline)
SELECT id, tenant, queue, route, lane, kind, correlation_id, max_attempts, (SELECT foreman_now()),
       greatest(start_at, (SELECT foreman_now()) + delay), work, outline
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::smallint[], $6::text[], $7::text[], $8::integer[],
            $9::timestamptz[], $10::interval[], $11::text[], $12::text[])
     AS asked (id, tenant, queue, route, lane, kind, correlation_id, max_attempts, start_at, delay, work, outline)
ON CONFLICT (id) DO NOTHING
RETURNING id, created_at, first_run_at
