-- Forgets batches that nobody answered for, or that are old: what still waits of them is unmarked.
--
-- The batches first, then jobs in the order of their ids, as everyone who waits for jobs takes them. A batch that
-- somebody else has locked is being answered for, or forgotten.
--
--   $1 unanswered for so long   $2 older than that   $3 so many batches
WITH over AS MATERIALIZED (
    SELECT number, jobs FROM announcements
    WHERE at <= foreman_now() - $2::interval OR NOT acknowledged AND at <= foreman_now() - $1::interval
    ORDER BY number LIMIT $3::bigint
    FOR UPDATE SKIP LOCKED
),
forgotten AS (
    DELETE FROM announcements USING over WHERE announcements.number = over.number
),
marked AS MATERIALIZED (
    SELECT ready.job FROM ready
    WHERE ready.job = ANY (ARRAY(SELECT unnest(over.jobs) FROM over))
      AND ready.announced = ANY (ARRAY(SELECT over.number FROM over))
    ORDER BY ready.job
    FOR UPDATE
)
UPDATE ready SET announced = NULL FROM marked WHERE ready.job = marked.job RETURNING ready.job
