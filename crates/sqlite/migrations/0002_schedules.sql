-- Schedules, and what became of their ticks. Only adds: a binary that knows nothing of schedules runs on it, and fires none.

-- What changes comes first, and what may be long comes last: a firing rewrites the first page of a row and leaves the
-- others alone. With a rowid, for rows may be long.
CREATE TABLE schedules (
    id           BLOB    NOT NULL PRIMARY KEY,
    tenant       TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    version      INTEGER NOT NULL,       -- from 1; rises with every edit
    next_fire_at INTEGER,                -- the next tick; NULL: paused, or finished
    held         INTEGER,                -- the tick that waits for a job of an earlier one
    paused       INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,       -- intervals count from here
    edited_at    INTEGER NOT NULL,
    edited_by    BLOB,                   -- the last edit, so that it can be sent again
    spec         TEXT    NOT NULL,       -- as it was written, as JSON
    work         TEXT    NOT NULL,       -- what every tick asks for, as JSON
    UNIQUE (tenant, name)
) STRICT;
CREATE INDEX schedules_due ON schedules (next_fire_at, id) WHERE next_fire_at IS NOT NULL;
CREATE INDEX schedules_held ON schedules (id) WHERE held IS NOT NULL;

-- One row for every tick, by the instant it belongs to; one for a whole run of missed ones. The key is what makes it certain
-- that a tick is fired once. Rows outlive their schedule until their retention.
CREATE TABLE ticks (
    schedule BLOB    NOT NULL,
    nominal  INTEGER NOT NULL,
    state    TEXT    NOT NULL,           -- fired, held, skipped
    reason   TEXT,                       -- by_hand, missed, overlap, deleted
    at       INTEGER NOT NULL,           -- when that was decided
    job      BLOB,                       -- of a fired one
    last     INTEGER,                    -- the last of a run of missed ones
    count    INTEGER,                    -- how many it stands for; NULL: more than were counted
    PRIMARY KEY (schedule, nominal)
) STRICT, WITHOUT ROWID;
CREATE INDEX ticks_by_time ON ticks (at);
-- The jobs that a schedule may have to wait for, the latest at the end: neither what it skipped nor what is long final is
-- walked over.
CREATE INDEX ticks_fired ON ticks (schedule, job) WHERE job IS NOT NULL;
