-- Returns what a dead session held: the second statement of a sweep.
--
-- The first one locked the session's row, looked again and marked it dead for ever. As one statement the sweep would
-- miss the very claim it had waited for. Each job counts one crash more; at its last crash, or without an attempt left,
-- it is dead.
--
--   $1 session   $2 so many crashes are the end
--   reports: $3 it goes on, $4 no attempt left, $5 poison, with % for the crashes
--   groups of the errors: $6 no attempt left, $7 poison
WITH locked AS MATERIALIZED (
    SELECT * FROM claims WHERE session = $1::uuid ORDER BY number FOR UPDATE
),
lost AS MATERIALIZED (
    SELECT locked.number, locked.claimed_at, member.*,
           member.crashes + 1 >= $2::integer AS is_poison,
           -- Work that cannot be found must not keep a dead session's other jobs.
           member.spent >= coalesce(jobs.max_attempts, 2147483647) AS is_spent
    FROM locked
    CROSS JOIN LATERAL unnest(locked.jobs, locked.tenants, locked.queues, locked.routes, locked.lanes, locked.kinds,
                              locked.run_at, locked.expires_at, locked.attempt, locked.spent, locked.crashes,
                                  locked.moves)
         WITH ORDINALITY AS member (job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, spent, crashes,
                                    moves, place)
    LEFT JOIN jobs ON jobs.id = member.job
    WHERE get_bit(locked.open, member.place::integer - 1) = 1
),
closing AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY number, job) AS rank, number AS claim, $1 AS session, claimed_at,
           (SELECT worker FROM sessions WHERE sessions.id = $1) AS worker,
           place, job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, spent, crashes + 1 AS crashes,
           foreman_counted(moves, attempt) AS moves,
           CASE WHEN is_poison OR is_spent THEN 'dead' END AS state, 'lapsed'::text AS outcome, NULL::interval AS delay,
           CASE WHEN is_poison THEN replace($5::text, '%', (crashes + 1)::text)
                WHEN is_spent THEN $4::text
                ELSE $3::text END AS report,
           CASE WHEN is_poison THEN $7::text WHEN is_spent THEN $6::text END AS error_group,
           false AS settled
    FROM lost
),
