-- Hands every open job of a session's claims back, its try given back, to the front of the line.
--
--   $1 session   $2 tokens of the calls that are given up, NULL for all its claims
WITH locked AS MATERIALIZED (
    SELECT * FROM claims
    WHERE session = $1::uuid AND ($2::uuid[] IS NULL OR token = ANY ($2)) ORDER BY number FOR UPDATE
),
closing AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY locked.number, member.job) AS rank,
           locked.number AS claim, locked.session, locked.claimed_at,
           (SELECT worker FROM sessions WHERE sessions.id = $1) AS worker,
           member.place, member.job, member.tenant, member.queue, member.route, member.lane, member.kind, member.run_at,
           member.expires_at, member.attempt, greatest(member.spent - 1, 0) AS spent, member.crashes,
           foreman_counted(member.moves, member.attempt) AS moves,
           NULL::text AS state, 'released'::text AS outcome, NULL::interval AS delay, '{}'::text AS report,
           NULL::text AS error_group, false AS settled
    FROM locked
    CROSS JOIN LATERAL unnest(locked.jobs, locked.tenants, locked.queues, locked.routes, locked.lanes, locked.kinds,
                              locked.run_at, locked.expires_at, locked.attempt, locked.spent, locked.crashes,
                                  locked.moves)
         WITH ORDINALITY AS member (job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, spent, crashes,
                                    moves, place)
    WHERE get_bit(locked.open, member.place::integer - 1) = 1
),
