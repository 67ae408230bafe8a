-- Takes jobs out of their claims to where they go: the end of settling, releasing, lapsing and cancelling.
--
-- Everything comes from `closing`: an outcome where the job is final; an attempt and a row in `ready` where it goes on. A retry
-- waits for its delay without a place in line; what was handed back, or lapsed, goes to the front (key V), for that was not
-- its fault. The claim goes with its last bit. The time is asked for once: written plainly, it is worked out for every row.
tally AS MATERIALIZED (
    SELECT locked.number, locked.open, bit_count(locked.open) - count(*) AS still_open
    FROM closing JOIN locked ON locked.number = closing.claim
    GROUP BY locked.number, locked.open
),
emptied AS (
    DELETE FROM claims USING tally WHERE claims.number = tally.number AND tally.still_open = 0
),
shrunk AS (
    UPDATE claims SET open = rest.open
    FROM (
        SELECT tally.number,
               string_agg(CASE WHEN closing.place IS NULL THEN get_bit(tally.open, bit.place - 1)::text ELSE '0' END, ''
                          ORDER BY bit.place)::bit varying AS open
        FROM tally
        CROSS JOIN LATERAL generate_series(1, length(tally.open)) AS bit (place)
        LEFT JOIN closing ON closing.claim = tally.number AND closing.place = bit.place
        WHERE tally.still_open > 0
        GROUP BY tally.number
    ) AS rest
    WHERE claims.number = rest.number
),
finished AS (
    INSERT INTO outcomes (job, tenant, state, queue, kind, finished_at, attempt, spent, crashes, moves, run_at, claim,
                          settled, session, worker, started_at, report, error_group)
    SELECT job, tenant, state, queue, kind, (SELECT foreman_now()), attempt, spent, crashes, moves + 1, run_at, claim, settled,
           session, worker, claimed_at, report, error_group
    FROM closing WHERE state IS NOT NULL
),
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
)
SELECT closing.rank, closing.claim, closing.session, closing.job, closing.tenant, closing.queue, closing.lane,
       closing.attempt, closing.state, closing.delay IS NULL OR closing.delay <= '0' AS is_due,
       closing.delay <= '0' AS wants_key, closing.expires_at IS NOT NULL AS may_expire, closing.route,
       closing.moves + 1 AS moves, (SELECT foreman_now()) - closing.claimed_at AS took
FROM closing ORDER BY closing.rank
