-- How many announced jobs still wait, and what is left of their batches.
--
-- Jobs are looked up by their ids, one by one: a plan that joined would read all of `ready`. So only some are: batches
-- are counted whole, going on where the last count stopped, until enough was looked up; of the others every n-th
-- job is looked up and counted n times. A batch that was counted whole goes when none of its jobs bears its mark, and is written
-- anew with what is left of it when that is less than half. One that the broker has not answered for keeps its places.
--
-- Nobody waits here: a batch that is being written by somebody else is left as it is.
--
--   $1 after which batch   $2 so many jobs are looked up in whole batches, and about as many again of the others
WITH batch AS MATERIALIZED (
    SELECT known.*, known.upto <= $2::bigint OR known.upto = known.size AS is_whole
    FROM (
        SELECT number, acknowledged, jobs, tenants, lanes, cardinality(jobs) AS size,
               sum(cardinality(jobs)) OVER (ORDER BY number <= $1::bigint, number) AS upto
        FROM announcements
    ) AS known
),
stride AS MATERIALIZED (
    SELECT greatest(1, ceil(coalesce(sum(size), 0) / $2))::bigint AS every FROM batch WHERE NOT is_whole
),
counted AS MATERIALIZED (
    SELECT batch.number, member.job, member.tenant, member.lane, member.place
    FROM batch
    CROSS JOIN LATERAL unnest(batch.jobs, batch.tenants, batch.lanes) WITH ORDINALITY
               AS member (job, tenant, lane, place)
    WHERE batch.is_whole
      AND (SELECT true FROM ready WHERE ready.job = member.job AND ready.announced = batch.number)
),
sampled AS MATERIALIZED (
    SELECT batch.lanes[nth.place] AS lane, stride.every
    FROM batch
    CROSS JOIN stride
    CROSS JOIN LATERAL generate_series(1 + batch.number % stride.every, batch.size, stride.every) AS nth (place)
    WHERE NOT batch.is_whole
      AND (SELECT true FROM ready WHERE ready.job = batch.jobs[nth.place] AND ready.announced = batch.number)
),
rest AS MATERIALIZED (
    SELECT batch.number, count(counted.job) AS size
    FROM batch LEFT JOIN counted ON counted.number = batch.number
    WHERE batch.is_whole AND batch.acknowledged
    GROUP BY batch.number, batch.size
    HAVING count(counted.job) * 2 < batch.size
),
locked AS MATERIALIZED (
    SELECT announcements.number, rest.size
    FROM announcements JOIN rest ON rest.number = announcements.number
    ORDER BY announcements.number
    FOR UPDATE OF announcements SKIP LOCKED
),
gone AS (
    DELETE FROM announcements USING locked WHERE announcements.number = locked.number AND locked.size = 0
),
shrunk AS (
    UPDATE announcements SET jobs = left_of.jobs, tenants = left_of.tenants, lanes = left_of.lanes
    FROM (
        SELECT counted.number, array_agg(counted.job ORDER BY counted.place) AS jobs,
               array_agg(counted.tenant ORDER BY counted.place) AS tenants,
               array_agg(counted.lane ORDER BY counted.place) AS lanes
        FROM counted JOIN locked ON locked.number = counted.number
        GROUP BY counted.number
    ) AS left_of
    WHERE announcements.number = left_of.number
)
SELECT coalesce(sum(every) FILTER (WHERE lane = 0), 0)::bigint AS high,
       coalesce(sum(every) FILTER (WHERE lane = 1), 0)::bigint AS normal,
       coalesce(sum(every) FILTER (WHERE lane = 2), 0)::bigint AS low,
       (SELECT number FROM batch WHERE is_whole AND EXISTS (SELECT FROM batch WHERE NOT is_whole)
        ORDER BY upto DESC LIMIT 1) AS last
FROM (SELECT lane, 1 AS every FROM counted UNION ALL SELECT lane, every FROM sampled) AS waiting
