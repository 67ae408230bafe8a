-- Records attempts that all ended their jobs. Nearly every settlement is one of these.
--
-- Jobs are named by their place in their claim, and whoever asks brings along what the claim says of them, which never
-- changes; so nothing is taken out of the claim's arrays here but the job itself, whose outcome this is whatever was
-- sent with it. Only what changes is read under the lock: which bits are still set.
--
-- The claims are locked in the order of their numbers, and only those of this session: no row means fenced. IS TRUE
-- makes the planner find them by their number: by their session, it would walk over all claims of its life that the
-- vacuum has not taken away.
--
--   $1 session   $2 claims, each once, ascending   $3 the places that are asked for, as bits as long as `open`
--   and of each job, in the order of claims and places:
--   $4 which of $2   $5 its place   $6 tenants   $7 queues   $8 kinds   $9 run_at   $10 attempt   $11 spent   $12 crashes
--   $13 moves   $14 final states   $15 reports   $16 groups of the errors, or nothing at all
--   $17 recorded by the attempts themselves
--
-- Of $4 and of $6 to $15 one element stands for all. Side by side in a list of columns, arrays are handed on element by
-- element, and one that has ended gives NULL; in FROM each of them would be written down first.
WITH locked AS MATERIALIZED (
    SELECT number, claimed_at, open, jobs[:] AS jobs FROM claims
    WHERE number = ANY ($2::bigint[]) AND (session = $1::uuid) IS TRUE ORDER BY number FOR UPDATE
),
closing AS (
    SELECT locked.jobs[asked.place] AS job, coalesce(asked.tenant, (SELECT ($6)[1])) AS tenant,
           coalesce(asked.queue, (SELECT ($7)[1])) AS queue,
           CASE WHEN (SELECT cardinality($8) = 1) THEN (SELECT ($8)[1]) ELSE asked.kind END AS kind,
           coalesce(asked.run_at, (SELECT ($9)[1])) AS run_at,
           coalesce(asked.attempt, (SELECT ($10)[1])) AS attempt,
           coalesce(asked.spent, (SELECT ($11)[1])) AS spent,
           coalesce(asked.crashes, (SELECT ($12)[1])) AS crashes,
           coalesce(asked.moves, (SELECT ($13)[1])) AS moves,
           coalesce(asked.state, (SELECT ($14)[1])) AS state,
           coalesce(asked.report, (SELECT ($15)[1])) AS report, asked.error_group,
           locked.number AS claim, locked.claimed_at, $17::boolean AS settled, $1 AS session,
           (SELECT worker FROM sessions WHERE sessions.id = $1) AS worker
    FROM (
        SELECT unnest($4::integer[]) AS which, unnest($5::integer[]) AS place, unnest($6::text[]) AS tenant,
               unnest($7::text[]) AS queue, unnest($8::text[]) AS kind, unnest($9::timestamptz[]) AS run_at, unnest($10::integer[]) AS attempt,
               unnest($11::integer[]) AS spent, unnest($12::integer[]) AS crashes, unnest($13::integer[]) AS moves, unnest($14::text[]) AS state,
               unnest($15::text[]) AS report, unnest($16::text[]) AS error_group
    ) AS asked
    JOIN locked ON locked.number = ($2)[coalesce(asked.which, ($4)[1])]
    WHERE CASE WHEN asked.place <= length(locked.open) THEN get_bit(locked.open, asked.place - 1) = 1 ELSE false END
),
