-- Who asks, before anything is taken.
--
-- The session's row is locked FOR KEY SHARE until the end of the transaction: heartbeats pass, the sweeper's FOR UPDATE
-- waits for us, and we for it. After such a wait Postgres looks at the row again, so a session that was swept meanwhile
-- takes nothing. Whether the call was answered before is safe to read here although the lock may wait: calls with one
-- token wait for each other before this statement begins.
--
-- Jobs that must run alone are few, and have an index of their own; IS TRUE keeps the planner from looking for them by
-- their route, among all that wait.
--
--   $1 session   $2 token   $3 nothing else runs in the session   $4 routes   $5 queues, NULL for all
--   $6 tenants that have no room for another running job
WITH session AS MATERIALIZED (
    SELECT id FROM sessions WHERE id = $1::uuid AND state = 'live' FOR KEY SHARE
)
SELECT EXISTS (SELECT FROM session) AS is_live,
       (SELECT number FROM claims WHERE session = $1 AND token = $2::uuid) AS known,
       EXISTS (
           SELECT FROM ready
           WHERE NOT $3::boolean AND ready.key IS NOT NULL AND ready.crashes >= 2
             AND (ready.route = ANY ($4::text[])) IS TRUE AND ($5::text[] IS NULL OR ready.queue = ANY ($5))
             AND (ready.expires_at IS NULL OR ready.expires_at > foreman_now())
             AND ready.tenant <> ALL ($6::text[])
             AND (SELECT tenants.disabled FROM tenants WHERE tenants.id = ready.tenant) IS NOT TRUE
             AND NOT EXISTS (SELECT FROM queues WHERE queues.queue = ready.queue AND queues.tenant = ready.tenant
                             AND queues.paused_at IS NOT NULL)
       ) AS fragile_waiting
