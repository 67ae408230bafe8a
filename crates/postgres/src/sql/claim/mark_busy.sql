-- Makes lines busy again in which a look from the very beginning found something: what was put back there by a version that
-- knows nothing of idle lines, or while they were being marked, would otherwise be served by such looks alone. A share that
-- somebody has locked is in use and is left alone.
--
--   $1 queues   $2 lanes   $3 routes   $4 tenants
WITH found AS MATERIALIZED (
    SELECT line_shares.queue, line_shares.lane, line_shares.route, line_shares.tenant
    FROM (SELECT unnest($1::text[]) AS queue, unnest($2::smallint[]) AS lane, unnest($3::text[]) AS route,
                 unnest($4::text[]) AS tenant) AS asked
    JOIN line_shares USING (queue, lane, route, tenant)
    WHERE line_shares.idle
    FOR UPDATE OF line_shares SKIP LOCKED
)
UPDATE line_shares SET idle = false, given_at = foreman_now() FROM found
WHERE line_shares.queue = found.queue AND line_shares.lane = found.lane AND line_shares.route = found.route
  AND line_shares.tenant = found.tenant
