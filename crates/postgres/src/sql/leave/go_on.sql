-- The end of a statement whose jobs may go on: an attempt and a row in `ready` for each that does.
--
-- A retry waits for its delay without a place in line; what was handed back, or lapsed, goes to the front (key V), for
-- that was not its fault.
,
recorded AS (
    INSERT INTO attempts (job, claim, number, settled, session, worker, started_at, finished_at, outcome, report)
    SELECT job, claim, attempt, settled, session, worker, claimed_at, (SELECT foreman_now()), outcome, report
    FROM closing WHERE state IS NULL ORDER BY rank
),
returned AS (
    INSERT INTO ready (job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, spent, crashes, moves, key)
    SELECT closing.job, closing.tenant, closing.queue, closing.route, closing.lane, closing.kind,
           CASE WHEN closing.delay IS NULL THEN least(closing.run_at, (SELECT foreman_now()))
                ELSE (SELECT foreman_now()) + closing.delay END,
           closing.expires_at, closing.attempt, closing.spent, closing.crashes, closing.moves + 1,
           CASE WHEN closing.delay IS NULL THEN coalesce(line_fronts.v, 0) END
    FROM closing
    LEFT JOIN line_fronts ON line_fronts.queue = closing.queue AND line_fronts.lane = closing.lane
                         AND line_fronts.route = closing.route
    WHERE closing.state IS NULL
),
-- Claims look into the lines of those that are at the front again. A share that somebody has locked is in use.
shares AS MATERIALIZED (
    SELECT line_shares.queue, line_shares.lane, line_shares.route, line_shares.tenant
    FROM (SELECT DISTINCT queue, lane, route, tenant FROM closing WHERE state IS NULL AND delay IS NULL) AS back
    JOIN line_shares USING (queue, lane, route, tenant)
    WHERE line_shares.idle OR coalesce(line_shares.given_at, '-infinity') < foreman_now() - interval '10 seconds'
    FOR UPDATE OF line_shares SKIP LOCKED
),
used AS (
    UPDATE line_shares SET idle = false, given_at = foreman_now() FROM shares
    WHERE line_shares.queue = shares.queue AND line_shares.lane = shares.lane AND line_shares.route = shares.route
      AND line_shares.tenant = shares.tenant
)
SELECT closing.rank, closing.claim, closing.session, closing.job, closing.tenant, closing.queue, closing.lane,
       closing.attempt, closing.state, closing.delay IS NULL OR closing.delay <= '0' AS is_due,
       closing.delay <= '0' AS wants_key, closing.expires_at IS NOT NULL AS may_expire, closing.route,
       closing.moves + 1 AS moves, (SELECT foreman_now()) - closing.claimed_at AS took
FROM closing ORDER BY closing.rank
