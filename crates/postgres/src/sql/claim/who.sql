-- Who asks: the beginning of both ways to claim.
--
-- The session's row is locked FOR KEY SHARE: heartbeats pass, the sweeper's FOR UPDATE waits for us, and we for it.
-- After such a wait Postgres looks at the row again, so a session that was swept meanwhile takes nothing. Everything
-- below hangs on `may`: no session, or a call that was answered before, means no jobs.
--
-- `known` is safe to read here although the lock may wait: calls with one token wait for each other before this
-- statement begins (an advisory lock in a statement of its own).
--
--   $1 session   $2 token   $3 queues, NULL for all   $4 routes   $6 nothing else runs in the session
--   $7 tenants that have no room for another running job   $8 tenants that have room for some   $9 for how many
WITH
session AS MATERIALIZED (
    SELECT id FROM sessions WHERE id = $1::uuid AND state = 'live' FOR KEY SHARE
),
known AS MATERIALIZED (
    SELECT number FROM claims WHERE session = $1 AND token = $2::uuid
),
may AS MATERIALIZED (
    SELECT FROM session WHERE NOT EXISTS (SELECT FROM known)
),
