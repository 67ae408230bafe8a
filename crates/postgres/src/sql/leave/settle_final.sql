-- Records attempts that all ended their jobs: settle.sql without what only those need that go on. Nearly every
-- settlement is one of these, and each column taken out of a claim's arrays costs as much as an index entry.
--
-- The rules are the same: the claims are locked in the order of their numbers, and only those of this session;
-- everything that is written comes from `closing`, the asked jobs whose bit is still set in the *locked* row.
--
--   $1 session   $2 claims   $3 jobs   $4 final states   $5 reports   $6 the claims, each once
--   $7 groups of their errors, or nothing at all
WITH asked AS MATERIALIZED (
    SELECT asked.*
    FROM unnest($2::bigint[], $3::uuid[], $4::text[], $5::text[], $7::text[])
         WITH ORDINALITY AS asked (claim, job, state, report, error_group, rank)
    -- One row, of which the planner expects many. It expects ten of an array, and would compare each with each below.
    CROSS JOIN generate_series(1, least(1, cardinality($2)))
),
locked AS MATERIALIZED (
    SELECT * FROM claims WHERE number = ANY ($6::bigint[]) AND session = $1::uuid ORDER BY number FOR UPDATE
),
member AS MATERIALIZED (
    SELECT locked.number, locked.claimed_at, member.*
    FROM locked
    CROSS JOIN LATERAL unnest(locked.jobs, locked.tenants, locked.queues, locked.kinds, locked.run_at, locked.attempt,
                              locked.spent, locked.crashes, locked.moves)
         WITH ORDINALITY AS member (job, tenant, queue, kind, run_at, attempt, spent, crashes, moves, place)
    WHERE get_bit(locked.open, member.place::integer - 1) = 1
),
closing AS MATERIALIZED (
    SELECT asked.rank, member.number AS claim, member.claimed_at, member.place, member.job, member.tenant, member.queue,
           member.kind, member.run_at, member.attempt, member.spent, member.crashes,
           foreman_counted(member.moves, member.attempt) AS moves, asked.state, asked.report, asked.error_group,
           true AS settled, $1 AS session, (SELECT worker FROM sessions WHERE sessions.id = $1) AS worker
    FROM member JOIN asked ON asked.claim = member.number AND asked.job = member.job
),
