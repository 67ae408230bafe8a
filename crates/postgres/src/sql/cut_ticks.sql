-- Forgets old ticks, but for the latest of every schedule that exists, which says what became of it; those that are
-- held; and those whose job is not final, by which an overlap is judged.
--
-- Each is looked up by a subquery that gives one value: where EXISTS stands beside an OR, the planner may read all of
-- `jobs` and `outcomes` into a table of its own first.
--
--   $1 limit   $2 how long they are kept
DELETE FROM ticks WHERE ctid = ANY (ARRAY(
    SELECT old.ctid FROM ticks AS old
    WHERE old.at <= foreman_now() - $2::interval AND old.state <> 'held'
      AND (old.job IS NULL
           OR (SELECT true FROM outcomes WHERE outcomes.job = old.job)
           OR (SELECT true FROM jobs WHERE jobs.id = old.job) IS NULL)
      AND ((SELECT true FROM ticks AS later WHERE later.schedule = old.schedule AND later.nominal > old.nominal LIMIT 1)
           OR (SELECT true FROM schedules WHERE schedules.id = old.schedule) IS NULL)
    ORDER BY old.at LIMIT $1::bigint
    FOR UPDATE OF old SKIP LOCKED))
RETURNING 1
