-- How many announced jobs of some tenants wait: they are about to run, and take of the room that their tenants have.
-- Looked up by their ids, one by one: a plan that joined would read all of `ready`.
--
--   $1 tenants
SELECT member.tenant, count(*) AS jobs
FROM announcements
CROSS JOIN LATERAL unnest(announcements.jobs, announcements.tenants) AS member (job, tenant)
WHERE member.tenant = ANY ($1::text[])
  AND (SELECT true FROM ready WHERE ready.job = member.job AND ready.announced = announcements.number)
GROUP BY member.tenant
