-- Where there is something to take, and how much: a look without locks, before the statement that takes.
--
-- A line is a lane, a route and a queue. Lines that have something due are found by skipping through the claim index
-- from one queue to the next. That walks over what the vacuum has not taken away yet; so while a scan may begin near V,
-- and the queues on record are few, all of them are looked into instead. Of very many some are looked into at a time,
-- others the next, and each tenant's in turn: nobody hides another's single job among queues without number. A queue
-- that nobody may take from (its tenants have paused it, have no room for another running job, or are disabled) is not
-- looked into.
--
-- A line is looked into at two places, each of them one stretch of the index: up to V, where those wait that were
-- passed over, and beyond it, where newcomers are let in and where the next job of anyone lies whose last one was just
-- served (`foreman_core::fair::window`). Where a line has something waiting further below V than a scan begins, and
-- that is known, the first scan begins there.
--
-- Jobs of several lines are compared by how far they lie behind the front of their own, for each line counts its own
-- service (`foreman_core::fair::front`). The answer names the first of each lane: by that order, and by that order with
-- tenants in turn; the first of each tenant; and all of a line that stand at its first key. Whoever asks decides whose
-- turn it is.
--
-- Whether a tenant is disabled is asked of its row, and of nobody's while none is.
--
--   $1 token   $2 queues, NULL for all   $3 routes   $4 lanes   $5 at most so many of each lane
--   $6 how far below V a scan begins, NULL for the very beginning   $7 tenants that have no room for another running
--   job
--   $8 how far beyond V a scan ends, NULL for the very end   $9 a step of weight 1
--   $10 how many up to V   $11 how many beyond it
--   lines that begin further back: $12 lanes   $13 routes   $14 queues   $15 keys   $16 how far from there a scan goes
WITH RECURSIVE
direction AS MATERIALIZED (
    SELECT lane.lane, route.route,
           $2::text[] IS NULL AND ($6::bigint IS NULL OR (
               SELECT count(*) FROM (SELECT FROM lanes WHERE lanes.lane = lane.lane LIMIT 65) AS few) > 64)
                   AS is_skipped
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
             AND ((SELECT NOT EXISTS (SELECT FROM tenants WHERE tenants.disabled))
                  OR (SELECT tenants.disabled FROM tenants WHERE tenants.id = queues.tenant) IS NOT TRUE)
        WHERE served.lane IN (SELECT lane FROM served GROUP BY lane HAVING count(*) > 256)
    ) AS of_tenant
    GROUP BY lane, route, queue
),
line AS MATERIALIZED (
    SELECT taking_turns.lane, taking_turns.route, taking_turns.queue, coalesce(line_fronts.v, 0) AS v, $7 || ARRAY(
        SELECT queues.tenant FROM queues
        WHERE queues.queue = taking_turns.queue AND queues.paused_at IS NOT NULL) AS passed_over,
        coalesce(further.key, coalesce(line_fronts.v, 0) - $6, -9223372036854775808) AS begins,
        least(coalesce(line_fronts.v, 0), further.key + $16::bigint) AS ends
    FROM (
        SELECT served.*, row_number() OVER (
            PARTITION BY served.lane ORDER BY crowded.place, hashtext(served.queue || $1)) AS turn
        FROM served
        LEFT JOIN crowded ON crowded.lane = served.lane AND crowded.route = served.route
            AND crowded.queue = served.queue
        -- One after the other until the first that may be served: as EXISTS, all tenants of all lines would be gone
        -- through.
        WHERE (SELECT true FROM queues
               WHERE queues.queue = served.queue AND queues.paused_at IS NULL AND queues.tenant <> ALL ($7)
                 AND ((SELECT NOT EXISTS (SELECT FROM tenants WHERE tenants.disabled))
                      OR (SELECT tenants.disabled FROM tenants WHERE tenants.id = queues.tenant) IS NOT TRUE)
               LIMIT 1)
    ) AS taking_turns
    LEFT JOIN line_fronts ON line_fronts.lane = taking_turns.lane AND line_fronts.queue = taking_turns.queue
                         AND line_fronts.route = taking_turns.route
    LEFT JOIN unnest($12::smallint[], $13::text[], $14::text[], $15::bigint[]) AS further (lane, route, queue, key)
           ON further.lane = taking_turns.lane AND further.route = taking_turns.route
          AND further.queue = taking_turns.queue
    WHERE taking_turns.turn <= 256
),
found AS MATERIALIZED (
    SELECT line.lane, line.route, line.queue, line.v, found.key, found.job, found.tenant, found.was_taken_back,
           min(found.key) OVER (PARTITION BY line.lane, line.route, line.queue) AS first
    FROM line
    CROSS JOIN LATERAL (
        (SELECT ready.key, ready.job, ready.tenant, ready.attempt > ready.spent OR ready.crashes > 0 AS was_taken_back
         FROM ready
         WHERE ready.lane = line.lane AND ready.route = line.route AND ready.queue = line.queue
             AND ready.key IS NOT NULL
           AND ready.key >= line.begins AND ready.key <= line.ends
           AND ready.crashes < 2 AND (ready.expires_at IS NULL OR ready.expires_at > foreman_now())
           AND ready.tenant <> ALL (line.passed_over)
           AND ((SELECT NOT EXISTS (SELECT FROM tenants WHERE tenants.disabled))
                OR (SELECT tenants.disabled FROM tenants WHERE tenants.id = ready.tenant) IS NOT TRUE)
         ORDER BY ready.key, ready.job
         LIMIT $10::bigint)
        UNION ALL
        (SELECT ready.key, ready.job, ready.tenant, ready.attempt > ready.spent OR ready.crashes > 0 AS was_taken_back
         FROM ready
         WHERE ready.lane = line.lane AND ready.route = line.route AND ready.queue = line.queue
             AND ready.key IS NOT NULL
           AND ready.key > line.v AND ready.key <= coalesce(line.v + $8::bigint, 9223372036854775807)
           AND ready.crashes < 2 AND (ready.expires_at IS NULL OR ready.expires_at > foreman_now())
           AND ready.tenant <> ALL (line.passed_over)
           AND ((SELECT NOT EXISTS (SELECT FROM tenants WHERE tenants.disabled))
                OR (SELECT tenants.disabled FROM tenants WHERE tenants.id = ready.tenant) IS NOT TRUE)
         ORDER BY ready.key, ready.job
         LIMIT $11::bigint)
    ) AS found
),
-- Asked once for each tenant, not for each of its jobs.
weighed AS MATERIALIZED (
    SELECT whose.tenant, coalesce((SELECT tenants.weight FROM tenants WHERE tenants.id = whose.tenant), 1) AS weight
    FROM (SELECT DISTINCT found.tenant FROM found) AS whose
),
compared AS (
    SELECT found.*, found.key - least(found.first, greatest(found.v, found.first - $9::bigint)) AS behind,
        weighed.weight
    FROM found JOIN weighed ON weighed.tenant = found.tenant
),
placed AS (
    SELECT compared.*, row_number() OVER (PARTITION BY lane ORDER BY behind, job) AS rank,
           row_number() OVER (PARTITION BY lane, tenant ORDER BY behind, job) AS nth
    FROM compared
)
SELECT lane, route, queue, v, first, key, job, tenant, weight, key <= v AND was_taken_back AS is_returned
FROM (
    SELECT placed.*, row_number() OVER (PARTITION BY lane ORDER BY ($9 / weight) * nth, behind, job) AS fair_rank
    FROM placed
) AS placed
WHERE rank <= $5::bigint OR fair_rank <= 2 * $5 OR (nth = 1 AND rank <= 1024) OR key = first
ORDER BY lane, route, queue, key, job
