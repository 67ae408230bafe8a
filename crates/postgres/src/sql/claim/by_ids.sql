-- Which jobs to take, by name: those that wait, are due, not paused, of no disabled tenant, and served.
--
-- A delivery waits for whoever has a row locked, in the order of the ids so that two of them never wait for each other;
-- what is not there after the wait is not ours. Not by physical place: a row that was updated while we waited has
-- moved.
--
--   $5 the ids
locked AS MATERIALIZED (
    SELECT ready.job, ready.tenant, ready.key, ready.crashes >= 2 AS is_fragile
    FROM ready
    WHERE ready.job = ANY ($5::uuid[]) AND ready.key IS NOT NULL
      AND EXISTS (SELECT FROM may) AND ready.route = ANY ($4::text[]) AND ($3::text[] IS NULL OR ready.queue = ANY ($3))
      AND (ready.expires_at IS NULL OR ready.expires_at > foreman_now())
      AND ready.tenant <> ALL ($7::text[])
      AND (SELECT tenants.disabled FROM tenants WHERE tenants.id = ready.tenant) IS NOT TRUE
      AND NOT EXISTS (SELECT FROM queues WHERE queues.queue = ready.queue AND queues.tenant = ready.tenant
                      AND queues.paused_at IS NOT NULL)
    ORDER BY ready.job
    FOR UPDATE OF ready
),
fragile AS MATERIALIZED (
    SELECT FROM locked WHERE NOT $6::boolean AND is_fragile LIMIT 1
),
alone AS MATERIALIZED (
    SELECT job, tenant FROM locked WHERE $6 AND is_fragile ORDER BY key, job LIMIT 1
),
chosen AS MATERIALIZED (
    SELECT job, tenant, row_number() OVER (ORDER BY job) AS rank
    FROM (
        SELECT job, tenant FROM alone
        UNION ALL
        SELECT job, tenant FROM locked WHERE NOT is_fragile AND NOT EXISTS (SELECT FROM alone)
    ) AS found
),
picked AS MATERIALIZED (
    SELECT job, rank FROM chosen WHERE chosen.tenant <> ALL ($8::text[])
    UNION ALL
    SELECT first.job, first.rank
    FROM unnest($8, $9::bigint[]) AS room (tenant, jobs)
    CROSS JOIN LATERAL (
        SELECT chosen.* FROM chosen WHERE chosen.tenant = room.tenant ORDER BY chosen.rank LIMIT room.jobs
    ) AS first
),
taken AS (
    DELETE FROM ready USING picked WHERE ready.job = picked.job RETURNING ready.*
),
