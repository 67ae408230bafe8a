-- Reserves idempotency keys for the jobs that carry them: a key that is free is taken, an expired one is taken over,
-- and a living one stays with its job. In the order of tenant and key, so that two batches never wait for each other.
--
-- The loser of a race does not see the winner in this statement: who holds the other keys is read in the next. Until
-- this transaction ends they cannot go away, for a row that is not taken over is locked all the same.
--
--   $1 tenants   $2 keys   $3 jobs   $4 fingerprints   $5 how long they are remembered
INSERT INTO idempotency AS known (tenant, key, job, fingerprint, expires_at)
SELECT tenant, key, job, fingerprint, foreman_now() + keep
FROM unnest($1::text[], $2::text[], $3::uuid[], $4::bytea[], $5::interval[]) AS asked (tenant, key, job, fingerprint,
    keep)
ORDER BY tenant, key
ON CONFLICT (tenant, key) DO UPDATE
SET job = excluded.job, fingerprint = excluded.fingerprint, expires_at = excluded.expires_at
WHERE known.expires_at <= foreman_now()
RETURNING job
