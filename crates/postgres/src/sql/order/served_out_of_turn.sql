-- The same for jobs that were taken out of their turn: V moves no further than so many jobs would take it
-- (foreman_core::fair::out_of_turn). In the order of the names too.
--
--   lines: $1 queues   $2 lanes   $3 routes   $4 the highest key served of each   $5 how far they take V at most
WITH served AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::smallint[], $3::text[], $4::bigint[], $5::bigint[])
           AS served (queue, lane, route, v, most)
),
locked AS MATERIALIZED (
    SELECT line_fronts.queue, line_fronts.lane, line_fronts.route FROM line_fronts
    JOIN served ON served.queue = line_fronts.queue AND served.lane = line_fronts.lane
               AND served.route = line_fronts.route
    ORDER BY line_fronts.queue, line_fronts.lane, line_fronts.route
    FOR UPDATE OF line_fronts
),
moved AS (
    UPDATE line_fronts SET v = greatest(line_fronts.v, least(served.v, line_fronts.v + served.most))
    FROM locked JOIN served USING (queue, lane, route)
    WHERE line_fronts.queue = locked.queue AND line_fronts.lane = locked.lane AND line_fronts.route = locked.route
)
INSERT INTO line_fronts (queue, lane, route, v)
SELECT queue, lane, route, least(v, most) FROM served
WHERE NOT EXISTS (SELECT FROM locked WHERE locked.queue = served.queue AND locked.lane = served.lane
                  AND locked.route = served.route)
ORDER BY queue, lane, route
ON CONFLICT (queue, lane, route) DO NOTHING
