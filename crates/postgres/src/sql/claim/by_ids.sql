-- Which jobs to take, by name: those that wait, are due, not paused, of no disabled tenant, and served; and of the others
-- that wait, what for: the first reason in the order of `WaitsFor`.
--
-- A delivery waits for whoever has a row locked, in the order of the ids so that two of them never wait for each other;
-- what is not there after the wait is not ours. Not by physical place: a row that was updated while we waited has
-- moved.
--
-- A job that was announced and is not taken loses its mark here, under the same lock, and is not announced again before a
-- pause is over that grows with its refusals.
--
--   $5 the ids   $10 pauses after the first refusal, the second, …
named AS MATERIALIZED (
    SELECT ready.job, ready.tenant, ready.key, ready.run_at, ready.announced, ready.crashes >= 2 AS is_fragile,
           CASE
               WHEN ready.key IS NULL THEN 'time'
               WHEN ready.expires_at <= foreman_now() THEN 'expiry'
               WHEN ready.route <> ALL ($4::text[]) OR ready.queue <> ALL ($3::text[]) THEN 'other_worker'
               WHEN (SELECT tenants.disabled FROM tenants WHERE tenants.id = ready.tenant) THEN 'tenant'
               WHEN EXISTS (SELECT FROM queues WHERE queues.queue = ready.queue AND queues.tenant = ready.tenant
                            AND queues.paused_at IS NOT NULL) THEN 'queue'
               WHEN ready.tenant = ANY ($7::text[]) THEN 'room'
           END AS waits_for
    FROM ready
    WHERE ready.job = ANY ($5::uuid[]) AND EXISTS (SELECT FROM may)
    ORDER BY ready.job
    FOR UPDATE OF ready
),
locked AS MATERIALIZED (
    SELECT job, tenant, key, is_fragile FROM named WHERE waits_for IS NULL
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
refused AS MATERIALIZED (
    SELECT named.job, named.run_at, named.announced,
           CASE
               WHEN named.waits_for IS NOT NULL THEN named.waits_for
               WHEN EXISTS (SELECT FROM alone) THEN 'neighbour'
               WHEN named.is_fragile THEN 'solitude'
               ELSE 'room'
           END AS waits_for
    FROM named LEFT JOIN picked ON picked.job = named.job
    WHERE picked.job IS NULL
),
unmarked AS (
    UPDATE ready
    SET announced = NULL, refusals = coalesce(ready.refusals, 0) + 1,
        announce_at = foreman_now() + ($10::interval[])[least(coalesce(ready.refusals, 0) + 1, cardinality($10))]
    FROM refused WHERE ready.job = refused.job AND refused.announced IS NOT NULL
),
