-- The one way out: writes the outcome of every job that ends, whatever ended it.
--
-- Everything comes from `closing`, where `state` is the final state, or NULL for a job that goes on. A job that ended
-- while it waited has no claim. The time is asked for once: written plainly, it is worked out for every row.
finished AS (
    INSERT INTO outcomes (job, tenant, state, queue, kind, finished_at, attempt, spent, crashes, moves, run_at, claim,
                          settled, session, worker, started_at, report, error_group)
    SELECT job, tenant, state, queue, kind, (SELECT foreman_now()), attempt, spent, crashes, moves + 1, run_at, claim,
           settled, session, worker, claimed_at, report, error_group
    FROM closing WHERE state IS NOT NULL
)
