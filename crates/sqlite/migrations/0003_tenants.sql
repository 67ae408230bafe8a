-- Tenants, their keys and webhooks, and who did what. Only adds: a binary that knows nothing of tenants runs on it, for the
-- one tenant that it knows. It looks at no key, tells nobody of anything, and forgets changes that the courier had not read.

-- The tenant is part of every key. A row stays when its tenant is deleted, so that the id is never given again.
CREATE TABLE tenants (
    id         TEXT    NOT NULL PRIMARY KEY,
    version    INTEGER NOT NULL,         -- from 1; rises with every change; that of a deleted one is the one deleted
    deleted_at INTEGER,
    created_at INTEGER NOT NULL,
    edited_at  INTEGER NOT NULL,
    made_by    BLOB,                     -- the edit that made it, so that it can be sent again
    edited_by  BLOB,                     -- the last change, so that it can be sent again
    weight     INTEGER NOT NULL,         -- its share of a lane; copied from the settings for the fair order
    settings   TEXT    NOT NULL          -- what an administrator said, as JSON; nothing when it is deleted
) STRICT, WITHOUT ROWID;
-- The one that is always there, since there is the file.
INSERT INTO tenants (id, version, created_at, edited_at, weight, settings)
SELECT 'default', 1, at, at, 1, '{}' FROM (SELECT coalesce(min(applied_at), 0) AS at FROM schema_migrations);

-- By id alone, for the id is all that whoever stands at the door shows. Rows go with their tenant, and not before.
CREATE TABLE api_keys (
    id           TEXT    NOT NULL PRIMARY KEY,
    tenant       TEXT    NOT NULL,       -- whose data it opens
    name         TEXT    NOT NULL,       -- for people
    hash         BLOB    NOT NULL,       -- SHA-256 of the whole key; the key itself is nowhere
    scopes       TEXT    NOT NULL,       -- JSON array
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,                -- from then on it opens nothing
    revoked_at   INTEGER,
    last_used_at INTEGER,                -- to the minute or so
    replaced_by  TEXT                    -- the key that takes its place
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_of_tenant ON api_keys (tenant, id);

-- Who wants to be told.
CREATE TABLE webhooks (
    tenant        TEXT    NOT NULL,
    id            BLOB    NOT NULL,
    version       INTEGER NOT NULL,      -- from 1; rises with every change, not with its health
    failing_since INTEGER,               -- every delivery has failed since then; NULL: they arrive
    well_at       INTEGER,               -- the latest arrival, or when it was enabled; what is older says nothing any more
    created_at    INTEGER NOT NULL,
    edited_at     INTEGER NOT NULL,
    edited_by     BLOB,                  -- the last change, so that it can be sent again
    settings      TEXT    NOT NULL,      -- what its owner said, as JSON
    signing       TEXT    NOT NULL,      -- its secrets, sealed, the newest first, as JSON
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- What is listed of the deliveries of a webhook: how they go is a matter of their jobs. Rows go with their webhook, or when
-- they have outlived their retention; their jobs have their own.
CREATE TABLE deliveries (
    tenant     TEXT    NOT NULL,
    webhook    BLOB    NOT NULL,
    job        BLOB    NOT NULL,         -- the delivery's own; it may be gone already
    event      TEXT    NOT NULL,
    about      BLOB,                     -- the job it tells of
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, webhook, job)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_by_time ON deliveries (created_at);

-- How far the courier has read the change log. No row: there is none, and nothing is kept for it.
CREATE TABLE courier (
    only     INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
    position INTEGER NOT NULL            -- in `changes`; everything up to it has been told
) STRICT;

-- Who did what to which object. Appended, never changed.
CREATE TABLE audit_trail (
    id     BLOB    NOT NULL PRIMARY KEY, -- UUIDv7: they ascend
    tenant TEXT    NOT NULL,             -- whose object it was
    at     INTEGER NOT NULL,
    act    TEXT    NOT NULL              -- as JSON
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_trail_of_tenant ON audit_trail (tenant, id);
CREATE INDEX audit_trail_by_time ON audit_trail (at);

-- Jobs are found to have asked for a callback by this tag. The version before kept the wish without one. What is final was
-- to be told by nobody. The text is looked for first: most work is long and has no such field.
INSERT INTO job_tags (tenant, tag, job)
SELECT tenant, 'foreman:callback', id FROM jobs
WHERE id IN (SELECT job FROM ready UNION ALL SELECT job FROM held)
      AND CASE WHEN instr(work, '"callback_url"') > 0 AND json_valid(work)
               THEN json_extract(work, '$.callback_url') END IS NOT NULL
ON CONFLICT DO NOTHING;

-- The fair order, line by line: what is due in one lane, for one route, in one queue. `lanes` and `shares` of the version
-- before knew no routes, so that a tenant's one command, claimed at once, put everybody's pushes behind all of its own; they
-- stay for a binary that goes back. V: the highest key claimed so far in a line; it moves with service, never with the clock.
CREATE TABLE line_fronts (
    queue TEXT    NOT NULL,
    lane  INTEGER NOT NULL,
    route TEXT    NOT NULL,
    v     INTEGER NOT NULL,
    PRIMARY KEY (queue, lane, route)
) STRICT, WITHOUT ROWID;
INSERT INTO line_fronts (queue, lane, route, v)
SELECT queue, lane, route, min(key) FROM ready WHERE key IS NOT NULL GROUP BY queue, lane, route;

-- The last key each tenant was given there, and when.
CREATE TABLE line_shares (
    queue    TEXT    NOT NULL,
    lane     INTEGER NOT NULL,
    route    TEXT    NOT NULL,
    tenant   TEXT    NOT NULL,
    last_key INTEGER NOT NULL,
    given_at INTEGER NOT NULL,
    PRIMARY KEY (queue, lane, route, tenant)
) STRICT, WITHOUT ROWID;
-- Where there are more lines than a claim looks into, it looks into the latest of every tenant.
CREATE INDEX line_shares_by_time ON line_shares (lane, route, tenant, given_at, queue);
INSERT INTO line_shares (queue, lane, route, tenant, last_key, given_at)
SELECT queue, lane, route, tenant, max(key), max(run_at) FROM ready WHERE key IS NOT NULL
GROUP BY queue, lane, route, tenant;
