-- The end of a claim by order. The answer has one row at least, which says whether the session lives and whether the
-- call was answered before.
SELECT EXISTS (SELECT FROM session) AS is_live,
       (SELECT number FROM known) AS known,
       EXISTS (SELECT FROM fragile) AS fragile_waiting,
       claim.number, members.job, members.tenant, members.queue, members.route, members.lane, members.kind,
       members.run_at, members.expires_at, members.attempt, members.spent, members.crashes, members.moves, members.key,
       claim.claimed_at
FROM (SELECT) AS always
LEFT JOIN (claim CROSS JOIN members) ON true
ORDER BY members.rank
