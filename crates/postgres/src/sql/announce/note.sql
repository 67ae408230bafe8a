-- Notes the batch of the jobs that were just marked, in the transaction that marked them.
--
--   $1 its number   $2 jobs, and of each: $3 tenants   $4 lanes
INSERT INTO announcements (number, at, jobs, tenants, lanes)
VALUES ($1::bigint, foreman_now(), $2::uuid[], $3::text[], $4::smallint[])
RETURNING number
