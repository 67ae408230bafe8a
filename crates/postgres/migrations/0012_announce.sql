-- Announcing: which due jobs a broker has been told of. It only adds, and a binary of the version before runs on beside it: what
-- it puts into `ready` is unannounced, and what it takes out takes its mark along.

-- In the order in which those who work take them.
LOCK TABLE sessions, ready IN ACCESS EXCLUSIVE MODE;

-- The routes whose jobs a worker takes from a broker. NULL: it only asks this database.
ALTER TABLE sessions ADD COLUMN consumes text[];

-- Without a broker these stay NULL and are written by nobody, and a row has the size it had. No index holds them, so that a mark
-- stays within its page as long as there is room. A row that comes back to `ready` is a new one, without a mark.
ALTER TABLE ready
    ADD COLUMN announced   bigint,      -- the batch it was announced in; NULL: it is not
    ADD COLUMN refusals    integer,     -- how often it was refused while it waited, or could not be sent
    ADD COLUMN announce_at timestamptz; -- not announced before

-- One row per batch, as long as one of its jobs bears its number. The arrays go together.
CREATE SEQUENCE announcement_numbers AS bigint;
CREATE TABLE announcements (
    number       bigint      NOT NULL PRIMARY KEY,
    at           timestamptz NOT NULL,
    acknowledged boolean     NOT NULL DEFAULT false, -- the broker has answered
    jobs         uuid[]      NOT NULL,
    tenants      text[]      NOT NULL,
    lanes        smallint[]  NOT NULL
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);

-- Messages that could not be read, as they came.
CREATE TABLE parked_messages (
    number    bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    parked_at timestamptz NOT NULL,
    topic     text        COLLATE "C" NOT NULL,
    partition integer     NOT NULL,
    place     bigint      NOT NULL,                  -- the offset in the partition
    key       bytea,
    bytes     bytea       NOT NULL,                  -- cut to what is kept
    size      bigint      NOT NULL,                  -- how many there were
    reason    text        NOT NULL,
    CONSTRAINT parked_once UNIQUE (topic, partition, place)
);
