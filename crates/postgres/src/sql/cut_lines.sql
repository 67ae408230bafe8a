-- Forgets the order of tasks that nobody has used for long. Every task has lines of its own (a lane, a queue and a
-- route), and in a queue that is used for other tasks nothing else removes them.
--
--   $1 how many to look at   $2 unused for how long   $3 $4 $5 $6 after which row: queue, lane, route, tenant
--
-- By the key, a few at a time, from where the last look stopped: when a share was last used is in no index, for it
-- changes with every reservation. A share that another has locked is in use and is left alone: whoever reserves holds
-- some shares while it waits for others, so nothing here may wait for one. A share without a time is of a version that
-- noted none, and begins now.
--
-- A line's V goes with its last share. A reservation at that very moment may still have read V, and get a key that is
-- far behind those of the next ones; its job then waits until what came meanwhile has run. The line had been unused for
-- weeks, so that is little.
WITH looked AS MATERIALIZED (
    SELECT queue, lane, route, tenant FROM line_shares
    WHERE (queue, lane, route, tenant) > ($3::text, $4::smallint, $5::text, $6::text)
    ORDER BY queue, lane, route, tenant LIMIT $1::bigint
),
locked AS MATERIALIZED (
    SELECT line_shares.queue, line_shares.lane, line_shares.route, line_shares.tenant, line_shares.given_at
    FROM looked
    JOIN line_shares USING (queue, lane, route, tenant)
    WHERE line_shares.route LIKE 'task:%'
      AND (line_shares.given_at IS NULL
           OR line_shares.given_at <= foreman_now() - $2::interval
              AND NOT EXISTS (SELECT FROM ready WHERE ready.lane = line_shares.lane AND ready.route = line_shares.route
                              AND ready.queue = line_shares.queue AND ready.key IS NOT NULL))
    FOR UPDATE OF line_shares SKIP LOCKED
),
unused AS MATERIALIZED (SELECT queue, lane, route, tenant FROM locked WHERE given_at IS NOT NULL),
noted AS (
    UPDATE line_shares SET given_at = foreman_now() FROM locked
    WHERE line_shares.queue = locked.queue AND line_shares.lane = locked.lane AND line_shares.route = locked.route
      AND line_shares.tenant = locked.tenant AND line_shares.given_at IS NULL
),
gone AS (
    DELETE FROM line_shares USING unused
    WHERE line_shares.queue = unused.queue AND line_shares.lane = unused.lane AND line_shares.route = unused.route
      AND line_shares.tenant = unused.tenant
    RETURNING line_shares.queue, line_shares.lane, line_shares.route
),
forgotten_fronts AS (
    DELETE FROM line_fronts USING (SELECT DISTINCT queue, lane, route FROM gone) AS line
    WHERE line_fronts.queue = line.queue AND line_fronts.lane = line.lane AND line_fronts.route = line.route
      AND NOT EXISTS (
          SELECT FROM line_shares AS other
          WHERE other.queue = line.queue AND other.lane = line.lane AND other.route = line.route
            AND NOT EXISTS (SELECT FROM unused WHERE unused.queue = other.queue AND unused.lane = other.lane
                            AND unused.route = other.route AND unused.tenant = other.tenant))
)
SELECT looked.queue, looked.lane, looked.route, looked.tenant, (SELECT count(*) FROM gone),
    (SELECT count(*) FROM looked),
       foreman_now()
FROM looked ORDER BY looked.queue DESC, looked.lane DESC, looked.route DESC, looked.tenant DESC LIMIT 1
