-- The jobs of schedules that are not final, among those of their latest fired ticks; the latest first.
--
-- Asked under the locks of the schedules' rows, in a statement after the one that took them: whatever an earlier firing has
-- made is seen.
--
--   $1 schedules   $2 among how many
SELECT asked.schedule, fired.job
FROM unnest($1::uuid[]) AS asked (schedule)
CROSS JOIN LATERAL (
    SELECT ticks.job, ticks.nominal FROM ticks
    WHERE ticks.schedule = asked.schedule AND ticks.job IS NOT NULL
    ORDER BY ticks.nominal DESC LIMIT $2::bigint
) AS fired
WHERE NOT EXISTS (SELECT FROM outcomes WHERE outcomes.job = fired.job)
  AND EXISTS (SELECT FROM jobs WHERE jobs.id = fired.job)
ORDER BY asked.schedule, fired.nominal DESC
