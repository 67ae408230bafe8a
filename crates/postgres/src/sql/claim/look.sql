-- Where there is something to take: a look without locks, before the statement that takes.
--
-- A line is a lane, a route and a queue. Those that may have something waiting are known (`line_shares.idle`), and while
-- they are few all of them are looked into. Where they are many, some are looked into at a time, going on where the
-- last look stopped, and beside them the latest lines of some tenants, also in turn. So a look costs the same however
-- many queues there are, every line has its turn, and nobody hides another's single job among queues without number.
-- A look from the very beginning (now and then, for what was left further back) skips through `ready` itself from one
-- queue to the next as well, and sees what waits whatever is on record; what it takes is shared like any other claim.
--
-- A queue that nobody may take from (its tenants have paused it, have no room for another running job, or are disabled)
-- is not looked into.
--
-- A line is looked into at two places, each of them one stretch of the index: up to V, where those wait that were
-- passed over, and beyond it, where newcomers are let in and where the next job of anyone lies whose last one was just
-- served (`foreman_core::fair::window`). The first begins a little below V, or where the first of the line stood a
-- moment ago if that is nearer: what was taken in front of it is dead and is not walked over again. Where something is
-- known to wait further below V, it begins there.
--
-- Of each line the first is read. Where only one line has anything, that is enough: what comes after it is taken in its
-- order. Where several have, each gives as many more as its part of the claim may be; which of them are taken is worked
-- out by the caller.
--
--   $1 queues, NULL for all   $2 routes   $3 lanes   $4 so many are wanted
--   $5 how far below V a scan begins, NULL for the very beginning
--   $6 tenants that have no room for another running job   $7 how far beyond V a scan ends, NULL for the very end
--   where the first of a line stood: $8 lanes   $9 routes   $10 queues   $11 keys
--   lines that begin further back: $12 lanes   $13 routes   $14 queues   $15 keys   $16 how far from there a scan goes
--   $17 of each line as many as are wanted, not only its part
--   where the last look stopped: $18 lanes   $19 routes   $20 queues   $21 tenants
--   $22 so many lines of a lane and route at most
WITH RECURSIVE
direction AS MATERIALIZED (
    SELECT lane.lane, route.route, coalesce(stopped.queue, '') AS after_queue,
           coalesce(stopped.tenant, '') AS after_tenant,
           CASE WHEN $1::text[] IS NOT NULL THEN 'named' WHEN $5::bigint IS NULL THEN 'skipped' ELSE 'in turn' END AS way,
           -- A worker with many tasks looks into fewer lines of each.
           least($22::bigint, greatest(32, 768 / greatest(cardinality($2::text[]), 1))) AS most
    FROM (SELECT DISTINCT unnest($3::smallint[]) AS lane) AS lane
    CROSS JOIN (SELECT DISTINCT unnest($2::text[]) AS route) AS route
    LEFT JOIN (SELECT unnest($18::smallint[]) AS lane, unnest($19::text[]) AS route, unnest($20::text[]) AS queue,
                      unnest($21::text[]) AS tenant) AS stopped
           ON stopped.lane = lane.lane AND stopped.route = route.route
),
skipped (lane, route, queue, nth) AS (
    SELECT direction.lane, direction.route, (
        SELECT ready.queue FROM ready
        WHERE ready.lane = direction.lane AND ready.route = direction.route AND ready.key IS NOT NULL
          AND ready.queue > direction.after_queue
        ORDER BY ready.queue LIMIT 1), 1
    FROM direction WHERE direction.way = 'skipped'
    UNION ALL
    SELECT skipped.lane, skipped.route, (
        SELECT ready.queue FROM ready
        WHERE ready.lane = skipped.lane AND ready.route = skipped.route AND ready.key IS NOT NULL
          AND ready.queue > skipped.queue
        ORDER BY ready.queue LIMIT 1), skipped.nth + 1
    FROM skipped WHERE skipped.queue IS NOT NULL AND skipped.nth < 128
),
-- Round: after the last line comes the first, until the one where it began.
-- One more than is looked into tells whether there are more.
busy (lane, route, queue, nth, after_queue, is_round, most) AS (
    SELECT direction.lane, direction.route, next.queue, 1, direction.after_queue, next.is_round, direction.most
    FROM direction
    CROSS JOIN LATERAL (
        (SELECT line_shares.queue, direction.after_queue = '' AS is_round FROM line_shares
         WHERE line_shares.lane = direction.lane AND line_shares.route = direction.route AND NOT line_shares.idle
           AND line_shares.queue > direction.after_queue
         ORDER BY line_shares.queue LIMIT 1)
        UNION ALL
        (SELECT line_shares.queue, true FROM line_shares
         WHERE line_shares.lane = direction.lane AND line_shares.route = direction.route AND NOT line_shares.idle
           AND direction.after_queue > ''
         ORDER BY line_shares.queue LIMIT 1)
        LIMIT 1
    ) AS next
    WHERE direction.way <> 'named'
    UNION ALL
    SELECT busy.lane, busy.route, next.queue, busy.nth + 1, busy.after_queue, next.is_round, busy.most
    FROM busy
    CROSS JOIN LATERAL (
        (SELECT line_shares.queue, busy.is_round AS is_round FROM line_shares
         WHERE line_shares.lane = busy.lane AND line_shares.route = busy.route AND NOT line_shares.idle
           AND line_shares.queue > busy.queue
         ORDER BY line_shares.queue LIMIT 1)
        UNION ALL
        (SELECT line_shares.queue, true FROM line_shares
         WHERE line_shares.lane = busy.lane AND line_shares.route = busy.route AND NOT line_shares.idle
           AND NOT busy.is_round
         ORDER BY line_shares.queue LIMIT 1)
        LIMIT 1
    ) AS next
    WHERE busy.nth <= busy.most AND (NOT next.is_round OR busy.after_queue = '' OR next.queue <= busy.after_queue)
),
present (lane, route, tenant, nth) AS (
    SELECT direction.lane, direction.route, (
        SELECT line_shares.tenant FROM line_shares
        WHERE line_shares.lane = direction.lane AND line_shares.route = direction.route AND NOT line_shares.idle
          AND line_shares.tenant > direction.after_tenant
        ORDER BY line_shares.tenant LIMIT 1), 1
    FROM direction
    WHERE direction.way <> 'named'
      AND EXISTS (SELECT FROM busy WHERE busy.lane = direction.lane AND busy.route = direction.route
                  AND busy.nth > direction.most)
    UNION ALL
    SELECT present.lane, present.route, (
        SELECT line_shares.tenant FROM line_shares
        WHERE line_shares.lane = present.lane AND line_shares.route = present.route AND NOT line_shares.idle
          AND line_shares.tenant > present.tenant
        ORDER BY line_shares.tenant LIMIT 1), present.nth + 1
    FROM present WHERE present.tenant IS NOT NULL AND present.nth < 32
),
served AS MATERIALIZED (
    SELECT lane, route, queue FROM skipped WHERE queue IS NOT NULL
    UNION
    SELECT lane, route, queue FROM busy WHERE nth <= most
    UNION
    SELECT direction.lane, direction.route, further.queue
    FROM direction
    JOIN (SELECT unnest($12::smallint[]) AS lane, unnest($13::text[]) AS route, unnest($14::text[]) AS queue) AS further
      ON further.lane = direction.lane AND further.route = direction.route
    WHERE direction.way <> 'named'
    UNION
    SELECT present.lane, present.route, latest.queue
    FROM present
    CROSS JOIN LATERAL (
        SELECT known.queue
        FROM (
            SELECT line_shares.queue, line_shares.given_at FROM line_shares
            WHERE line_shares.lane = present.lane AND line_shares.route = present.route AND NOT line_shares.idle
              AND line_shares.tenant = present.tenant
            ORDER BY line_shares.queue LIMIT 32
        ) AS known
        ORDER BY coalesce(known.given_at, '-infinity') DESC LIMIT 4
    ) AS latest
    UNION
    SELECT direction.lane, direction.route, named.queue
    FROM direction CROSS JOIN (SELECT DISTINCT unnest($1) AS queue) AS named WHERE direction.way = 'named'
),
line AS MATERIALIZED (
    SELECT served.lane, served.route, served.queue, coalesce(line_fronts.v, 0) AS v, $6::text[] || ARRAY(
        SELECT queues.tenant FROM queues WHERE queues.queue = served.queue AND queues.paused_at IS NOT NULL
    ) AS passed_over,
           coalesce(further.key, greatest(coalesce(line_fronts.v, 0) - $5, seen.key), -9223372036854775808) AS begins,
           least(coalesce(line_fronts.v, 0), further.key + $16::bigint) AS ends,
           coalesce(line_fronts.v + $7::bigint, $7, 9223372036854775807) AS beyond
    FROM served
    LEFT JOIN line_fronts ON line_fronts.lane = served.lane AND line_fronts.queue = served.queue
                         AND line_fronts.route = served.route
    LEFT JOIN (SELECT unnest($8::smallint[]) AS lane, unnest($9::text[]) AS route, unnest($10::text[]) AS queue,
                      unnest($11::bigint[]) AS key
               -- One row, of which the planner expects many: otherwise it would compare each with each.
               FROM generate_series(1, least(1, cardinality($8::smallint[])))) AS seen
           ON $5 IS NOT NULL AND seen.lane = served.lane AND seen.route = served.route AND seen.queue = served.queue
          -- V of a line that was forgotten begins anew.
          AND seen.key <= coalesce(line_fronts.v, 0)
    LEFT JOIN (SELECT unnest($12::smallint[]) AS lane, unnest($13::text[]) AS route, unnest($14::text[]) AS queue,
                      unnest($15::bigint[]) AS key
               FROM generate_series(1, least(1, cardinality($12::smallint[])))) AS further
           ON further.lane = served.lane AND further.route = served.route AND further.queue = served.queue
    -- One after the other until the first that may be served: as EXISTS, all tenants of all lines would be gone
    -- through. IS TRUE keeps the planner from the index of queues by their use, which it would go through from end to end.
    WHERE (SELECT true FROM queues
           WHERE queues.queue = served.queue AND (queues.paused_at IS NULL) IS TRUE AND queues.tenant <> ALL ($6)
             AND ((SELECT NOT EXISTS (SELECT FROM tenants WHERE tenants.disabled))
                  OR (SELECT tenants.disabled FROM tenants WHERE tenants.id = queues.tenant) IS NOT TRUE)
           LIMIT 1)
),
front AS MATERIALIZED (
    SELECT row_number() OVER () AS number, line.*, found.*, count(*) OVER (PARTITION BY line.lane) AS lines,
           count(*) OVER () AS all_lines,
           -- Behind the first, and beyond V: one place, so that a scan begins there and nowhere before.
           greatest(found.key, line.v) AS high_key,
           CASE WHEN found.key > line.v THEN found.job ELSE 'ffffffff-ffff-ffff-ffff-ffffffffffff' END AS high_job
    FROM line
    CROSS JOIN LATERAL (
        SELECT either.* FROM (
            (SELECT ready.key, ready.job, ready.tenant, ready.attempt > ready.spent OR ready.crashes > 0 AS was_taken_back
             FROM ready
             WHERE ready.lane = line.lane AND ready.route = line.route AND ready.queue = line.queue
               AND ready.key IS NOT NULL AND ready.key >= line.begins AND ready.key <= line.ends
               AND ready.crashes < 2 AND (ready.expires_at IS NULL OR ready.expires_at > (SELECT foreman_now()))
               AND ready.tenant <> ALL (line.passed_over)
               AND ((SELECT NOT EXISTS (SELECT FROM tenants WHERE tenants.disabled))
                    OR (SELECT tenants.disabled FROM tenants WHERE tenants.id = ready.tenant) IS NOT TRUE)
             ORDER BY ready.key, ready.job LIMIT 1)
            UNION ALL
            (SELECT ready.key, ready.job, ready.tenant, ready.attempt > ready.spent OR ready.crashes > 0 AS was_taken_back
             FROM ready
             WHERE ready.lane = line.lane AND ready.route = line.route AND ready.queue = line.queue
               AND ready.key IS NOT NULL AND ready.key > line.v AND ready.key <= line.beyond
               AND ready.crashes < 2 AND (ready.expires_at IS NULL OR ready.expires_at > (SELECT foreman_now()))
               AND ready.tenant <> ALL (line.passed_over)
               AND ((SELECT NOT EXISTS (SELECT FROM tenants WHERE tenants.disabled))
                    OR (SELECT tenants.disabled FROM tenants WHERE tenants.id = ready.tenant) IS NOT TRUE)
             ORDER BY ready.key, ready.job LIMIT 1)
        ) AS either
        LIMIT 1
    ) AS found
),
rest AS MATERIALIZED (
    SELECT front.number, found.key, found.job, found.tenant, found.key <= front.v AND found.was_taken_back AS is_returned
    FROM front
    CROSS JOIN LATERAL (
        (SELECT ready.key, ready.job, ready.tenant, ready.attempt > ready.spent OR ready.crashes > 0 AS was_taken_back
         FROM ready
         WHERE ready.lane = front.lane AND ready.route = front.route AND ready.queue = front.queue
           AND ready.key IS NOT NULL AND (ready.key, ready.job) > (front.key, front.job) AND ready.key <= front.ends
           AND ready.crashes < 2 AND (ready.expires_at IS NULL OR ready.expires_at > (SELECT foreman_now()))
           AND ready.tenant <> ALL (front.passed_over)
           AND ((SELECT NOT EXISTS (SELECT FROM tenants WHERE tenants.disabled))
                OR (SELECT tenants.disabled FROM tenants WHERE tenants.id = ready.tenant) IS NOT TRUE)
         ORDER BY ready.key, ready.job
         LIMIT CASE WHEN $17::boolean THEN $4::bigint ELSE least($4, 5 * $4 / (4 * front.lines) + 4) END)
        UNION ALL
        (SELECT ready.key, ready.job, ready.tenant, ready.attempt > ready.spent OR ready.crashes > 0 AS was_taken_back
         FROM ready
         WHERE ready.lane = front.lane AND ready.route = front.route AND ready.queue = front.queue
           AND ready.key IS NOT NULL AND (ready.key, ready.job) > (front.high_key, front.high_job)
           AND ready.key <= front.beyond
           AND ready.crashes < 2 AND (ready.expires_at IS NULL OR ready.expires_at > (SELECT foreman_now()))
           AND ready.tenant <> ALL (front.passed_over)
           AND ((SELECT NOT EXISTS (SELECT FROM tenants WHERE tenants.disabled))
                OR (SELECT tenants.disabled FROM tenants WHERE tenants.id = ready.tenant) IS NOT TRUE)
         ORDER BY ready.key, ready.job
         LIMIT CASE WHEN $17 THEN greatest($4, 4) ELSE least($4, 5 * $4 / (4 * front.lines)) + 4 END)
    ) AS found
    -- One line has it all, and nothing of it was passed over: its order is the order. But where few are wanted, and two
    -- tenants stand at the same place, it is a matter of turns.
    WHERE front.all_lines > 1 OR front.key < front.v OR $4 <= 8
)
-- A row for each line, then what comes after its first; weights that are not 1; where this look stopped.
SELECT number, lane, route, queue, v, key, job, tenant, key <= v AND was_taken_back AS is_returned,
       NULL::integer AS weight,
       passed_over = '{}' AND (SELECT NOT EXISTS (SELECT FROM tenants WHERE tenants.disabled)) AS passes_nobody
