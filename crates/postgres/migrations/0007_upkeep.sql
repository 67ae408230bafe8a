-- What keeps the database from growing while nothing happens, and tells whether the pruner keeps up. It only adds: a binary of the
-- version before runs on, and leaves what is new as it is.

-- When each kind of pruning was last finished. Written at most every ten minutes, for `foreman doctor`.
CREATE TABLE upkeep (
    kind    text        COLLATE "C" NOT NULL PRIMARY KEY, -- as in PruneKind: jobs, changes, partitions, …
    done_at timestamptz NOT NULL
);

-- How deep each queue was when it was last sampled, and, where `queue` is empty, all queues of a tenant together. One that is empty
-- has no row. Statistics get a new sample only when these numbers change, so an idle queue costs one row here and none there; this
-- row is what its chart shows. Written by the bookkeeper in the transaction that writes the sample.
CREATE TABLE depths (
    tenant  text        COLLATE "C" NOT NULL,
    queue   text        COLLATE "C" NOT NULL,
    waiting bigint      NOT NULL,
    running bigint      NOT NULL,
    since   timestamptz NOT NULL,             -- the sample that first had these numbers
    PRIMARY KEY (tenant, queue)
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);

-- When a tenant last got a key in a line. Every task name has a line of its own, so lines go when they have not been used for long.
-- NULL: not since this column is there, or by a binary of the version before. No index holds it: it changes with every reservation.
ALTER TABLE line_shares ADD COLUMN given_at timestamptz;
