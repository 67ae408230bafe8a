-- Forgets old ticks, but for the latest of every schedule that exists, which says what became of it; those that are held; and
-- those whose job is not final, by which an overlap is judged.
--
--   $1 limit   $2 how long they are kept
DELETE FROM ticks WHERE ctid = ANY (ARRAY(
    SELECT old.ctid FROM ticks AS old
    WHERE old.at <= foreman_now() - $2::interval AND old.state <> 'held'
      AND (old.job IS NULL
           OR EXISTS (SELECT FROM outcomes WHERE outcomes.job = old.job)
           OR NOT EXISTS (SELECT FROM jobs WHERE jobs.id = old.job))
      AND (EXISTS (SELECT FROM ticks AS later WHERE later.schedule = old.schedule AND later.nominal > old.nominal)
           OR NOT EXISTS (SELECT FROM schedules WHERE schedules.id = old.schedule))
    ORDER BY old.at LIMIT $1::bigint
    FOR UPDATE OF old SKIP LOCKED))
RETURNING 1
