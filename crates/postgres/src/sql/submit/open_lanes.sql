-- Opens the lanes of queues. After open_queues.sql, which waits for whoever removes the queue at this moment, and its lanes
-- with it.
--
--   $1 queues   $2 lanes
INSERT INTO lanes (queue, lane, v)
SELECT queue, lane, 0 FROM unnest($1::text[], $2::smallint[]) AS asked (queue, lane)
ORDER BY lane, queue ON CONFLICT DO NOTHING
