-- The end of a statement all of whose jobs end.
SELECT rank, job, tenant, queue, state, attempt, moves + 1 AS moves, (SELECT foreman_now()) - claimed_at AS took
FROM closing ORDER BY rank
