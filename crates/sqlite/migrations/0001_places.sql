-- A job is in exactly one place: a row in `ready` while it waits, in `held` while an attempt has it, in `outcomes` when it
-- is final. `jobs` says what was asked and is never updated.
--
-- Times are microseconds since 1970, UTC. Ids are the 16 bytes of a UUID; job ids are UUIDv7 and ascend, so that every
-- table keyed by them grows at its end. There are no foreign keys: they would be looked up at every move, one writer makes
-- every move, and `foreman check --deep` proves what they would.

-- What was asked.
CREATE TABLE jobs (
    id             BLOB    NOT NULL PRIMARY KEY,
    tenant         TEXT    NOT NULL,
    queue          TEXT    NOT NULL,
    kind           TEXT,                 -- a label to filter by
    lane           INTEGER NOT NULL,     -- 0 high, 1 normal, 2 low
    created_at     INTEGER NOT NULL,
    first_run_at   INTEGER NOT NULL,     -- when it was first allowed to run
    correlation_id TEXT,
    work           TEXT    NOT NULL      -- everything asked, as JSON
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_of_tenant ON jobs (tenant, id);
CREATE INDEX jobs_correlated ON jobs (tenant, correlation_id, id) WHERE correlation_id IS NOT NULL;

CREATE TABLE job_tags (
    tenant TEXT NOT NULL,
    tag    TEXT NOT NULL,
    job    BLOB NOT NULL,
    PRIMARY KEY (tenant, tag, job)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_tags_of_job ON job_tags (job);

-- Jobs that wait. Narrow, for a claim deletes here and a retry inserts.
CREATE TABLE ready (
    job        BLOB    NOT NULL PRIMARY KEY,
    tenant     TEXT    NOT NULL,
    queue      TEXT    NOT NULL,
    route      TEXT    NOT NULL,         -- who can run it: http, command, task:NAME
    lane       INTEGER NOT NULL,
    key        INTEGER,                  -- place in the fair order; NULL: not due yet, outside the claim index
    run_at     INTEGER NOT NULL,         -- when it may run
    expires_at INTEGER,                  -- no attempt starts after it
    attempt    INTEGER NOT NULL,         -- tries so far; never falls
    spent      INTEGER NOT NULL,         -- tries that count against max_attempts
    crashes    INTEGER NOT NULL,         -- workers it took down
    kind       TEXT                      -- carried along, so that `outcomes` gets it without asking `jobs`
) STRICT, WITHOUT ROWID;
-- Leads with the lane and the route: the queues that have something due there are found by skipping from one to the next,
-- and neither an unserved backlog nor the names of empty queues are walked over.
CREATE INDEX ready_in_order ON ready (lane, route, queue, key, job) WHERE key IS NOT NULL;
CREATE INDEX ready_later ON ready (run_at, job) WHERE key IS NULL;
CREATE INDEX ready_expiring ON ready (expires_at, job) WHERE expires_at IS NOT NULL;
-- Jobs whose next crash would be their last: they run alone.
CREATE INDEX ready_fragile ON ready (queue, route, lane, key, job) WHERE key IS NOT NULL AND crashes >= 2;

-- One row per batch taken by a session. The number is the fence. AUTOINCREMENT: a number is never given twice, not even
-- after the table was empty. The row goes with its last row in `held`.
CREATE TABLE claims (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    session    BLOB    NOT NULL,
    token      BLOB    NOT NULL,         -- made by the worker for the call; the same call answers the same claim
    claimed_at INTEGER NOT NULL,
    UNIQUE (session, token)
) STRICT;

-- Jobs still open in a claim. A row here, never the absence of an outcome, is what "held" means.
CREATE TABLE held (
    job        BLOB    NOT NULL PRIMARY KEY,
    claim      INTEGER NOT NULL,
    tenant     TEXT    NOT NULL,
    queue      TEXT    NOT NULL,
    route      TEXT    NOT NULL,
    lane       INTEGER NOT NULL,
    run_at     INTEGER NOT NULL,
    expires_at INTEGER,
    attempt    INTEGER NOT NULL,         -- the number of this try
    spent      INTEGER NOT NULL,         -- this try included
    crashes    INTEGER NOT NULL,
    kind       TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX held_in_claim ON held (claim, job);

-- Final jobs. One row per job makes one outcome certain.
CREATE TABLE outcomes (
    job         BLOB    NOT NULL PRIMARY KEY,
    tenant      TEXT    NOT NULL,
    state       TEXT    NOT NULL,        -- completed, failed, dead, cancelled
    queue       TEXT    NOT NULL,
    kind        TEXT,
    finished_at INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    spent       INTEGER NOT NULL,
    crashes     INTEGER NOT NULL,
    run_at      INTEGER NOT NULL,
    claim       INTEGER,                 -- of the try that ended it; NULL: it ended while it waited
    settled     INTEGER NOT NULL,        -- 1: recorded by that try itself; 0: by a cancel, an expiry or a lapse
    session     BLOB,
    worker      TEXT,
    started_at  INTEGER,
    report      TEXT    NOT NULL         -- what the try left behind, as JSON
) STRICT, WITHOUT ROWID;
-- Lists a final state by time; with the queue, so that rates are counted from the index alone.
CREATE INDEX outcomes_by_state ON outcomes (tenant, state, finished_at, job, queue);

-- Tries that did not end their job, and what a re-drive put aside. Appended, in the order in which they ended.
CREATE TABLE attempts (
    place       INTEGER PRIMARY KEY,
    job         BLOB    NOT NULL,
    claim       INTEGER,
    number      INTEGER NOT NULL,        -- 0: the job had ended without a try
    settled     INTEGER NOT NULL,        -- as in `outcomes`
    session     BLOB,
    worker      TEXT,
    started_at  INTEGER,
    finished_at INTEGER NOT NULL,
    outcome     TEXT    NOT NULL,
    report      TEXT    NOT NULL,
    UNIQUE (job, claim)                  -- one try is recorded once
) STRICT;

CREATE TABLE idempotency (
    tenant      TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    job         BLOB    NOT NULL,
    fingerprint BLOB    NOT NULL,        -- of the content the key stood for
    expires_at  INTEGER NOT NULL,        -- from then on the key may be taken over
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_of_job ON idempotency (job);
CREATE INDEX idempotency_expiring ON idempotency (expires_at);

-- One life of a worker process.
CREATE TABLE sessions (
    id         BLOB    NOT NULL PRIMARY KEY,
    worker     TEXT    NOT NULL,
    pid        INTEGER NOT NULL,
    version    TEXT    NOT NULL,
    slots      INTEGER NOT NULL,
    queues     TEXT    NOT NULL,         -- JSON array; empty: all
    ttl        INTEGER NOT NULL,         -- microseconds
    state      TEXT    NOT NULL,         -- live, draining, ended, dead
    beats      INTEGER NOT NULL,         -- rises with every renewal
    started_at INTEGER NOT NULL,
    renewed_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,         -- from then on it may be lapsed
    ended_at   INTEGER
) STRICT, WITHOUT ROWID;

-- A row appears with a tenant's first job in a queue, and goes when the queue is not used any more; with it go its rows in
-- `shares`, and with the last one of a queue those in `lanes`.
CREATE TABLE queues (
    queue     TEXT    NOT NULL,
    tenant    TEXT    NOT NULL,
    paused_at INTEGER,
    used_at   INTEGER NOT NULL,          -- something was submitted; written at most once an hour
    PRIMARY KEY (queue, tenant)
) STRICT, WITHOUT ROWID;
CREATE INDEX queues_paused ON queues (queue, tenant) WHERE paused_at IS NOT NULL;
CREATE INDEX queues_by_use ON queues (used_at, queue, tenant) WHERE paused_at IS NULL;

-- The fair order. V: the highest key claimed so far in a queue and lane; it moves with service, never with the clock.
CREATE TABLE lanes (
    queue TEXT    NOT NULL,
    lane  INTEGER NOT NULL,
    v     INTEGER NOT NULL,
    PRIMARY KEY (queue, lane)
) STRICT, WITHOUT ROWID;

-- The last key each tenant was given there.
CREATE TABLE shares (
    queue    TEXT    NOT NULL,
    lane     INTEGER NOT NULL,
    tenant   TEXT    NOT NULL,
    last_key INTEGER NOT NULL,
    PRIMARY KEY (queue, lane, tenant)
) STRICT, WITHOUT ROWID;

-- What moved, one row per operation, written in the transaction that moved it. With one writer the order of positions is
-- the order of commits, and AUTOINCREMENT never gives one twice.
CREATE TABLE changes (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    at       INTEGER NOT NULL,
    moved    TEXT    NOT NULL            -- JSON: [{"tenant", "queue", "state", "jobs": [[id, attempt], …]}, …]
) STRICT;
CREATE INDEX changes_by_time ON changes (at);

-- What the store knows of itself: `ping`, written to prove that it can be written; `clean`, 1 after an orderly close.
CREATE TABLE store (
    name  TEXT    NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
