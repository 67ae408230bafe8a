-- Forgets old rows of the change log, from its beginning, but for what a follower has not read yet; that too when it is
-- very old.
--
-- A row's time is when its transaction began, and its position is drawn at its end: an older row may stand behind a
-- younger one. So rows are taken in the order of their positions, up to the first that stays, and nothing behind a row
-- that stays is removed: whoever reads on from there is not told that the log was cut. Where it ended is noted: the end
-- of a log is not taken back.
--
-- Reads at most $1 rows, by the primary key, and the few of `followers`. Answers one row: how many are gone, and the
-- follower for which a row stays that has outlived its retention.
--
--   $1 limit   $2 how long they are kept   $3 how long at most, read or not
WITH last_reader AS MATERIALIZED (
    SELECT followers.name, followers.position FROM followers WHERE followers.holds_log
    ORDER BY followers.position, followers.name LIMIT 1
),
first AS MATERIALIZED (
    SELECT changes.ctid AS spot, changes.position, changes.at <= foreman_now() - $2::interval AS is_old,
           changes.at <= foreman_now() - $3::interval
               OR changes.position <= coalesce((SELECT last_reader.position FROM last_reader),
                   9223372036854775807) AS is_free
    FROM changes ORDER BY changes.position LIMIT $1::bigint
),
stays AS MATERIALIZED (
    SELECT first.position, first.is_old FROM first WHERE NOT (first.is_old AND first.is_free)
    ORDER BY first.position LIMIT 1
),
gone AS (
    DELETE FROM changes WHERE ctid = ANY (ARRAY(
        SELECT spot FROM first
        WHERE position < coalesce((SELECT stays.position FROM stays), 9223372036854775807)))
    RETURNING position
),
last AS (SELECT max(position) AS position FROM gone),
kept AS (
    UPDATE log_end SET position = last.position FROM last WHERE last.position > log_end.position
)
SELECT (SELECT count(*) FROM gone) AS removed,
       (SELECT last_reader.name FROM last_reader, stays WHERE stays.is_old) AS held_by
