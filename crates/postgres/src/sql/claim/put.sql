-- Puts the jobs that were just taken into one numbered claim. The number is drawn here, after the rows are taken and in
-- the transaction that took them: one drawn before could be overtaken.
--
--   $1 session   $2 token   $3 jobs, and what is kept of each: $4 tenants   $5 queues   $6 routes   $7 lanes   $8 kinds
--   $9 run_at   $10 expires_at   $11 attempt   $12 spent   $13 crashes   $14 moves   $15 a bit for each, all set
INSERT INTO claims (number, session, token, claimed_at, jobs, tenants, queues, routes, lanes, kinds, run_at, expires_at,
                    attempt, spent, crashes, moves, open)
VALUES (nextval('claim_numbers'), $1::uuid, $2::uuid, foreman_now(), $3::uuid[], $4::text[], $5::text[], $6::text[],
        $7::smallint[], $8::text[], $9::timestamptz[], $10::timestamptz[], $11::integer[], $12::integer[],
        $13::integer[], $14::integer[], $15::bit varying)
RETURNING number
