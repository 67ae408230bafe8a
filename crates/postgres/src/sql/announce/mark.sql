-- Marks jobs of lines as announced: of each run (jobs of a line that lie next to each other) as many as were chosen
-- after the look, in their order. Locked rows are skipped, never waited for: another relay or a claim has them. A row
-- that was marked or taken since the look fails its condition when it is locked, so no two batches name a job.
--
-- What is locked is named by its physical place and changed by it in the same statement. The locks end with the
-- commit, before anything is sent. The number of the batch is drawn here; one that finds nothing to mark is wasted.
--
-- A tenant that has room for a few gets as many, whichever of its jobs were found first.
--
--   $1 tenants that have no room for another running job
--   runs: $2 lanes   $3 routes   $4 queues   $5 and $6 the key and the job where each begins   $7 and $8 those before
--   which it ends: where the next run of the line begins, so that none is marked twice   $9 how many   $10 the highest key
--   $11 tenants that have room for some   $12 for how many
WITH chosen AS MATERIALIZED (
    SELECT found.place, found.tenant
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
        SELECT ready.ctid AS place, ready.tenant FROM ready
        WHERE ready.lane = line.lane AND ready.route = line.route AND ready.queue = line.queue
          AND ready.key IS NOT NULL AND (ready.key, ready.job) >= (line.first, line.first_job)
          AND (ready.key, ready.job) < (line.until, line.until_job) AND ready.key <= line.highest
          AND ready.announced IS NULL AND (ready.announce_at IS NULL OR ready.announce_at <= (SELECT foreman_now()))
          AND ready.crashes < 2 AND (ready.expires_at IS NULL OR ready.expires_at > (SELECT foreman_now()))
          AND ready.tenant <> ALL (line.passed_over)
          AND ((SELECT NOT EXISTS (SELECT FROM tenants WHERE tenants.disabled))
               OR (SELECT tenants.disabled FROM tenants WHERE tenants.id = ready.tenant) IS NOT TRUE)
        ORDER BY ready.key, ready.job
        LIMIT line.number
        FOR UPDATE OF ready SKIP LOCKED
    ) AS found
),
picked AS MATERIALIZED (
    SELECT chosen.place FROM chosen WHERE chosen.tenant <> ALL ($11::text[])
    UNION ALL
    SELECT first.place
    FROM unnest($11, $12::bigint[]) AS room (tenant, jobs)
    CROSS JOIN LATERAL (
        SELECT chosen.place FROM chosen WHERE chosen.tenant = room.tenant LIMIT room.jobs
    ) AS first
),
batch AS MATERIALIZED (
    SELECT nextval('announcement_numbers') AS number
)
UPDATE ready SET announced = (SELECT number FROM batch)
WHERE ready.ctid = ANY (ARRAY(SELECT place FROM picked))
RETURNING job, tenant, queue, route, lane, attempt, key, announced
