-- Which jobs to take, by name: those that wait, are due, not paused and served.
--
-- A delivery waits for whoever has a row locked, in the order of the ids so that two of them never wait for each other; what
-- is not there after the wait is not ours. Not by physical place: a row that was updated while we waited has moved.
--
--   $5 the ids
locked AS MATERIALIZED (
    SELECT ready.job, ready.key, ready.crashes >= 2 AS is_fragile
    FROM ready
    WHERE ready.job = ANY ($5::uuid[]) AND ready.key IS NOT NULL
      AND EXISTS (SELECT FROM may) AND ready.route = ANY ($4::text[]) AND ($3::text[] IS NULL OR ready.queue = ANY ($3))
      AND (ready.expires_at IS NULL OR ready.expires_at > foreman_now())
      AND NOT EXISTS (SELECT FROM queues WHERE queues.queue = ready.queue AND queues.tenant = ready.tenant
                      AND queues.paused_at IS NOT NULL)
    ORDER BY ready.job
    FOR UPDATE OF ready
),
fragile AS MATERIALIZED (
    SELECT FROM locked WHERE NOT $6::boolean AND is_fragile LIMIT 1
),
alone AS MATERIALIZED (
    SELECT job FROM locked WHERE $6 AND is_fragile ORDER BY key, job LIMIT 1
),
picked AS MATERIALIZED (
    SELECT job, row_number() OVER (ORDER BY job) AS rank
    FROM (
        SELECT job FROM alone
        UNION ALL
        SELECT job FROM locked WHERE NOT is_fragile AND NOT EXISTS (SELECT FROM alone)
    ) AS chosen
),
taken AS (
    DELETE FROM ready USING picked WHERE ready.job = picked.job RETURNING ready.*
),
