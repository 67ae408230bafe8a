-- Schedules, and what became of their ticks. Nothing that was there before is touched: a binary of the version before runs on.
--
-- Every tick moves a schedule on: its row is locked, compared with what the tick was computed from, and written together with
-- the rows of its ticks and jobs, in one transaction (src/schedules/fire.rs).

CREATE TABLE schedules (
    id           uuid        NOT NULL PRIMARY KEY,
    tenant       text        NOT NULL,
    name         text        COLLATE "C" NOT NULL,   -- listed in the order of its bytes, whatever the language of the database
    spec         text        NOT NULL,     -- as it was written, as JSON
    work         text        NOT NULL,     -- what every tick asks for, as JSON
    version      bigint      NOT NULL,     -- rises with every edit, from 1
    next_fire_at timestamptz,              -- the next tick; NULL while it is paused, and when it is finished
    held         timestamptz,              -- a tick that waits for a job of an earlier one to be final
    paused       boolean     NOT NULL,
    created_at   timestamptz NOT NULL,
    edited_at    timestamptz NOT NULL,
    edited_by    uuid,                     -- the last edit, so that one sent again is known
    CONSTRAINT schedules_name UNIQUE (tenant, name)
) WITH (
    -- Every tick writes `next_fire_at`, which is indexed, so no update stays within its page and each leaves an entry behind in
    -- every index; the look for what is due begins where these lie. So the vacuum comes early and does not dawdle, as for `ready`.
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_insert_threshold = -1
);
CREATE INDEX schedules_due ON schedules (next_fire_at, id) WHERE next_fire_at IS NOT NULL;
-- Where a tick is held and may be let go.
CREATE INDEX schedules_held ON schedules (id) WHERE held IS NOT NULL AND NOT paused;

-- What became of a tick, or of a run of missed ones. The key is what fires a tick once, whoever tries.
CREATE TABLE ticks (
    schedule uuid        NOT NULL,
    nominal  timestamptz NOT NULL,         -- the instant it belongs to
    state    text        NOT NULL,         -- fired, held, skipped
    reason   text,                         -- by_hand, missed, overlap, deleted
    job      uuid,                         -- of a fired one
    open     boolean     NOT NULL,         -- nobody has seen yet that its job is final; set again when the job is re-driven
    at       timestamptz NOT NULL,         -- when that was decided
    last     timestamptz,                  -- the last of a run of missed ones
    count    integer,                      -- how many it stands for; NULL: more than were counted
    PRIMARY KEY (schedule, nominal)
);
-- Where a schedule's jobs that are not final may be. To ask for the outcomes of its latest thousand at every tick took 7 s for 500
-- schedules on a busy machine; whoever finds one final says so here, and it is not asked for again.
CREATE INDEX ticks_open ON ticks (schedule, nominal) WHERE open;
CREATE INDEX ticks_of_job ON ticks (job) WHERE job IS NOT NULL;
CREATE INDEX ticks_by_time ON ticks (at);
