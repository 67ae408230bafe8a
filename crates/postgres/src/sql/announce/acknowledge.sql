-- The broker has answered for a batch: what it did not accept is unmarked, and announced again after a pause.
--
-- The batch first, then jobs in the order of their ids, as everyone who waits for jobs takes them. A batch that was
-- answered for before, or is forgotten, changes nothing; a job that has another mark by now, or none, is not its own.
--
--   $1 the batch   $2 places of the jobs that failed, from 1   $3 pauses after the first refusal, the second, …
WITH answered AS MATERIALIZED (
    UPDATE announcements SET acknowledged = true WHERE number = $1::bigint AND NOT acknowledged RETURNING jobs
),
failed AS MATERIALIZED (
    SELECT ready.job
    FROM ready
    WHERE ready.job = ANY (ARRAY(SELECT answered.jobs[place] FROM answered CROSS JOIN unnest($2::integer[]) AS place))
      AND ready.announced = $1
    ORDER BY ready.job
    FOR UPDATE
)
UPDATE ready
SET announced = NULL, refusals = coalesce(ready.refusals, 0) + 1,
    announce_at = foreman_now() + ($3::interval[])[least(coalesce(ready.refusals, 0) + 1, cardinality($3))]
FROM failed WHERE ready.job = failed.job
RETURNING ready.job
