-- Who asks, and where it may look: the beginning of both ways to claim.
--
-- The session's row is locked FOR KEY SHARE: heartbeats pass, the sweeper's FOR UPDATE waits for us, and we for it. After
-- such a wait Postgres looks at the row again, so a session that was swept meanwhile takes nothing. Everything below hangs on
-- `may`: no session, or a call that was answered before, means no lines and therefore no jobs.
--
-- `known` is safe to read here although the lock may wait: calls with one token wait for each other before this statement
-- begins (an advisory lock in a statement of its own).
--
--   $1 session   $2 token   $3 queues, NULL for all   $4 routes   $6 nothing else runs in the session
WITH RECURSIVE
session AS MATERIALIZED (
    SELECT id FROM sessions WHERE id = $1::uuid AND state = 'live' FOR KEY SHARE
),
known AS MATERIALIZED (
    SELECT number FROM claims WHERE session = $1 AND token = $2::uuid
),
may AS MATERIALIZED (
    SELECT FROM session WHERE NOT EXISTS (SELECT FROM known)
),
-- Every queue there is, by skipping through the index from name to name: tenants may be many.
every (queue) AS (
    (SELECT queue FROM queues WHERE $3::text[] IS NULL ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (SELECT queues.queue FROM queues WHERE queues.queue > every.queue ORDER BY queues.queue LIMIT 1)
    FROM every WHERE every.queue IS NOT NULL
),
served (queue) AS (
    SELECT queue FROM every WHERE queue IS NOT NULL
    UNION ALL
    SELECT DISTINCT unnest($3::text[])
),
-- A queue that every tenant has paused is not looked into at all.
line AS MATERIALIZED (
    SELECT served.queue, route.route, paused.tenants AS paused
    FROM may
    CROSS JOIN served
    CROSS JOIN (SELECT DISTINCT unnest($4::text[]) AS route) AS route
    CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(tenant), '{}') AS tenants
        FROM queues WHERE queues.queue = served.queue AND queues.paused_at IS NOT NULL
    ) AS paused
    WHERE EXISTS (SELECT FROM queues WHERE queues.queue = served.queue AND queues.paused_at IS NULL)
),
