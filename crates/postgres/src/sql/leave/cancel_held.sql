-- Ends jobs that are held: closed in their claim, their outcome written under the claim's lock. What the worker reports
-- later finds no bit set and is refused.
--
--   $1 jobs
WITH locked AS MATERIALIZED (
    SELECT * FROM claims WHERE jobs && $1::uuid[] ORDER BY number FOR UPDATE
),
closing AS MATERIALIZED (
    SELECT array_position($1, member.job)::bigint AS rank, locked.number AS claim, locked.session, locked.claimed_at,
           (SELECT worker FROM sessions WHERE sessions.id = locked.session) AS worker,
           member.place, member.job, member.tenant, member.queue, member.route, member.lane, member.kind, member.run_at,
           member.expires_at, member.attempt, member.spent, member.crashes,
           foreman_counted(member.moves, member.attempt) AS moves,
           'cancelled'::text AS state, 'cancelled'::text AS outcome, NULL::interval AS delay, '{}'::text AS report,
           NULL::text AS error_group, false AS settled
    FROM locked
    CROSS JOIN LATERAL unnest(locked.jobs, locked.tenants, locked.queues, locked.routes, locked.lanes, locked.kinds,
                              locked.run_at, locked.expires_at, locked.attempt, locked.spent, locked.crashes,
                                  locked.moves)
         WITH ORDINALITY AS member (job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, spent, crashes,
                                    moves, place)
    WHERE member.job = ANY ($1) AND get_bit(locked.open, member.place::integer - 1) = 1
),
