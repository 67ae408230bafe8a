-- A job is in exactly one place: a row in `ready` while it waits, named in a row of `claims` with its bit set while an attempt
-- has it, a row in `outcomes` when it is final. `jobs` says what was asked and is never updated.
--
-- Job ids are UUIDv7 and ascend, so that every table keyed by them grows at its end. There are no foreign keys: they would be
-- looked up at every move, the statements in src/sql keep the places apart under their locks, and the audit proves what
-- foreign keys would.

-- What time it is. One moment for a whole transaction, by the clock of the database: processes on several machines share
-- no other. A test sets `foreman.now` inside its transaction to say what time it is; nothing else does.
CREATE FUNCTION foreman_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(nullif(current_setting('foreman.now', true), '')::timestamptz, now())
$$;

-- What was asked. By week of the id: look-ups go to one partition, an old week is dropped whole, and `PRIMARY KEY (id)` alone
-- still makes a job certain to be there once. Partitions are made ahead by the migration and by the upkeep (src/partitions.rs);
-- what lies outside all of them, such as an id made by a machine whose clock is wrong, goes to the default one.
CREATE TABLE jobs (
    id             uuid        NOT NULL PRIMARY KEY,
    tenant         text        NOT NULL,
    queue          text        NOT NULL,
    route          text        NOT NULL,     -- who can run it: http, command, task:NAME
    lane           smallint    NOT NULL,     -- 0 high, 1 normal, 2 low
    kind           text,                     -- a label to filter by
    correlation_id text,
    max_attempts   integer     NOT NULL,
    created_at     timestamptz NOT NULL,
    first_run_at   timestamptz NOT NULL,     -- when it was first allowed to run
    work           text        NOT NULL      -- everything asked, as JSON to the letter
) PARTITION BY RANGE (id);
CREATE INDEX jobs_of_tenant ON jobs (tenant, id);
CREATE INDEX jobs_correlated ON jobs (tenant, correlation_id, id) WHERE correlation_id IS NOT NULL;
CREATE TABLE jobs_default PARTITION OF jobs DEFAULT;

CREATE TABLE job_tags (
    tenant text NOT NULL,
    tag    text NOT NULL,
    job    uuid NOT NULL,
    PRIMARY KEY (tenant, tag, job)
);
CREATE INDEX job_tags_of_job ON job_tags (job);

-- Jobs that wait. Narrow and never partitioned: a claim deletes here by the physical place of a row, which is its own only
-- within one table. Rows come and go with every job, so the vacuum comes early and does not dawdle: with the usual settings
-- a claim would soon walk over more dead rows than living ones. The room left in each page is for the promoter's update.
CREATE TABLE ready (
    job        uuid        NOT NULL PRIMARY KEY,
    tenant     text        NOT NULL,
    queue      text        NOT NULL,
    route      text        NOT NULL,
    lane       smallint    NOT NULL,
    key        bigint,                       -- place in the fair order; NULL: not due yet, outside the claim index
    run_at     timestamptz NOT NULL,         -- when it may run
    expires_at timestamptz,                  -- no attempt starts after it
    attempt    integer     NOT NULL,         -- tries so far; never falls
    spent      integer     NOT NULL,         -- tries that count against max_attempts
    crashes    integer     NOT NULL,         -- workers it took down
    kind       text                          -- carried along, so that `outcomes` gets it without asking `jobs`
) WITH (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_insert_threshold = -1
);
-- Leads with the lane and the route: where queues are many, those that have something due there are found by skipping from
-- one to the next, and neither an unserved backlog nor a paused queue is walked over.
CREATE INDEX ready_in_order ON ready (lane, route, queue, key, job) WHERE key IS NOT NULL;
CREATE INDEX ready_later ON ready (run_at, job) WHERE key IS NULL;
CREATE INDEX ready_expiring ON ready (expires_at, job) WHERE expires_at IS NOT NULL;
-- Jobs whose next crash would be their last: they run alone.
CREATE INDEX ready_fragile ON ready (key, job) WHERE key IS NOT NULL AND crashes >= 2;

