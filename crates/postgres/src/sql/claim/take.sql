-- Takes jobs of lines out of `ready`: of each run (jobs of a line that lie next to each other) as many as were chosen
-- after the look, in their order. Locked rows are skipped, never waited for, and no more are locked than are taken.
--
-- What is locked is named by its physical place and deleted by it in the same statement: a row that changed meanwhile
-- is skipped, not mistaken. Session and token were looked at before, in this transaction, which holds the session's row.
--
--   $1 tenants that have no room for another running job
--   runs: $2 lanes   $3 routes   $4 queues   $5 and $6 the key and the job where each begins   $7 and $8 those before
--   which it ends: where the next run of the line begins, so that none is taken twice   $9 how many   $10 the highest key
DELETE FROM ready WHERE ctid = ANY (ARRAY(
    SELECT found.place
    FROM (
        SELECT asked.*, $1::text[] || ARRAY(
            SELECT queues.tenant FROM queues WHERE queues.queue = asked.queue AND queues.paused_at IS NOT NULL
        ) AS passed_over
        FROM (
            SELECT unnest($2::smallint[]) AS lane, unnest($3::text[]) AS route, unnest($4::text[]) AS queue,
                   unnest($5::bigint[]) AS first, unnest($6::uuid[]) AS first_job, unnest($7::bigint[]) AS until,
                   unnest($8::uuid[]) AS until_job, unnest($9::bigint[]) AS number, unnest($10::bigint[]) AS highest
        ) AS asked
        OFFSET 0
    ) AS line
    CROSS JOIN LATERAL (
        SELECT ready.ctid AS place FROM ready
        WHERE ready.lane = line.lane AND ready.route = line.route AND ready.queue = line.queue
          AND ready.key IS NOT NULL AND (ready.key, ready.job) >= (line.first, line.first_job)
          AND (ready.key, ready.job) < (line.until, line.until_job) AND ready.key <= line.highest
          AND ready.crashes < 2 AND (ready.expires_at IS NULL OR ready.expires_at > (SELECT foreman_now()))
          AND ready.tenant <> ALL (line.passed_over)
          AND ((SELECT NOT EXISTS (SELECT FROM tenants WHERE tenants.disabled))
               OR (SELECT tenants.disabled FROM tenants WHERE tenants.id = ready.tenant) IS NOT TRUE)
        ORDER BY ready.key, ready.job
        LIMIT line.number
        FOR UPDATE OF ready SKIP LOCKED
    ) AS found
))
RETURNING job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, spent, crashes, moves, key,
          (SELECT foreman_now()) AS claimed_at
