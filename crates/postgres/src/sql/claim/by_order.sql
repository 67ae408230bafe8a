-- Which jobs to take, in fair order: a job that must run alone, or else so many of each line as was decided after the
-- look.
--
-- Of each run (jobs of a line that lie next to each other) the first that nobody else is taking: locked rows are
-- skipped, never waited for, and no more are locked than are taken, unless a tenant has room for fewer: then the rest
-- of its jobs stay. What is locked here is named by its physical place and deleted by it in the same statement: a row
-- that changed meanwhile is skipped, not mistaken.
--
--   $5 at most so many
--   runs: $10 and $17 the key and the job where each scan begins   $11 lanes   $12 routes   $13 queues   $14 their V
--   $15 how many of each   $16 how far beyond V a scan ends, NULL for the very end
--   $18 and $19 the key and the job before which each ends: where the next run of the line begins, so that none is
--   taken twice
--
-- Jobs that must run alone are few, and have an index of their own; IS TRUE keeps the planner from looking for them by
-- their route, among all that wait.
fragile AS MATERIALIZED (
    SELECT FROM ready
    WHERE NOT $6::boolean AND $5::bigint > 0 AND ready.key IS NOT NULL AND ready.crashes >= 2
      AND EXISTS (SELECT FROM may) AND (ready.route = ANY ($4::text[])) IS TRUE
          AND ($3::text[] IS NULL OR ready.queue = ANY ($3))
      AND (ready.expires_at IS NULL OR ready.expires_at > foreman_now())
      AND ready.tenant <> ALL ($7::text[])
      AND (SELECT tenants.disabled FROM tenants WHERE tenants.id = ready.tenant) IS NOT TRUE
      AND NOT EXISTS (SELECT FROM queues WHERE queues.queue = ready.queue AND queues.tenant = ready.tenant
                      AND queues.paused_at IS NOT NULL)
    ORDER BY ready.key, ready.job
    LIMIT 1
),
alone AS MATERIALIZED (
    SELECT ready.ctid AS spot, ready.job, ready.tenant
    FROM ready
    WHERE $6 AND $5 > 0 AND ready.key IS NOT NULL AND ready.crashes >= 2
      AND EXISTS (SELECT FROM may) AND (ready.route = ANY ($4)) IS TRUE AND ($3 IS NULL OR ready.queue = ANY ($3))
      AND (ready.expires_at IS NULL OR ready.expires_at > foreman_now())
      AND ready.tenant <> ALL ($7::text[])
      AND (SELECT tenants.disabled FROM tenants WHERE tenants.id = ready.tenant) IS NOT TRUE
      AND NOT EXISTS (SELECT FROM queues WHERE queues.queue = ready.queue AND queues.tenant = ready.tenant
                      AND queues.paused_at IS NOT NULL)
    ORDER BY ready.key, ready.job
    LIMIT 1
    FOR UPDATE OF ready SKIP LOCKED
),
line AS MATERIALIZED (
    SELECT wanted.*, $7 || ARRAY(
        SELECT queues.tenant FROM queues WHERE queues.queue = wanted.queue
            AND queues.paused_at IS NOT NULL) AS passed_over
    FROM unnest($11::smallint[], $12::text[], $13::text[], $14::bigint[], $15::bigint[], $10::bigint[], $17::uuid[],
                $18::bigint[], $19::uuid[])
         AS wanted (lane, route, queue, v, number, first, first_job, until, until_job)
    CROSS JOIN may
    WHERE NOT EXISTS (SELECT FROM alone)
),
chosen AS MATERIALIZED (
    SELECT spot, job, tenant, row_number() OVER (ORDER BY lane, behind, job) AS rank
    FROM (
        SELECT spot, job, tenant, 0 AS lane, 0 AS behind FROM alone
        UNION ALL
        SELECT found.spot, found.job, found.tenant, line.lane, found.key - line.v
        FROM line
        CROSS JOIN LATERAL (
            SELECT ready.ctid AS spot, ready.key, ready.job, ready.tenant
            FROM ready
            WHERE ready.lane = line.lane AND ready.route = line.route AND ready.queue = line.queue
              AND ready.key IS NOT NULL AND (ready.key, ready.job) >= (line.first, line.first_job)
              AND (ready.key, ready.job) < (line.until, line.until_job)
              AND ready.key <= coalesce(line.v + $16::bigint, 9223372036854775807)
              AND ready.crashes < 2 AND (ready.expires_at IS NULL OR ready.expires_at > foreman_now())
              AND ready.tenant <> ALL (line.passed_over)
              AND ((SELECT NOT EXISTS (SELECT FROM tenants WHERE tenants.disabled))
                   OR (SELECT tenants.disabled FROM tenants WHERE tenants.id = ready.tenant) IS NOT TRUE)
            ORDER BY ready.key, ready.job
            LIMIT line.number
            FOR UPDATE OF ready SKIP LOCKED
        ) AS found
    ) AS found
),
picked AS MATERIALIZED (
    SELECT spot, job, rank FROM chosen WHERE chosen.tenant <> ALL ($8::text[])
    UNION ALL
    SELECT first.spot, first.job, first.rank
    FROM unnest($8, $9::bigint[]) AS room (tenant, jobs)
    CROSS JOIN LATERAL (
        SELECT chosen.* FROM chosen WHERE chosen.tenant = room.tenant ORDER BY chosen.rank LIMIT room.jobs
    ) AS first
),
taken AS (
    DELETE FROM ready WHERE ctid = ANY (ARRAY(SELECT spot FROM picked)) RETURNING *
),
