-- One step of the plan. Each line (a queue and a route) is one short scan of the claim index; lines are compared by how far
-- their jobs lie behind the front of their own queue, for each queue counts its own service.
pick_{n} AS MATERIALIZED (
    SELECT found.spot, found.job, found.key - coalesce(lanes.v, 0) AS behind
    FROM line
    LEFT JOIN lanes ON lanes.queue = line.queue AND lanes.lane = {lane}::smallint
    CROSS JOIN LATERAL (
        SELECT ready.ctid AS spot, ready.key, ready.job
        FROM ready
        WHERE ready.queue = line.queue AND ready.route = line.route AND ready.lane = {lane} AND ready.key IS NOT NULL
          AND ready.key >= coalesce(lanes.v - $7::bigint, -9223372036854775808)
          AND ready.crashes < 2 AND (ready.expires_at IS NULL OR ready.expires_at > foreman_now())
          AND ready.tenant <> ALL (line.paused){not_picked}
        ORDER BY ready.key, ready.job
        LIMIT {room}
        FOR UPDATE OF ready SKIP LOCKED
    ) AS found
    ORDER BY behind, found.job
    LIMIT {room}
),
