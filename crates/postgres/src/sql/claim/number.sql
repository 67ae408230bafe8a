-- Out of `ready`, into one numbered claim: both ways to claim go on here, and each has an end of its own.
--
-- The number is drawn after the rows are taken, in this very statement: one drawn before could be overtaken. What was
-- asked of the jobs is read by a statement of its own, along with the commit: here, where their ids are not known
-- beforehand, every partition would be locked.
members AS MATERIALIZED (
    SELECT taken.*, picked.rank FROM taken JOIN picked ON picked.job = taken.job
),
claim AS (
    INSERT INTO claims (number, session, token, claimed_at, jobs, tenants, queues, routes, lanes, kinds, run_at,
                        expires_at, attempt, spent, crashes, moves, open)
    SELECT nextval('claim_numbers'), $1, $2, foreman_now(), array_agg(job), array_agg(tenant), array_agg(queue),
           array_agg(route), array_agg(lane), array_agg(kind), array_agg(run_at), array_agg(expires_at),
           array_agg(attempt + 1), array_agg(spent + 1), array_agg(crashes),
           array_agg(foreman_counted(moves, attempt) + 1), repeat('1', count(*)::integer)::bit varying
    FROM (SELECT * FROM members ORDER BY rank) AS members
    HAVING count(*) > 0
    RETURNING number, claimed_at
)
