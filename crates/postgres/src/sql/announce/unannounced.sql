-- What waits to be announced, for metrics. Of the first lines with work, the first jobs around V: where announcing has
-- got to. No more is looked at than $3 says for each line and $4 for all lines, whatever waits. What mark.sql passes over
-- for as long as an operator or the job's own past wants it does not wait to be announced: paused queues, disabled
-- tenants and jobs that must run alone.
--
--   $1 queues, NULL for all   $2 routes   $3 so many jobs of a line, below V and beyond it   $4 so many are counted
--   $5 so many lines   $6 how far below V
WITH line AS MATERIALIZED (
    SELECT busy.*, ARRAY(
        SELECT queues.tenant FROM queues WHERE queues.queue = busy.queue AND queues.paused_at IS NOT NULL
    ) AS paused
    FROM (
        SELECT DISTINCT line_shares.lane, line_shares.route, line_shares.queue
        FROM line_shares
        WHERE NOT line_shares.idle AND line_shares.route = ANY ($2::text[])
          AND ($1::text[] IS NULL OR line_shares.queue = ANY ($1))
        LIMIT $5::bigint
    ) AS busy
),
waiting AS MATERIALIZED (
    SELECT found.run_at
    FROM line
    LEFT JOIN line_fronts ON line_fronts.lane = line.lane AND line_fronts.route = line.route
                         AND line_fronts.queue = line.queue
    CROSS JOIN LATERAL (
        (SELECT ready.run_at, ready.announced, ready.expires_at, ready.crashes, ready.tenant FROM ready
         WHERE ready.lane = line.lane AND ready.route = line.route AND ready.queue = line.queue
           AND ready.key IS NOT NULL AND ready.key > coalesce(line_fronts.v, 0)
         ORDER BY ready.key, ready.job LIMIT $3::bigint)
        UNION ALL
        (SELECT ready.run_at, ready.announced, ready.expires_at, ready.crashes, ready.tenant FROM ready
         WHERE ready.lane = line.lane AND ready.route = line.route AND ready.queue = line.queue
           AND ready.key IS NOT NULL AND ready.key <= coalesce(line_fronts.v, 0)
           AND ready.key >= coalesce(line_fronts.v, 0) - $6::bigint
         ORDER BY ready.key, ready.job LIMIT $3)
    ) AS found
    WHERE found.announced IS NULL AND (found.expires_at IS NULL OR found.expires_at > (SELECT foreman_now()))
      AND found.crashes < 2 AND found.tenant <> ALL (line.paused)
      AND ((SELECT NOT EXISTS (SELECT FROM tenants WHERE tenants.disabled))
           OR (SELECT tenants.disabled FROM tenants WHERE tenants.id = found.tenant) IS NOT TRUE)
    LIMIT $4::bigint
)
SELECT count(*) AS jobs, min(run_at) AS oldest FROM waiting
