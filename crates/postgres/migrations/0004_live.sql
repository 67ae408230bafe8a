-- What the stream, the statistics and the dashboard need. Of what was there before nothing is changed but for columns and
-- indexes more: a binary of the version before runs on, at the same time as one of this version. What it writes leaves the
-- new columns at 0 or NULL, and whoever reads them knows what that means.
--
-- The new tables first. What others work on is locked for a moment at the end; nothing in it is read or rewritten. What would
-- take long, an index on all that ever ended, is made after the migration, while everybody works (src/indexes.rs).

-- Numbers per minute and per hour, of each queue and, where `queue` is empty, of all together: added to by the bookkeeper, pruned
-- by age. Led by the tenant, so that one queue's stretch of time is one stretch of the key.
CREATE TABLE statistics (
    tenant text        COLLATE "C" NOT NULL,
    slot   text        COLLATE "C" NOT NULL, -- minute, hour
    queue  text        COLLATE "C" NOT NULL,
    at     timestamptz NOT NULL,             -- when the minute or the hour begins
    tally  text        NOT NULL,             -- as JSON
    PRIMARY KEY (tenant, slot, queue, at)
) WITH (
    -- The rows of this minute and this hour are written again and again, and no index holds what that changes.
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX statistics_by_time ON statistics (at);

-- How far the bookkeeper has read the change log. It moves in the transaction that adds what it counted. One row.
CREATE TABLE bookkeeper (
    is_one   boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (is_one),
    position bigint  NOT NULL
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);
INSERT INTO bookkeeper (position) VALUES (0);

-- What a browser shows instead of a key; never itself.
CREATE TABLE passes (
    hash       bytea       NOT NULL PRIMARY KEY, -- SHA-256 of it
    kind       text        NOT NULL,             -- session, ticket
    holder     text        NOT NULL,             -- nobody, bootstrap:HASH, key:ID
    tenant     text        NOT NULL,             -- what it is about
    expires_at timestamptz NOT NULL              -- from then on it opens nothing
);
CREATE INDEX passes_expiring ON passes (expires_at);

-- How often a job has moved, when all that is known is how often it was tried. A count of 0 or none is one that a binary of the
-- version before has left. A try is at most three moves: it falls due, runs, ends. So this is at least what was told of the job
-- before, and whoever compares sees the count rise and never fall.
CREATE FUNCTION foreman_counted(moves integer, attempt integer) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN moves > 0 THEN moves ELSE 3 * attempt + 2 END
$$;

-- In the order in which those who work take them, so that this seldom meets one of them half way: the heartbeats' view before the
-- claims below it, and the log, which every transaction writes last, at the end.
LOCK TABLE held, ready, outcomes, changes IN ACCESS EXCLUSIVE MODE;

-- What else happened, beside what moved: ticks, workers, queues, schedules. As JSON, NULL where there is nothing to say. In a column
-- of its own, so that a binary of the version before reads the row as ever. (How far the log was pruned is in `log_end`, and has
-- been from the beginning.)
ALTER TABLE changes ADD COLUMN notes text;

-- How often a job has moved, the move that put it here included: its number in the change log.
ALTER TABLE claims ADD COLUMN moves integer[];
CREATE OR REPLACE VIEW held AS
SELECT claims.number AS claim, claims.session, claims.token, claims.claimed_at, member.job, member.tenant, member.queue,
       member.route, member.lane, member.kind, member.run_at, member.expires_at, member.attempt, member.spent,
       member.crashes, member.place, member.moves
FROM claims
CROSS JOIN LATERAL unnest(claims.jobs, claims.tenants, claims.queues, claims.routes, claims.lanes, claims.kinds,
                          claims.run_at, claims.expires_at, claims.attempt, claims.spent, claims.crashes, claims.moves)
     WITH ORDINALITY AS member (job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, spent, crashes, moves,
                                place)
WHERE get_bit(claims.open, member.place::integer - 1) = 1;
ALTER TABLE ready ADD COLUMN moves integer NOT NULL DEFAULT 0;
ALTER TABLE outcomes ADD COLUMN moves integer NOT NULL DEFAULT 0;

-- Which errors are the same: the group that the last error of a job belongs to. NULL where it ended without one, or by a binary of
-- the version before.
ALTER TABLE outcomes ADD COLUMN error_group text COLLATE "C";
