-- Which jobs hold these idempotency keys.
--
--   $1 tenants   $2 keys
SELECT idempotency.job, idempotency.tenant, idempotency.key, idempotency.fingerprint
FROM unnest($1::text[], $2::text[]) AS asked (tenant, key)
JOIN idempotency ON idempotency.tenant = asked.tenant AND idempotency.key = asked.key
