-- What the stream, the dashboard and its numbers need. Only adds: a binary that knows nothing of it runs on it. What that one
-- moves is not counted, what it ends belongs to no group of errors, and it leaves the log without notes.

-- How often a job has moved, counted from 1 and told with every move. 0: by a binary that did not count.
ALTER TABLE ready ADD COLUMN moves INTEGER NOT NULL DEFAULT 0;
ALTER TABLE held ADD COLUMN moves INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outcomes ADD COLUMN moves INTEGER NOT NULL DEFAULT 0;

-- What else the operation did, as JSON: ticks, schedules, workers, queues. NULL: nothing.
ALTER TABLE changes ADD COLUMN notes TEXT;

-- Which errors are the same but for their numbers. NULL: it ended without an error, or before errors were grouped.
ALTER TABLE outcomes ADD COLUMN error_group TEXT;
-- The dead by their errors, those of before first. The groups are found by skipping from one to the next.
CREATE INDEX outcomes_dead_groups ON outcomes (tenant, error_group, finished_at, job) WHERE state = 'dead';
-- Whatever ended with an error of a group, by id.
CREATE INDEX outcomes_of_group ON outcomes (tenant, error_group, job) WHERE error_group IS NOT NULL;

-- Numbers about a minute or an hour.
CREATE TABLE statistics (
    tenant TEXT    NOT NULL,
    slot   TEXT    NOT NULL,             -- minute, hour
    queue  TEXT    NOT NULL,             -- empty: all of the tenant's together
    at     INTEGER NOT NULL,             -- when it begins
    tally  TEXT    NOT NULL,             -- the numbers, as JSON
    PRIMARY KEY (tenant, slot, queue, at)
) STRICT, WITHOUT ROWID;
-- Queues apart from each other, over a time.
CREATE INDEX statistics_of_queues ON statistics (tenant, slot, at) WHERE queue <> '';
CREATE INDEX statistics_by_time ON statistics (at);

-- How far the bookkeeper has counted the change log. Moved together with what it counted.
CREATE TABLE bookkeeper (
    only     INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
    position INTEGER NOT NULL            -- in `changes`
) STRICT;
INSERT INTO bookkeeper (only, position) VALUES (1, 0);

-- What a browser shows instead of a key: a session for hours, a ticket once.
CREATE TABLE passes (
    hash       BLOB    NOT NULL PRIMARY KEY, -- SHA-256 of what is shown; that itself is nowhere
    kind       TEXT    NOT NULL,         -- session, ticket
    holder     TEXT    NOT NULL,         -- nobody, bootstrap, key
    key_id     TEXT,                     -- whose key it was made from
    key_hash   BLOB,                     -- the configured key's that it was made from
    tenant     TEXT    NOT NULL,         -- what it is about
    expires_at INTEGER NOT NULL          -- from then on it opens nothing
) STRICT, WITHOUT ROWID;
CREATE INDEX passes_expiring ON passes (expires_at);
