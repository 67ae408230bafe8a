-- Where there is something to take, and how much: a look without locks, before the statement that takes.
--
-- A line is a lane, a route and a queue. Lines that have something due are found by skipping through the claim index from one
-- queue to the next. That walks over what the vacuum has not taken away yet; so while a scan may begin near V, and the
-- queues on record are few, all of them are looked into instead. Of very many some are looked into at a time, others the
-- next, and each tenant's in turn: nobody hides another's single job among queues without number. A queue that every tenant has paused, or in which none has room for another running job, is not looked into.
--
-- Jobs of several lines are compared by how far they lie behind the front of their own, for each line counts its own service
-- (`foreman_core::fair::front`). The answer names the first of each lane: by that order, and by that order with tenants in
-- turn; and the first two of a line where they stand at the same key. Whoever asks decides whose turn it is.
--
--   $1 token   $2 queues, NULL for all   $3 routes   $4 lanes   $5 at most so many of each lane
--   $6 how far below V a scan begins, NULL for the very beginning   $7 tenants that have no room for another running job
--   $8 how far beyond V a scan ends, NULL for the very end   $9 a step of weight 1
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
served AS MATERIALIZED (
    SELECT lane, route, queue FROM every WHERE queue IS NOT NULL
    UNION ALL
    SELECT direction.lane, direction.route, lanes.queue
    FROM direction JOIN lanes ON lanes.lane = direction.lane
    WHERE $2 IS NULL AND NOT direction.is_skipped
    UNION ALL
    SELECT direction.lane, direction.route, named.queue
    FROM direction CROSS JOIN (SELECT DISTINCT unnest($2) AS queue) AS named
),
-- Where there are too many: each line's place among those of its tenants.
crowded AS MATERIALIZED (
    SELECT lane, route, queue, min(place) AS place
    FROM (
        SELECT served.lane, served.route, served.queue, row_number() OVER (
            PARTITION BY served.lane, queues.tenant ORDER BY hashtext(served.queue || $1::text)) AS place
        FROM served
        JOIN queues ON queues.queue = served.queue AND queues.paused_at IS NULL AND queues.tenant <> ALL ($7::text[])
        WHERE served.lane IN (SELECT lane FROM served GROUP BY lane HAVING count(*) > 256)
    ) AS of_tenant
    GROUP BY lane, route, queue
),
line AS MATERIALIZED (
    SELECT taking_turns.lane, taking_turns.route, taking_turns.queue, coalesce(line_fronts.v, 0) AS v, $7 || ARRAY(
        SELECT queues.tenant FROM queues
        WHERE queues.queue = taking_turns.queue AND queues.paused_at IS NOT NULL) AS passed_over
    FROM (
        SELECT served.*, row_number() OVER (
            PARTITION BY served.lane ORDER BY crowded.place, hashtext(served.queue || $1)) AS turn
        FROM served
        LEFT JOIN crowded ON crowded.lane = served.lane AND crowded.route = served.route AND crowded.queue = served.queue
        WHERE EXISTS (SELECT FROM queues WHERE queues.queue = served.queue AND queues.paused_at IS NULL
                      AND queues.tenant <> ALL ($7))
    ) AS taking_turns
    LEFT JOIN line_fronts ON line_fronts.lane = taking_turns.lane AND line_fronts.queue = taking_turns.queue
                         AND line_fronts.route = taking_turns.route
    WHERE taking_turns.turn <= 256
),
found AS (
    SELECT line.lane, line.route, line.queue, line.v, found.key, found.job, found.tenant,
           min(found.key) OVER (PARTITION BY line.lane, line.route, line.queue) AS first
    FROM line
    CROSS JOIN LATERAL (
        SELECT ready.key, ready.job, ready.tenant
        FROM ready
        WHERE ready.lane = line.lane AND ready.route = line.route AND ready.queue = line.queue AND ready.key IS NOT NULL
          AND ready.key >= coalesce(line.v - $6, -9223372036854775808)
          AND ready.key <= coalesce(line.v + $8::bigint, 9223372036854775807)
          AND ready.crashes < 2 AND (ready.expires_at IS NULL OR ready.expires_at > foreman_now())
          AND ready.tenant <> ALL (line.passed_over)
        ORDER BY ready.key, ready.job
        LIMIT greatest($5::bigint, 2)
    ) AS found
),
compared AS (
    SELECT found.*, found.key - least(found.first, greatest(found.v, found.first - $9::bigint)) AS behind,
           coalesce(tenants.weight, 1) AS weight
    FROM found LEFT JOIN tenants ON tenants.id = found.tenant
),
placed AS (
    SELECT compared.*, row_number() OVER (PARTITION BY lane ORDER BY behind, job) AS rank,
           ($9 / weight) * row_number() OVER (PARTITION BY lane, tenant ORDER BY behind, job) AS turn
    FROM compared
)
SELECT lane, route, queue, v, first, key, job, tenant, weight
FROM (
    SELECT placed.*, row_number() OVER (PARTITION BY lane ORDER BY turn, behind, job) AS fair_rank FROM placed
) AS placed
WHERE rank <= $5 OR fair_rank <= $5 OR key = first
ORDER BY lane, route, queue, key, job