-- One row per batch taken by a session. The number is the fence: drawn from a sequence after the rows are taken, never given
-- twice. The arrays hold what travels with each job, in the order of `jobs`; `open` has a bit for each. A set bit, never the
-- absence of an outcome, is what "held" means. Closing some writes the bits alone (212 bytes of WAL for 50 of 1,000, where a
-- shortened array of ids took 8,685); the row goes with its last bit.
CREATE SEQUENCE claim_numbers AS bigint;
CREATE TABLE claims (
    number     bigint        NOT NULL PRIMARY KEY,
    session    uuid          NOT NULL,
    token      uuid          NOT NULL,       -- made by the worker for the call; the same call answers the same claim
    claimed_at timestamptz   NOT NULL,
    jobs       uuid[]        NOT NULL,
    tenants    text[]        NOT NULL,
    queues     text[]        NOT NULL,
    routes     text[]        NOT NULL,
    lanes      smallint[]    NOT NULL,
    kinds      text[]        NOT NULL,
    run_at     timestamptz[] NOT NULL,
    expires_at timestamptz[] NOT NULL,
    attempt    integer[]     NOT NULL,       -- the number of this try
    spent      integer[]     NOT NULL,       -- this try included
    crashes    integer[]     NOT NULL,
    open       bit varying   NOT NULL,
    CONSTRAINT claims_token UNIQUE (session, token)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);

-- The jobs that are held, one row each. To read; whoever decides locks the row of `claims` first.
CREATE VIEW held AS
SELECT claims.number AS claim, claims.session, claims.token, claims.claimed_at, member.*
FROM claims
CROSS JOIN LATERAL unnest(claims.jobs, claims.tenants, claims.queues, claims.routes, claims.lanes, claims.kinds,
                          claims.run_at, claims.expires_at, claims.attempt, claims.spent, claims.crashes)
     WITH ORDINALITY AS member (job, tenant, queue, route, lane, kind, run_at, expires_at, attempt, spent, crashes, place)
WHERE get_bit(claims.open, member.place::integer - 1) = 1;

-- Final jobs, by week of the id like `jobs`. One row per job makes one outcome certain.
CREATE TABLE outcomes (
    job         uuid        NOT NULL PRIMARY KEY,
    tenant      text        NOT NULL,
    state       text        NOT NULL,        -- completed, failed, dead, cancelled
    queue       text        NOT NULL,
    kind        text,
    finished_at timestamptz NOT NULL,
    attempt     integer     NOT NULL,
    spent       integer     NOT NULL,
    crashes     integer     NOT NULL,
    run_at      timestamptz NOT NULL,
    claim       bigint,                      -- of the try that ended it; NULL: it ended while it waited
    settled     boolean     NOT NULL,        -- recorded by that try itself; otherwise by a cancel, an expiry or a lapse
    session     uuid,
    worker      text,
    started_at  timestamptz,
    report      text        NOT NULL         -- what the try left behind, as JSON
) PARTITION BY RANGE (job);
-- Lists a final state by time; with the queue, so that rates are counted from the index alone.
CREATE INDEX outcomes_by_state ON outcomes (tenant, state, finished_at, job) INCLUDE (queue);
CREATE TABLE outcomes_default PARTITION OF outcomes DEFAULT;

-- Tries that did not end their job, and what a re-drive put aside. Appended; a job's rows are written one after the other
-- under its claim's lock, so `place` is their order.
CREATE TABLE attempts (
    place       bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    job         uuid        NOT NULL,
    claim       bigint,
    number      integer     NOT NULL,        -- 0: the job had ended without a try
    settled     boolean     NOT NULL,        -- as in `outcomes`
    session     uuid,
    worker      text,
    started_at  timestamptz,
    finished_at timestamptz NOT NULL,
    outcome     text        NOT NULL,
    report      text        NOT NULL,
    CONSTRAINT attempts_once UNIQUE (job, claim)   -- one try is recorded once
);

