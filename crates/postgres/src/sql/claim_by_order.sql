-- Which jobs to take, in fair order: a job that must run alone, or else lane by lane through the plan.
--
-- Rows that another claim is taking are skipped, never waited for. What is locked here is named by its physical place and
-- deleted by it in the same statement: a row that changed meanwhile is skipped, not mistaken.
--
--   $5 at most so many   $7 how far below V the scan begins, NULL for the very beginning; then a lane and a number per pick
fragile AS MATERIALIZED (
    SELECT FROM ready
    JOIN line ON line.queue = ready.queue AND line.route = ready.route
    WHERE NOT $6::boolean AND $5::bigint > 0 AND ready.key IS NOT NULL AND ready.crashes >= 2
      AND (ready.expires_at IS NULL OR ready.expires_at > foreman_now()) AND ready.tenant <> ALL (line.paused)
    LIMIT 1
),
alone AS MATERIALIZED (
    SELECT ready.ctid AS spot, ready.job
    FROM ready
    JOIN line ON line.queue = ready.queue AND line.route = ready.route
    WHERE $6 AND $5 > 0 AND ready.key IS NOT NULL AND ready.crashes >= 2
      AND (ready.expires_at IS NULL OR ready.expires_at > foreman_now()) AND ready.tenant <> ALL (line.paused)
    ORDER BY ready.key, ready.job
    LIMIT 1
    FOR UPDATE OF ready SKIP LOCKED
),
