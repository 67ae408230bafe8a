-- The end of a claim by ids. The answer has one row at least, which says whether the session lives and whether the
-- call was answered before; behind those that were taken come those that wait on, each with what for.
SELECT EXISTS (SELECT FROM session) AS is_live,
       (SELECT number FROM known) AS known,
       EXISTS (SELECT FROM fragile) AS fragile_waiting,
       claim.number, members.job, members.tenant, members.queue, members.route, members.lane, members.kind,
       members.run_at, members.expires_at, members.attempt, members.spent, members.crashes, members.moves, members.key,
       claim.claimed_at, NULL::text AS waits_for, members.rank, 0 AS part
FROM (SELECT) AS always
LEFT JOIN (claim CROSS JOIN members) ON true
UNION ALL
SELECT NULL, NULL, NULL, NULL, refused.job, NULL, NULL, NULL, NULL, NULL, refused.run_at, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, refused.waits_for, NULL, 1
FROM refused
ORDER BY part, rank
