-- Forgets old rows of the change log, but for what the courier has not read yet; that too when it is very old.
--
-- Rows are found by their time, and the courier stands at a position. So the time of the first row that it has not read bounds
-- the search: a courier that stays behind for days does not make every pass walk over all that waits for it. Where the
-- log ended is noted: the end of a log is not taken back.
--
--   $1 limit   $2 how long they are kept   $3 how long at most, read or not
WITH unread AS MATERIALIZED (
    SELECT (SELECT changes.at FROM changes WHERE changes.position > courier.position ORDER BY changes.position LIMIT 1) AS at,
           courier.position
    FROM courier
),
gone AS (
    DELETE FROM changes WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM changes
        WHERE at <= greatest(least(foreman_now() - $2::interval, (SELECT unread.at FROM unread)), foreman_now() - $3::interval)
          AND (position <= coalesce((SELECT unread.position FROM unread), 9223372036854775807)
               OR at <= foreman_now() - $3)
        ORDER BY at LIMIT $1::bigint
        FOR UPDATE SKIP LOCKED)) RETURNING position
),
last AS (SELECT max(position) AS position FROM gone),
kept AS (
    UPDATE log_end SET position = last.position FROM last WHERE last.position > log_end.position
)
SELECT 1 FROM gone