FROM front
UNION ALL
SELECT number, NULL, NULL, NULL, NULL, key, job, tenant, is_returned, NULL, NULL FROM rest
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, weighed.tenant, NULL, weighed.weight, NULL
FROM (
    -- Asked once for each tenant, not for each of its jobs, and not of all tenants.
    SELECT whose.tenant, (SELECT tenants.weight FROM tenants WHERE tenants.id = whose.tenant) AS weight
    FROM (SELECT tenant FROM front UNION SELECT tenant FROM rest) AS whose
    OFFSET 0
) AS weighed
WHERE weighed.weight <> 1
UNION ALL
SELECT NULL, direction.lane, direction.route, CASE WHEN direction.way = 'skipped' THEN skipped.queue ELSE busy.queue END,
       NULL, NULL, NULL, present.tenant, NULL, NULL, NULL
FROM direction
LEFT JOIN busy ON busy.lane = direction.lane AND busy.route = direction.route AND busy.nth = direction.most
               AND EXISTS (SELECT FROM busy AS more WHERE more.lane = direction.lane AND more.route = direction.route
                           AND more.nth > direction.most)
LEFT JOIN skipped ON skipped.lane = direction.lane AND skipped.route = direction.route AND skipped.nth = 128
LEFT JOIN present ON present.lane = direction.lane AND present.route = direction.route AND present.nth = 32
WHERE direction.way <> 'named'
