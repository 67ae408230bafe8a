-- Takes the bits of the places that are asked for: the claim goes with its last one.
--
-- `locked` are the claims, locked; $2 their numbers, $3 the places asked for in each.
taken AS MATERIALIZED (
    SELECT locked.number, locked.claimed_at, locked.open & asked.places AS closed,
           locked.open & ~asked.places AS still_open
    FROM locked
    JOIN (SELECT unnest($2::bigint[]) AS number, unnest($3::bit varying[]) AS places) AS asked ON asked.number = locked.number
),
emptied AS (
    DELETE FROM claims USING taken WHERE claims.number = taken.number AND bit_count(taken.still_open) = 0
),
shrunk AS (
    UPDATE claims SET open = taken.still_open FROM taken
    WHERE claims.number = taken.number AND bit_count(taken.still_open) > 0 AND bit_count(taken.closed) > 0
),
