-- Lets accepted jobs wait: in line where they have a key, until they fall due where they have none.
--
--   $1 jobs   $2 tenants   $3 queues   $4 routes   $5 lanes   $6 kinds   $7 run_at, NULL for now   $8 expires_at
--   $9 attempts so far   $10 keys   $11 moves, this one included
INSERT INTO ready (job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, spent, crashes, moves, key)
SELECT job, tenant, queue, route, lane, kind, coalesce(run_at, foreman_now()), expires_at, attempt, 0, 0, moves, key
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::smallint[], $6::text[], $7::timestamptz[],
            $8::timestamptz[], $9::integer[], $10::bigint[], $11::integer[])
     AS asked (job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, key, moves)
