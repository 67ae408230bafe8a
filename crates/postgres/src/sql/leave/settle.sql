-- Records how attempts ended.
--
-- The claims are locked in the order of their numbers, and only those of this session: no row means fenced. Everything
-- that is written comes from `closing`, the asked jobs whose bit is still set in the *locked* row. After waiting for
-- the lock every other table in this statement is read as it was before the wait, so nothing here asks another table
-- whether a job is open.
--
--   $1 session   $2 claims   $3 jobs   $4 final states, NULL where the job goes on   $5 outcomes   $6 delays of retries
--   $7 whether the try is given back   $8 reports   $9 recorded by the attempts themselves   $10 groups of the errors
--   of those that end, or nothing at all
WITH asked AS MATERIALIZED (
    SELECT asked.*
    FROM unnest($2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::interval[], $7::boolean[], $8::text[],
        $10::text[])
         WITH ORDINALITY AS asked (claim, job, state, outcome, delay, refunds, report, error_group, rank)
    -- One row, of which the planner expects many. It expects ten of an array, and would compare each with each below.
    CROSS JOIN generate_series(1, least(1, cardinality($2)))
),
locked AS MATERIALIZED (
    SELECT * FROM claims WHERE number = ANY ($2) AND session = $1::uuid ORDER BY number FOR UPDATE
),
member AS MATERIALIZED (
    SELECT locked.number, locked.session, locked.claimed_at, member.*
    FROM locked
    CROSS JOIN LATERAL unnest(locked.jobs, locked.tenants, locked.queues, locked.routes, locked.lanes, locked.kinds,
                              locked.run_at, locked.expires_at, locked.attempt, locked.spent, locked.crashes,
                                  locked.moves)
         WITH ORDINALITY AS member (job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, spent, crashes,
                                    moves, place)
    WHERE get_bit(locked.open, member.place::integer - 1) = 1
),
closing AS MATERIALIZED (
    SELECT asked.rank, member.number AS claim, member.session, member.claimed_at,
           (SELECT worker FROM sessions WHERE sessions.id = $1) AS worker,
           member.place, member.job, member.tenant, member.queue, member.route, member.lane, member.kind, member.run_at,
           member.expires_at, member.attempt,
           CASE WHEN asked.refunds THEN greatest(member.spent - 1, 0) ELSE member.spent END AS spent,
           member.crashes, foreman_counted(member.moves, member.attempt) AS moves, asked.state, asked.outcome,
               asked.delay,
           asked.report, asked.error_group, $9::boolean AS settled
    FROM member JOIN asked ON asked.claim = member.number AND asked.job = member.job
),
