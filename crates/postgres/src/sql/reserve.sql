-- Reserves places in the fair order: each tenant's last key in a queue and lane moves on by what it is given, from V at least.
--
-- A statement and a transaction of its own, before the batch: the row is hot, and must not stay locked while a batch is on its
-- way to the disk. It does not wait for the disk itself: the batch that uses the keys commits later, and takes this along. A
-- crash in between wastes keys and nothing else. In the order of the names, so that two never wait for each other.
--
--   $1 queues   $2 lanes   $3 tenants   $4 how far each moves on
INSERT INTO shares AS known (queue, lane, tenant, last_key, given)
SELECT asked.queue, asked.lane, asked.tenant, coalesce(lanes.v, 0) + asked.given, asked.given
FROM unnest($1::text[], $2::smallint[], $3::text[], $4::bigint[]) AS asked (queue, lane, tenant, given)
LEFT JOIN lanes ON lanes.queue = asked.queue AND lanes.lane = asked.lane
ORDER BY asked.queue, asked.lane, asked.tenant
ON CONFLICT (queue, lane, tenant) DO UPDATE
SET last_key = greatest(known.last_key + excluded.given, excluded.last_key), given = excluded.given
RETURNING queue, lane, tenant, last_key
