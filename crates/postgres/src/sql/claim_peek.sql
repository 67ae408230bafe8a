-- Where there is something to take, and how much: a look without locks, before the statement that takes.
--
-- A line is a lane, a route and a queue. Lines that have something due are found by skipping through the claim index from one
-- queue to the next. That walks over what the vacuum has not taken away yet; so while a scan may begin near V, and the
-- queues on record are few, all of them are looked into instead. Of very many some are looked into at a time, others the
-- next. A queue that every tenant has paused, or in which none has room for another running job, is not looked into.
--
-- Jobs of several queues are compared by how far they lie behind the front of their own, for each queue counts its own
-- service. The answer names the first of each lane; whoever asks decides how many of each line it wants.
--
--   $1 token   $2 queues, NULL for all   $3 routes   $4 lanes   $5 at most so many of each lane
--   $6 how far below V a scan begins, NULL for the very beginning   $7 tenants that have no room for another running job
--   $8 how far beyond V a scan ends, NULL for the very end
WITH RECURSIVE
direction AS MATERIALIZED (
    SELECT lane.lane, route.route,
           $2::text[] IS NULL AND ($6::bigint IS NULL OR (
               SELECT count(*) FROM (SELECT FROM lanes WHERE lanes.lane = lane.lane LIMIT 65) AS few) > 64) AS is_skipped
    FROM (SELECT DISTINCT unnest($4::smallint[]) AS lane) AS lane
    CROSS JOIN (SELECT DISTINCT unnest($3::text[]) AS route) AS route
),
every (lane, route, queue) AS (
    SELECT direction.lane, direction.route, (
        SELECT ready.queue FROM ready
        WHERE ready.lane = direction.lane AND ready.route = direction.route AND ready.key IS NOT NULL
        ORDER BY ready.queue LIMIT 1)
    FROM direction WHERE direction.is_skipped
    UNION ALL
    SELECT every.lane, every.route, (
        SELECT ready.queue FROM ready
        WHERE ready.lane = every.lane AND ready.route = every.route AND ready.key IS NOT NULL
          AND ready.queue > every.queue
        ORDER BY ready.queue LIMIT 1)
    FROM every WHERE every.queue IS NOT NULL
),
served AS (
    SELECT lane, route, queue FROM every WHERE queue IS NOT NULL
    UNION ALL
    SELECT direction.lane, direction.route, lanes.queue
    FROM direction JOIN lanes ON lanes.lane = direction.lane
    WHERE $2 IS NULL AND NOT direction.is_skipped
    UNION ALL
    SELECT direction.lane, direction.route, named.queue
    FROM direction CROSS JOIN (SELECT DISTINCT unnest($2) AS queue) AS named
),
line AS MATERIALIZED (
    SELECT taking_turns.lane, taking_turns.route, taking_turns.queue, coalesce(lanes.v, 0) AS v, $7::text[] || ARRAY(
        SELECT queues.tenant FROM queues
        WHERE queues.queue = taking_turns.queue AND queues.paused_at IS NOT NULL) AS passed_over
    FROM (
        SELECT served.*, row_number() OVER (PARTITION BY lane ORDER BY hashtext(queue || $1::text)) AS turn
        FROM served
        WHERE EXISTS (SELECT FROM queues WHERE queues.queue = served.queue AND queues.paused_at IS NULL
                      AND queues.tenant <> ALL ($7))
    ) AS taking_turns
    LEFT JOIN lanes ON lanes.lane = taking_turns.lane AND lanes.queue = taking_turns.queue
    WHERE taking_turns.turn <= 256
)
SELECT first.lane, first.route, first.queue, first.v, first.key
FROM (
    SELECT line.lane, line.route, line.queue, line.v, found.key, row_number() OVER (
        PARTITION BY line.lane ORDER BY found.key - line.v, found.job) AS rank
    FROM line
    CROSS JOIN LATERAL (
        SELECT ready.key, ready.job
        FROM ready
        WHERE ready.lane = line.lane AND ready.route = line.route AND ready.queue = line.queue AND ready.key IS NOT NULL
          AND ready.key >= coalesce(line.v - $6, -9223372036854775808)
          AND ready.key <= coalesce(line.v + $8::bigint, 9223372036854775807)
          AND ready.crashes < 2 AND (ready.expires_at IS NULL OR ready.expires_at > foreman_now())
          AND ready.tenant <> ALL (line.passed_over)
        ORDER BY ready.key, ready.job
        LIMIT $5::bigint
    ) AS found
) AS first
WHERE first.rank <= $5
ORDER BY first.lane, first.rank
