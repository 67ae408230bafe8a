-- Moves V of lines on to the highest key that was served, and never back.
--
--   lines: $1 queues   $2 lanes   $3 routes   $4 the highest key served of each
INSERT INTO line_fronts AS known (queue, lane, route, v)
SELECT queue, lane, route, v
FROM unnest($1::text[], $2::smallint[], $3::text[], $4::bigint[]) AS served (queue, lane, route, v)
ORDER BY queue, lane, route
ON CONFLICT (queue, lane, route) DO UPDATE SET v = excluded.v WHERE excluded.v > known.v
