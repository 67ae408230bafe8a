-- Marks lines in which nothing waits, so that claims do not look into them: `idle` in `line_shares`.
--
-- A key is given before its job is written. So nobody is marked who was given one within the last minute, which is longer
-- than any statement takes; and whoever gives one locks the same row, so it is busy again whichever of the two comes
-- first. A share that somebody has locked is in use and is left alone: nothing here may wait for one.
--
--   $1 how many to look at   $2 $3 $4 $5 after which share: lane, route, queue, tenant
WITH looked AS MATERIALIZED (
    SELECT lane, route, queue, tenant FROM line_shares
    WHERE NOT idle AND (lane, route, queue, tenant) > ($2::smallint, $3::text, $4::text, $5::text)
    ORDER BY lane, route, queue, tenant LIMIT $1::bigint
),
-- Each line is looked into once, however many share it, and no further than its first job.
empty AS MATERIALIZED (
    SELECT line.lane, line.route, line.queue
    FROM (SELECT DISTINCT lane, route, queue FROM looked) AS line
    WHERE (SELECT true FROM ready WHERE ready.lane = line.lane AND ready.route = line.route
           AND ready.queue = line.queue AND ready.key IS NOT NULL LIMIT 1) IS NULL
),
unused AS MATERIALIZED (
    SELECT line_shares.lane, line_shares.route, line_shares.queue, line_shares.tenant
    FROM looked
    JOIN empty USING (lane, route, queue)
    JOIN line_shares USING (lane, route, queue, tenant)
    WHERE NOT line_shares.idle
      AND coalesce(line_shares.given_at, '-infinity') < foreman_now() - interval '1 minute'
    FOR UPDATE OF line_shares SKIP LOCKED
),
marked AS (
    UPDATE line_shares SET idle = true FROM unused
    WHERE line_shares.queue = unused.queue AND line_shares.lane = unused.lane AND line_shares.route = unused.route
      AND line_shares.tenant = unused.tenant
)
SELECT lane, route, queue, tenant, (SELECT count(*) FROM looked) AS looked
FROM looked ORDER BY lane DESC, route DESC, queue DESC, tenant DESC LIMIT 1
