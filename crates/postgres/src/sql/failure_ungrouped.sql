-- A tenant's jobs that ended in one state and have no group, as one: counted no further than is enough, with the last
-- as a sample. Sorted by the group too, which is NULL for all of them: only then does the planner see that they lie in
-- the order of `failures_of_users`, whose conditions are repeated here. Foreman's own jobs are left out.
--
--   $1 tenant   $2 rows that are enough, and one   $3 state: failed or dead
SELECT NULL::text AS error_group,
       (SELECT count(*) FROM (
            SELECT FROM outcomes
            WHERE outcomes.tenant = $1::text AND outcomes.state = $3::text AND outcomes.state IN ('failed', 'dead')
              AND left(outcomes.queue, 8) <> 'foreman.' AND outcomes.error_group IS NULL
            LIMIT $2::bigint) AS counted) AS jobs,
       first.finished_at, last.finished_at, last.job, last.queue, last.kind, last.report, last.state
FROM (
    SELECT outcomes.finished_at FROM outcomes
    WHERE outcomes.tenant = $1 AND outcomes.state = $3 AND outcomes.state IN ('failed', 'dead')
      AND left(outcomes.queue, 8) <> 'foreman.' AND outcomes.error_group IS NULL
    ORDER BY outcomes.error_group, outcomes.finished_at, outcomes.job LIMIT 1
) AS first
CROSS JOIN LATERAL (
    SELECT outcomes.* FROM outcomes
    WHERE outcomes.tenant = $1 AND outcomes.state = $3 AND outcomes.state IN ('failed', 'dead')
      AND left(outcomes.queue, 8) <> 'foreman.' AND outcomes.error_group IS NULL
    ORDER BY outcomes.error_group DESC, outcomes.finished_at DESC, outcomes.job DESC LIMIT 1
) AS last
