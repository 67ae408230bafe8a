-- The jobs of schedules that may not be final, among those of their latest ticks that may have such; the latest first.
-- Whether each is final: it has an outcome, or has been removed.
--
-- Asked under the locks of the schedules' rows and, since a re-drive makes a final job open again, of these ticks, each
-- taken by a statement before this one: what an earlier firing or a re-drive has done is seen, and what a later one
-- does comes after. By subqueries that give one value: beside an OR, the planner may make of EXISTS a table of all
-- there is.
--
--   $1 schedules   $2 among how many
SELECT asked.schedule, fired.nominal, fired.job,
       coalesce((SELECT true FROM outcomes WHERE outcomes.job = fired.job),
                (SELECT false FROM jobs WHERE jobs.id = fired.job), true) AS is_final
FROM unnest($1::uuid[]) AS asked (schedule)
CROSS JOIN LATERAL (
    SELECT ticks.job, ticks.nominal FROM ticks
    WHERE ticks.schedule = asked.schedule AND ticks.open
    ORDER BY ticks.nominal DESC LIMIT $2::bigint
) AS fired
ORDER BY asked.schedule, fired.nominal DESC
