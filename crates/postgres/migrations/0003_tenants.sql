-- Tenants and their keys, whom they want told and what was sent to them, and who did what. Of what was there before nothing is
-- changed but for one index more: a binary of the version before runs on.
--
-- Whatever is listed by an id or a name is kept in the order of its bytes, whatever the language of the database.

-- A tenant's row stays when the tenant is deleted, so that its id is never given again. Whoever gives it a key locks this row
-- FOR KEY SHARE, and whoever deletes it FOR UPDATE: no key comes to a tenant that is gone.
CREATE TABLE tenants (
    id         text        COLLATE "C" NOT NULL PRIMARY KEY,
    settings   text        NOT NULL,     -- what an administrator said about it, as JSON; its secrets sealed
    weight     integer     NOT NULL,     -- as the settings say: read wherever places in line are reserved
    version    bigint      NOT NULL,     -- rises with every change, from 1
    created_at timestamptz NOT NULL,
    edited_at  timestamptz NOT NULL,
    made_by    uuid,                     -- the edit that made it, so that one sent again is known
    edited_by  uuid,                     -- the last edit, for the same reason
    deleted_at timestamptz               -- it is gone, and its id is taken for ever
) WITH (fillfactor = 80);
INSERT INTO tenants (id, settings, weight, version, created_at, edited_at)
VALUES ('default', '{}', 1, 1, foreman_now(), foreman_now());

-- Never the key itself. A use is noted at most once in a while, and no index holds what that changes.
CREATE TABLE api_keys (
    id           text        COLLATE "C" NOT NULL PRIMARY KEY,
    tenant       text        COLLATE "C" NOT NULL,
    name         text        NOT NULL,   -- for people
    hash         bytea       NOT NULL,   -- SHA-256 of the whole key
    scopes       text        NOT NULL,   -- with commas
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,            -- from then on it opens nothing
    revoked_at   timestamptz,
    last_used_at timestamptz,
    replaced_by  text                    -- the key that took its place
) WITH (fillfactor = 80);
CREATE INDEX api_keys_of_tenant ON api_keys (tenant, id);

-- Endpoints. Their health is noted by the courier and is no edit.
CREATE TABLE webhooks (
    id            uuid        NOT NULL PRIMARY KEY,
    tenant        text        COLLATE "C" NOT NULL,
    settings      text        NOT NULL,  -- where to, what of, and why it is sent nothing, as JSON
    enabled       boolean     NOT NULL,  -- as the settings say
    signing       text        NOT NULL,  -- its secrets, sealed, as JSON
    failing_since timestamptz,           -- since when nothing has arrived
    well_at       timestamptz,           -- the latest arrival, or when it was enabled: older tries say nothing any more
    version       bigint      NOT NULL,  -- rises with every change but those of its health, from 1
    created_at    timestamptz NOT NULL,
    edited_at     timestamptz NOT NULL,
    edited_by     uuid                   -- the last edit, so that one sent again is known
) WITH (fillfactor = 80);
CREATE INDEX webhooks_of_tenant ON webhooks (tenant, id);

-- What was sent to an endpoint, as it is listed. How a delivery went is a matter of its job, which may be gone before this is.
CREATE TABLE deliveries (
    tenant     text        COLLATE "C" NOT NULL,
    webhook    uuid        NOT NULL,
    job        uuid        NOT NULL,     -- the delivery's own
    event      text        NOT NULL,     -- such as job.completed
    about      uuid,                     -- the job it tells of
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, webhook, job)
);
CREATE INDEX deliveries_by_time ON deliveries (created_at);

-- How far the courier has read the change log. It moves in the transaction that makes its deliveries; without a row there is
-- no courier, and nothing of the log is kept for it. One row or none.
CREATE TABLE courier (
    is_one   boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (is_one),
    position bigint  NOT NULL
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);

-- Who did what to which object, and when. Appended to and pruned by age, never changed.
CREATE TABLE audit_trail (
    id     uuid        NOT NULL PRIMARY KEY,   -- of the act, so that one sent again is kept once
    tenant text        COLLATE "C" NOT NULL,   -- whose object it is
    at     timestamptz NOT NULL,
    act    text        NOT NULL                -- as JSON: actor, action, object, status, request, peer; a key by its id
);
CREATE INDEX audit_trail_of_tenant ON audit_trail (tenant, id);
CREATE INDEX audit_trail_by_time ON audit_trail (at);

-- The fair order, line by line: what is due in one lane, for one route, in one queue. `lanes` and `shares` of the version
-- before knew no routes, so that a tenant's one command, claimed at once, put everybody's pushes behind all of its own. A
-- binary of that version goes on with those; `lanes` also says which queues there are. V: the highest key claimed so far in a
-- line; it moves with service, never with the clock.
CREATE TABLE line_fronts (
    queue text     NOT NULL,
    lane  smallint NOT NULL,
    route text     NOT NULL,
    v     bigint   NOT NULL,
    PRIMARY KEY (queue, lane, route)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);
-- A line goes on where its queue was, also one in which nothing waits: until everybody has been replaced, a binary of the version
-- before gives its jobs keys that follow `lanes.v`, and from nought they would be behind the next million of ours. The two fronts
-- part only while one kind of worker claims alone, and meet with the first job of the other kind that is claimed.
INSERT INTO line_fronts (queue, lane, route, v)
SELECT queue, lane, route, min(v)
FROM (
    SELECT ready.queue, ready.lane, ready.route, ready.key AS v FROM ready WHERE ready.key IS NOT NULL
    UNION ALL
    SELECT lanes.queue, lanes.lane, served.route, lanes.v
    FROM lanes CROSS JOIN (VALUES ('http'), ('command')) AS served (route)
    UNION ALL
    SELECT lanes.queue, lanes.lane, held.route, lanes.v
    FROM held JOIN lanes ON lanes.queue = held.queue AND lanes.lane = held.lane
) AS known
GROUP BY queue, lane, route;

-- The last key each tenant was given there; reserved by a short statement of its own (src/sql/reserve.sql).
CREATE TABLE line_shares (
    queue    text     NOT NULL,
    lane     smallint NOT NULL,
    route    text     NOT NULL,
    tenant   text     NOT NULL,
    last_key bigint   NOT NULL,
    given    bigint   NOT NULL,              -- how far the last reservation went
    PRIMARY KEY (queue, lane, route, tenant)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);
INSERT INTO line_shares (queue, lane, route, tenant, last_key, given)
SELECT queue, lane, route, tenant, max(key), 0 FROM ready WHERE key IS NOT NULL GROUP BY queue, lane, route, tenant;

-- Jobs are found to have asked for a callback by this tag. The version before kept the wish without one, and told nobody; what
-- is final stays untold. The text is only looked for: one that has the word elsewhere is looked at once more when it ends, and
-- one that cannot be read hinders nothing.
INSERT INTO job_tags (tenant, tag, job)
SELECT jobs.tenant, 'foreman:callback', jobs.id FROM jobs
WHERE jobs.id IN (SELECT ready.job FROM ready UNION ALL SELECT held.job FROM held) AND jobs.work LIKE '%"callback_url"%'
ON CONFLICT DO NOTHING;

-- How much a tenant has waiting is counted for its limit, and must not depend on what others have waiting: beside a million of
-- theirs a tenant without any took 110 ms to count, with this index 0.06. To write it takes 8 % of what a submission and its
-- claim cost the database, and 73 bytes of WAL a job; with the job's id behind the tenant it would be 14 %. The last thing of
-- all: from here to the end nobody submits or claims.
CREATE INDEX ready_of_tenant ON ready (tenant);
