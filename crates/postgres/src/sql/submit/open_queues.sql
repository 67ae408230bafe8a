-- Notes that queues are used, at most every half hour each: a row that is written, or only locked, by every submission would
-- make them wait for one another.
--
--   $1 queues   $2 tenants   $3 how long a note is good for
INSERT INTO queues (queue, tenant, used_at)
SELECT queue, tenant, foreman_now() FROM unnest($1::text[], $2::text[]) AS asked (queue, tenant)
WHERE NOT EXISTS (
    SELECT FROM queues AS known WHERE known.queue = asked.queue AND known.tenant = asked.tenant
    AND known.used_at > foreman_now() - $3::interval)
ORDER BY queue, tenant
ON CONFLICT (queue, tenant) DO UPDATE SET used_at = excluded.used_at
