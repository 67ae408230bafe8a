-- Returns order keys that were reserved and not used, where nobody has reserved since. In the order of the names as the
-- database has it, like reserve.sql: neither waits for the other.
--
--   shares: $1 queues   $2 lanes   $3 routes   $4 tenants
--   $5 the last key that was reserved   $6 the last that was used
WITH given_back AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::smallint[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
           AS given_back (queue, lane, route, tenant, last_key, used)
),
locked AS MATERIALIZED (
    SELECT line_shares.queue, line_shares.lane, line_shares.route, line_shares.tenant FROM line_shares
    JOIN given_back ON given_back.queue = line_shares.queue AND given_back.lane = line_shares.lane
                   AND given_back.route = line_shares.route AND given_back.tenant = line_shares.tenant
    ORDER BY line_shares.queue, line_shares.lane, line_shares.route, line_shares.tenant
    FOR UPDATE OF line_shares
)
UPDATE line_shares SET last_key = given_back.used
FROM locked JOIN given_back USING (queue, lane, route, tenant)
WHERE line_shares.queue = locked.queue AND line_shares.lane = locked.lane AND line_shares.route = locked.route
  AND line_shares.tenant = locked.tenant AND line_shares.last_key = given_back.last_key
