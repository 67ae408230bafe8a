-- Forgets old rows of the change log, from its beginning, but for what the courier has not read yet; that too when it is very old.
--
-- A row's time is when its transaction began, and its position is drawn at its end: an older row may stand behind a younger one. So
-- rows are taken in the order of their positions, up to the first that stays, and nothing behind a row that stays is removed: whoever reads on from
-- there is not told that the log was cut. Where it ended is noted: the end of a log is not taken back.
--
-- Reads at most $1 rows, by the primary key.
--
--   $1 limit   $2 how long they are kept   $3 how long at most, read or not
WITH first AS MATERIALIZED (
    SELECT changes.ctid AS spot, changes.position,
           changes.at <= foreman_now() - $3::interval
               OR changes.at <= foreman_now() - $2::interval
                  AND changes.position <= coalesce((SELECT courier.position FROM courier), 9223372036854775807) AS is_old
    FROM changes ORDER BY changes.position LIMIT $1::bigint
),
gone AS (
    DELETE FROM changes WHERE ctid = ANY (ARRAY(
        SELECT spot FROM first
        WHERE position < coalesce((SELECT min(position) FROM first WHERE NOT is_old), 9223372036854775807)))
    RETURNING position
),
last AS (SELECT max(position) AS position FROM gone),
kept AS (
    UPDATE log_end SET position = last.position FROM last WHERE last.position > log_end.position
)
SELECT 1 FROM gone
