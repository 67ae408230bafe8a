-- Gives jobs that wait their place in line.
--
--   $1 jobs   $2 their keys   $3 how many moves this is: one for what falls due, none for what has just been put there
UPDATE ready SET key = given.key,
       moves = CASE WHEN $3::integer > 0 THEN foreman_counted(ready.moves, ready.attempt) + $3 ELSE ready.moves END
FROM unnest($1::uuid[], $2::bigint[]) AS given (job, key) WHERE ready.job = given.job
