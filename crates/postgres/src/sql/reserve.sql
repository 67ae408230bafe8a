-- Reserves places in the fair order: each tenant's last key in a line moves on by what it is given, from V at least.
--
-- A statement and a transaction of its own, before the batch: the row is hot, and must not stay locked while a batch is
-- on its way to the disk. It does not wait for the disk itself: the batch that uses the keys commits later, and takes
-- this along. A crash in between wastes keys and nothing else. In the order of the names, so that two never wait for
-- each other.
--
-- A step is what a job moves its tenant on by: the heavier the tenant, the smaller. One that nobody made weighs 1.
--
-- A batch that is sent along, in the same round trip, finds its keys in `foreman.keys`: the mark, then the first key and
-- the step of each share, in the order in which they were asked for. A reservation that fails leaves what an earlier one
-- left, and that has another mark.
--
--   $1 queues   $2 lanes   $3 routes   $4 tenants   $5 how many each   $6 a step of weight 1   $7 the mark, or NULL
WITH asked AS MATERIALIZED (
    SELECT asked.*, greatest($6::bigint / coalesce(tenants.weight, 1), 1) AS step
    FROM (SELECT generate_subscripts($1::text[], 1) AS place, unnest($1) AS queue, unnest($2::smallint[]) AS lane,
                 unnest($3::text[]) AS route, unnest($4::text[]) AS tenant, unnest($5::bigint[]) AS number) AS asked
    LEFT JOIN tenants ON tenants.id = asked.tenant
),
given AS (
    INSERT INTO line_shares AS known (queue, lane, route, tenant, last_key, given, given_at)
    SELECT asked.queue, asked.lane, asked.route, asked.tenant,
           coalesce(line_fronts.v, 0) + 1 + (asked.number - 1) * asked.step, asked.number * asked.step, foreman_now()
    FROM asked
    LEFT JOIN line_fronts ON line_fronts.queue = asked.queue AND line_fronts.lane = asked.lane
                         AND line_fronts.route = asked.route
    ORDER BY asked.queue, asked.lane, asked.route, asked.tenant
    ON CONFLICT (queue, lane, route, tenant) DO UPDATE
    SET last_key = greatest(known.last_key + excluded.given, excluded.last_key), given = excluded.given,
        given_at = excluded.given_at, idle = false
    RETURNING queue, lane, route, tenant, last_key
),
taken AS MATERIALIZED (
    SELECT given.queue, given.lane, given.route, given.tenant, given.last_key, asked.step, asked.place,
           given.last_key - asked.step * (asked.number - 1) AS first_key
    FROM given
    JOIN asked ON asked.queue = given.queue AND asked.lane = given.lane AND asked.route = given.route
              AND asked.tenant = given.tenant
),
left_here AS MATERIALIZED (
    SELECT set_config('foreman.keys', $7::text || ' ' || string_agg(first_key || ' ' || step, ' ' ORDER BY place), false)
    FROM taken HAVING $7 IS NOT NULL
)
SELECT queue, lane, route, tenant, last_key, step, (SELECT count(*) FROM left_here) AS left_here FROM taken
