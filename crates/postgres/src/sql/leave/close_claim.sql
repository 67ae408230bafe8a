-- Takes the bits of jobs that leave their claims: the claim goes with its last one.
--
-- `locked` are the claims, locked; `closing` the jobs that leave them, each with the place of its bit.
tally AS MATERIALIZED (
    SELECT locked.number, locked.open, bit_count(locked.open) - count(*) AS still_open
    FROM closing JOIN locked ON locked.number = closing.claim
    GROUP BY locked.number, locked.open
),
emptied AS (
    DELETE FROM claims USING tally WHERE claims.number = tally.number AND tally.still_open = 0
),
shrunk AS (
    UPDATE claims SET open = rest.open
    FROM (
        SELECT tally.number,
               string_agg(CASE WHEN closing.place IS NULL THEN get_bit(tally.open, bit.place - 1)::text ELSE '0' END, ''
                          ORDER BY bit.place)::bit varying AS open
        FROM tally
        CROSS JOIN LATERAL generate_series(1, length(tally.open)) AS bit (place)
        LEFT JOIN closing ON closing.claim = tally.number AND closing.place = bit.place
        WHERE tally.still_open > 0
        GROUP BY tally.number
    ) AS rest
    WHERE claims.number = rest.number
),
