-- Of these jobs, those that exist and are not final: where none of them waits, an attempt holds it. Ids and bounds as in
-- work.sql; each outcome is looked up by itself.
--
--   $1 ids   $2 the lowest of them   $3 the highest
SELECT jobs.id FROM jobs
WHERE jobs.id = ANY ((SELECT $1::uuid[])::uuid[]) AND jobs.id >= $2::uuid AND jobs.id <= $3::uuid
  AND (SELECT true FROM outcomes
       WHERE outcomes.job = jobs.id AND outcomes.job >= $2 AND outcomes.job <= $3) IS NULL