CREATE TABLE idempotency (
    tenant      text        NOT NULL,
    key         text        NOT NULL,
    job         uuid        NOT NULL,
    fingerprint bytea       NOT NULL,        -- of the content the key stood for
    expires_at  timestamptz NOT NULL,        -- from then on the key may be taken over
    PRIMARY KEY (tenant, key)
);
CREATE INDEX idempotency_of_job ON idempotency (job);
CREATE INDEX idempotency_expiring ON idempotency (expires_at);

-- One life of a worker process. Renewed every few seconds; no index holds a column that a renewal changes, and half of each
-- page is free, so that a renewal stays within its page.
CREATE TABLE sessions (
    id         uuid        NOT NULL PRIMARY KEY,
    worker     text        NOT NULL,
    pid        bigint      NOT NULL,
    version    text        NOT NULL,
    slots      bigint      NOT NULL,
    queues     text[]      NOT NULL,         -- empty: all
    ttl        interval    NOT NULL,
    state      text        NOT NULL,         -- live, draining, ended, dead
    beats      bigint      NOT NULL,         -- rises with every renewal
    started_at timestamptz NOT NULL,
    renewed_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,         -- from then on it may be lapsed
    ended_at   timestamptz
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);

-- A row appears with the first job of a queue.
CREATE TABLE queues (
    queue     text NOT NULL,
    tenant    text NOT NULL,
    paused_at timestamptz,
    used_at   timestamptz NOT NULL,  -- noted at most once an hour; long unused and empty, the row goes
    PRIMARY KEY (queue, tenant)
);
CREATE INDEX queues_by_use ON queues (used_at, queue, tenant) WHERE paused_at IS NULL;
CREATE INDEX queues_paused ON queues (queue, tenant) WHERE paused_at IS NOT NULL;

-- The fair order. V: the highest key claimed so far in a queue and lane; it moves with service, never with the clock. A row
-- appears with the first job in a queue and lane, so this also says where jobs may be found.
CREATE TABLE lanes (
    queue text     NOT NULL,
    lane  smallint NOT NULL,
    v     bigint   NOT NULL,
    PRIMARY KEY (lane, queue)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);

-- The last key each tenant was given there. Keys are reserved by a short statement of its own before a batch is written
-- (src/sql/reserve.sql), so that nobody waits for this row while somebody else's batch is on its way to the disk.
CREATE TABLE shares (
    queue    text     NOT NULL,
    lane     smallint NOT NULL,
    tenant   text     NOT NULL,
    last_key bigint   NOT NULL,
    given    bigint   NOT NULL,              -- how far the last reservation went
    PRIMARY KEY (queue, lane, tenant)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);

-- What moved, one row per operation, written in the transaction that moved it, as the last thing it does. A position is drawn
-- a moment before its transaction commits, so rows do not become visible in the order of their positions: whoever read
-- `position > last` lost 2,643 of 28,777 events. Nor is the order of transaction ids that in which things happened: a
-- transaction that waited for a lock sees what younger ones did meanwhile. The order of positions is, for whatever a
-- transaction has seen had its position before. So the log is read by position, up to the first that may still be on its way:
-- whoever is about to draw one announces the last that was drawn, by an advisory lock until its end (src/changes.rs).
CREATE SEQUENCE change_positions AS bigint;
CREATE TABLE changes (
    position bigint      NOT NULL PRIMARY KEY DEFAULT nextval('change_positions'),
    at       timestamptz NOT NULL,
    moved    text        NOT NULL            -- JSON: [{"tenant", "queue", "state", "jobs": [[id, attempt], …]}, …]
);
CREATE INDEX changes_by_time ON changes (at);

-- Where the log ended when its last rows were pruned: the end of a log is not taken back. One row.
CREATE TABLE log_end (
    position bigint NOT NULL
);
INSERT INTO log_end (position) VALUES (0);

-- Who leads, one row per office. A term is one reign; it rises with every change of hands and never falls.
CREATE TABLE leases (
    name       text        NOT NULL PRIMARY KEY,
    term       bigint      NOT NULL,
    holder     text        NOT NULL,         -- empty: resigned
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);
