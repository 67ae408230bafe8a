-- Takes the outcomes of final jobs away and keeps them as attempts. The delete is the compare-and-set: of two re-drives
-- one finds the row, the other waits for it and finds none.
--
--   $1 jobs   $2 tenant
WITH locked AS MATERIALIZED (
    SELECT outcomes.job FROM outcomes
    WHERE outcomes.job = ANY ($1::uuid[]) AND outcomes.tenant = $2::text ORDER BY outcomes.job FOR UPDATE
),
gone AS (
    -- By the ids too, for they say which partitions are concerned.
    DELETE FROM outcomes USING locked WHERE outcomes.job = locked.job AND outcomes.job = ANY ($1) RETURNING outcomes.*
),
recorded AS (
    INSERT INTO attempts (job, claim, number, settled, session, worker, started_at, finished_at, outcome, report)
    SELECT job, claim, CASE WHEN claim IS NULL THEN 0 ELSE attempt END, settled, session, worker, started_at,
        finished_at,
           state, report
    FROM gone
)
SELECT gone.job, gone.attempt, foreman_counted(gone.moves, gone.attempt) AS moves FROM gone
