-- The largest groups of a tenant's jobs that ended in one state, each with its last job as a sample, and whether the
-- walk has seen all of them. Foreman's own jobs are left out.
--
-- `walk` goes from one group to the next by `failures_of_users`, so far as is looked at and one further: that one says
-- that there are more. Then, and only then, which groups it met was left to chance, and those among the `newest` of the
-- state join them, so that what is failing now is not missed. `counted` counts each no further than is enough, and only
-- the largest are looked at more closely. The conditions of the index are repeated at each step, for the planner
-- compares them word by word.
--
--   $1 tenant   $2 rows that are enough, and one   $3 how many groups   $4 how many at most are looked at, of each kind
--   $5 state: failed or dead
WITH RECURSIVE walk (error_group, step) AS (
    (SELECT outcomes.error_group, 1 FROM outcomes
     WHERE outcomes.tenant = $1::text AND outcomes.state = $5::text AND outcomes.state IN ('failed', 'dead')
       AND left(outcomes.queue, 8) <> 'foreman.' AND outcomes.error_group IS NOT NULL
     ORDER BY outcomes.error_group LIMIT 1)
    UNION ALL
    SELECT (SELECT outcomes.error_group FROM outcomes
            WHERE outcomes.tenant = $1 AND outcomes.state = $5 AND outcomes.state IN ('failed', 'dead')
              AND left(outcomes.queue, 8) <> 'foreman.' AND outcomes.error_group > walk.error_group
            ORDER BY outcomes.error_group LIMIT 1), walk.step + 1
    FROM walk WHERE walk.error_group IS NOT NULL AND walk.step <= $4::bigint
),
newest AS MATERIALIZED (
    SELECT outcomes.error_group, outcomes.finished_at FROM outcomes
    WHERE outcomes.tenant = $1 AND outcomes.state = $5 AND left(outcomes.queue, 8) <> 'foreman.'
      AND EXISTS (SELECT FROM walk WHERE walk.step > $4 AND walk.error_group IS NOT NULL)
    ORDER BY outcomes.finished_at DESC, outcomes.job DESC LIMIT 10000
),
frequent AS MATERIALIZED (
    SELECT newest.error_group FROM newest WHERE newest.error_group IS NOT NULL
    GROUP BY newest.error_group ORDER BY count(*) DESC, max(newest.finished_at) DESC LIMIT $4
),
candidate AS MATERIALIZED (
    SELECT walk.error_group FROM walk WHERE walk.error_group IS NOT NULL AND walk.step <= $4
    UNION
    SELECT frequent.error_group FROM frequent
),
counted AS MATERIALIZED (
    SELECT candidate.error_group,
           (SELECT count(*) FROM (
                SELECT FROM outcomes
                WHERE outcomes.tenant = $1 AND outcomes.state = $5 AND outcomes.state IN ('failed', 'dead')
                  AND left(outcomes.queue, 8) <> 'foreman.' AND outcomes.error_group = candidate.error_group
                LIMIT $2::bigint) AS counted) AS jobs,
           (SELECT outcomes.finished_at FROM outcomes
            WHERE outcomes.tenant = $1 AND outcomes.state = $5 AND outcomes.state IN ('failed', 'dead')
              AND left(outcomes.queue, 8) <> 'foreman.' AND outcomes.error_group = candidate.error_group
            ORDER BY outcomes.finished_at DESC LIMIT 1) AS last_at
    FROM candidate
),
largest AS MATERIALIZED (
    SELECT * FROM counted ORDER BY least(counted.jobs, $2 - 1) DESC, counted.last_at DESC LIMIT $3::bigint
)
SELECT largest.error_group, largest.jobs, first.finished_at, last.finished_at, last.job, last.queue, last.kind,
    last.report,
       last.state, NOT EXISTS (SELECT FROM walk WHERE walk.step > $4 AND walk.error_group IS NOT NULL) AS saw_all
FROM largest
CROSS JOIN LATERAL (
    SELECT outcomes.finished_at FROM outcomes
    WHERE outcomes.tenant = $1 AND outcomes.state = $5 AND outcomes.state IN ('failed', 'dead')
      AND left(outcomes.queue, 8) <> 'foreman.' AND outcomes.error_group = largest.error_group
    ORDER BY outcomes.finished_at, outcomes.job LIMIT 1
) AS first
CROSS JOIN LATERAL (
    SELECT outcomes.* FROM outcomes
    WHERE outcomes.tenant = $1 AND outcomes.state = $5 AND outcomes.state IN ('failed', 'dead')
      AND left(outcomes.queue, 8) <> 'foreman.' AND outcomes.error_group = largest.error_group
    ORDER BY outcomes.finished_at DESC, outcomes.job DESC LIMIT 1
) AS last
