-- Records attempts of which some are followed by others: settle_final.sql, with what those need that go on.
--
--   $1 to $17 as there, but: $11 spent, with the tries taken off that are given back   $14 final states, empty where the
--   job goes on   $18 outcomes   $19 delays of retries, NULL for the front of the line   $20 routes   $21 lanes
--   $22 expires_at
--
-- Of $18 to $22 one element stands for all too.
WITH locked AS MATERIALIZED (
    SELECT number, claimed_at, open, jobs[:] AS jobs FROM claims
    WHERE number = ANY ($2::bigint[]) AND (session = $1::uuid) IS TRUE ORDER BY number FOR UPDATE
),
closing AS MATERIALIZED (
    SELECT asked.rank, locked.jobs[asked.place] AS job, coalesce(asked.tenant, (SELECT ($6)[1])) AS tenant,
           coalesce(asked.queue, (SELECT ($7)[1])) AS queue,
           CASE WHEN (SELECT cardinality($8) = 1) THEN (SELECT ($8)[1]) ELSE asked.kind END AS kind,
           coalesce(asked.run_at, (SELECT ($9)[1])) AS run_at,
           coalesce(asked.attempt, (SELECT ($10)[1])) AS attempt,
           coalesce(asked.spent, (SELECT ($11)[1])) AS spent,
           coalesce(asked.crashes, (SELECT ($12)[1])) AS crashes,
           coalesce(asked.moves, (SELECT ($13)[1])) AS moves,
           nullif(coalesce(asked.state, (SELECT ($14)[1])), '') AS state,
           coalesce(asked.report, (SELECT ($15)[1])) AS report, asked.error_group,
           coalesce(asked.outcome, (SELECT ($18)[1])) AS outcome,
           CASE WHEN (SELECT cardinality($19) = 1) THEN (SELECT ($19)[1]) ELSE asked.delay END AS delay,
           coalesce(asked.route, (SELECT ($20)[1])) AS route,
           coalesce(asked.lane, (SELECT ($21)[1])) AS lane,
           CASE WHEN (SELECT cardinality($22) = 1) THEN (SELECT ($22)[1])
                ELSE asked.expires_at END AS expires_at,
           locked.number AS claim, locked.claimed_at, $17::boolean AS settled, $1 AS session,
           (SELECT worker FROM sessions WHERE sessions.id = $1) AS worker
    FROM (
        SELECT generate_subscripts($5::integer[], 1) AS rank, unnest($4::integer[]) AS which, unnest($5::integer[]) AS place,
               unnest($6::text[]) AS tenant, unnest($7::text[]) AS queue, unnest($8::text[]) AS kind, unnest($9::timestamptz[]) AS run_at,
               unnest($10::integer[]) AS attempt, unnest($11::integer[]) AS spent, unnest($12::integer[]) AS crashes, unnest($13::integer[]) AS moves,
               unnest($14::text[]) AS state, unnest($15::text[]) AS report, unnest($16::text[]) AS error_group,
               unnest($18::text[]) AS outcome, unnest($19::interval[]) AS delay, unnest($20::text[]) AS route, unnest($21::smallint[]) AS lane,
               unnest($22::timestamptz[]) AS expires_at
    ) AS asked
    JOIN locked ON locked.number = ($2)[coalesce(asked.which, ($4)[1])]
    WHERE CASE WHEN asked.place <= length(locked.open) THEN get_bit(locked.open, asked.place - 1) = 1 ELSE false END
),
