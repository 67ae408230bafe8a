-- What keeps the file from growing while nothing happens, and tells whether the pruner keeps up. It only adds: a binary that knows
-- nothing of it runs on it.

-- When each kind of pruning was last finished. Written at most every ten minutes, for `foreman doctor`.
CREATE TABLE upkeep (
    kind    TEXT    NOT NULL PRIMARY KEY, -- as in PruneKind: jobs, changes, …
    done_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How deep each queue was when it was last sampled, and, where `queue` is empty, all queues of a tenant together. One that is empty
-- has no row. Statistics get a new sample only when these numbers change; this row is what the chart of an idle queue shows.
CREATE TABLE depths (
    tenant  TEXT    NOT NULL,
    queue   TEXT    NOT NULL,
    waiting INTEGER NOT NULL,
    running INTEGER NOT NULL,
    since   INTEGER NOT NULL,             -- the sample that first had these numbers
    PRIMARY KEY (tenant, queue)
) STRICT, WITHOUT ROWID;

-- Minutes go sooner than hours.
CREATE INDEX statistics_by_slot ON statistics (slot, at);
