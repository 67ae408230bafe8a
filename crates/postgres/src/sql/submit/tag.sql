-- Tags jobs, each by each of its tags once. In order, so that two submissions do not wait for each other crosswise.
--
--   $1 tenants   $2 tags   $3 jobs
INSERT INTO job_tags (tenant, tag, job)
SELECT DISTINCT tenant, tag, job FROM unnest($1::text[], $2::text[], $3::uuid[]) AS asked (tenant, tag, job)
ORDER BY tenant, tag, job ON CONFLICT DO NOTHING
