-- The event log @events@ and its consumers. Written by foreman-eventlog; change names there, not here.

-- --- the log -------------------------------------------------------------------------------------------------------

-- Positions. Drawn by @append@ only, after it has announced that it will; never cached, or they would not be in order.
CREATE SEQUENCE @positions@ AS bigint CACHE 1;

-- One row: what is true of the log as a whole.
CREATE TABLE @log@ (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    -- Events up to here were removed by retention.
    pruned_to bigint NOT NULL DEFAULT 0,
    -- Positions per partition; null: the log is one table.
    partition_size bigint CHECK (partition_size > 0)
);

-- Where each life of the log begins. A restore may lose the newest events and give their positions to others, so a
-- cursor carries its epoch: one that is ahead of where a later epoch began goes back to there.
CREATE TABLE @epochs@ (
    epoch integer PRIMARY KEY,
    starts_after bigint NOT NULL,
    -- Which cluster it was; another one means that the log was restored.
    system_identifier bigint,
    started_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE @events@ (
    -- No default: a row that is inserted past @append@ is refused, because readers might miss it.
    global_position bigint NOT NULL,
    tenant text NOT NULL DEFAULT '',
    stream_type text NOT NULL,
    stream_id text NOT NULL,
    stream_version bigint NOT NULL,
    -- Of the stream; decides its virtual shard.
    stream_hash integer NOT NULL,
    event_id uuid NOT NULL,
    event_type text NOT NULL,
    event_version integer NOT NULL DEFAULT 1,
    payload bytea NOT NULL,
    trace_id text,
    correlation_id text,
    causation_id text,
    metadata jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (global_position)
)@partitioned@;
@unique@
CREATE INDEX @events.stream_type_idx@ ON @events@ (stream_type, global_position);
CREATE INDEX @events.event_type_idx@ ON @events@ (event_type, global_position);
CREATE INDEX @events.correlation_idx@ ON @events@ (correlation_id) WHERE correlation_id IS NOT NULL;
CREATE INDEX @events.tenant_idx@ ON @events@ (tenant, global_position) WHERE tenant <> '';

-- The version of each stream. Appends to one stream wait for each other on its row.
CREATE TABLE @heads@ (
    tenant text NOT NULL,
    stream_type text NOT NULL,
    stream_id text NOT NULL,
    stream_version bigint NOT NULL,
    -- Computed once and kept, so that a stream stays in its shard whatever a later server makes of the same text.
    stream_hash integer NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, stream_type, stream_id)
) WITH (fillfactor = 80);

-- --- consumers -----------------------------------------------------------------------------------------------------

CREATE TABLE @workers@ (
    worker_id uuid PRIMARY KEY,
    heartbeat_at timestamptz NOT NULL DEFAULT now(),
    -- The consumers that this worker has, as name/shard: it is given no others.
    consumers text[] NOT NULL DEFAULT '{}',
    application_name text NOT NULL DEFAULT current_setting('application_name'),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE INDEX @workers.heartbeat_idx@ ON @workers@ (heartbeat_at);

-- Who runs what. No foreign key to @workers@: removing a dead worker must not wait for its last transaction.
CREATE TABLE @assignments@ (
    consumer_name text NOT NULL,
    shard integer NOT NULL DEFAULT 0,
    worker_id uuid,
    -- Counts the changes of hands. A batch that was begun under an older one cannot commit.
    epoch bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consumer_name, shard)
);
CREATE INDEX @assignments.worker_idx@ ON @assignments@ (worker_id);

CREATE TABLE @checkpoints@ (
    consumer_name text NOT NULL,
    shard integer NOT NULL DEFAULT 0,
    -- Of how many.
    shards integer NOT NULL DEFAULT 1,
    -- Events up to here are done. Only moves by compare-and-set.
    last_position bigint NOT NULL DEFAULT 0,
    paused_at timestamptz,
    paused_reason text,
    -- Failures in a row at the event below.
    failures integer NOT NULL DEFAULT 0,
    failed_position bigint,
    failed_event_id uuid,
    failed_event_type text,
    last_error text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consumer_name, shard)
) WITH (fillfactor = 50);

-- Events that a consumer was made to pass: by its poison handler or by an operator.
CREATE TABLE @parked@ (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    consumer_name text NOT NULL,
    shard integer NOT NULL,
    global_position bigint NOT NULL,
    event_id uuid NOT NULL,
    event_type text NOT NULL,
    tenant text NOT NULL,
    stream_type text NOT NULL,
    stream_id text NOT NULL,
    stream_version bigint NOT NULL,
    error text NOT NULL,
    parked_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (consumer_name, shard, global_position)
);

-- What was done to a consumer other than its work.
CREATE TABLE @audit@ (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    consumer_name text NOT NULL,
    shard integer,
    action text NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    from_position bigint,
    to_position bigint,
    done_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX @audit.consumer_idx@ ON @audit@ (consumer_name, done_at DESC);

CREATE TABLE @leader@ (
    lease_key text PRIMARY KEY,
    leader_id text NOT NULL,
    -- Rises with every change of hands; each write of a leader carries it.
    term bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- --- functions, for every language ----------------------------------------------------------------------------------

-- The key of an announcement: 1 bit that is set, 15 bits of this log, 48 bits of a position.
CREATE FUNCTION @announcement@(p_position bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT (-9223372036854775808) | ((@events_text@::regclass::oid::bigint & 32767) << 48) | (p_position & 281474976710655)
$$;

-- Appends in the caller's transaction. p_expected: -1 any version, 0 no stream, otherwise exactly that version.
-- A conflict changes nothing and returns the version that is there.
CREATE FUNCTION @try_append@(
    p_tenant text, p_stream_type text, p_stream_id text, p_expected bigint,
    p_ids uuid[], p_types text[], p_versions integer[], p_payloads bytea[],
    p_traces text[], p_correlations text[], p_causations text[], p_metadata text[], p_channel text,
    OUT conflict bigint, OUT first_version bigint, OUT positions bigint[]
) LANGUAGE plpgsql AS $$
DECLARE
    v_count bigint := coalesce(cardinality(p_ids), 0);
    v_before bigint;
    v_hash integer;
BEGIN
    IF v_count = 0 THEN
        RAISE EXCEPTION 'no events to append' USING ERRCODE = 'invalid_parameter_value';
    END IF;

    -- The stream first: positions are drawn under its row lock, so they rise with its versions.
    IF p_expected > 0 THEN
        UPDATE @heads@ AS head SET stream_version = head.stream_version + v_count, updated_at = now()
        WHERE tenant = p_tenant AND stream_type = p_stream_type AND stream_id = p_stream_id
          AND stream_version = p_expected
        RETURNING head.stream_version - v_count, head.stream_hash INTO v_before, v_hash;
    ELSE
        INSERT INTO @heads@ AS head (tenant, stream_type, stream_id, stream_version, stream_hash)
        VALUES (p_tenant, p_stream_type, p_stream_id, v_count,
                (hashtextextended(p_tenant || chr(31) || p_stream_type || chr(31) || p_stream_id, 0) & 2147483647)::integer)
        ON CONFLICT (tenant, stream_type, stream_id) DO UPDATE
        SET stream_version = head.stream_version + v_count, updated_at = now()
        WHERE p_expected < 0
        RETURNING head.stream_version - v_count, head.stream_hash INTO v_before, v_hash;
    END IF;
    IF v_before IS NULL THEN
        SELECT coalesce(max(stream_version), 0) INTO conflict FROM @heads@
        WHERE tenant = p_tenant AND stream_type = p_stream_type AND stream_id = p_stream_id;
        RETURN;
    END IF;

    -- Then the announcement, once per transaction: what is drawn from here on is higher. Setting and lock end together,
    -- with the transaction or the savepoint.
    IF coalesce(current_setting(@announced_setting@, true), '') = '' THEN
        PERFORM pg_advisory_xact_lock_shared(
            @announcement@(CASE WHEN is_called THEN last_value ELSE last_value - 1 END)) FROM @positions@;
        PERFORM set_config(@announced_setting@, '1', true);
    END IF;

    WITH appended AS (
        INSERT INTO @events@ (global_position, tenant, stream_type, stream_id, stream_version, stream_hash, event_id,
            event_type, event_version, payload, trace_id, correlation_id, causation_id, metadata)
        SELECT nextval(@positions_text@), p_tenant, p_stream_type, p_stream_id, v_before + e.nth, v_hash, e.id,
            e.type, e.version, e.payload, e.trace, e.correlation, e.causation, e.metadata::jsonb
        FROM unnest(p_ids, p_types, p_versions, p_payloads, p_traces, p_correlations, p_causations, p_metadata)
            WITH ORDINALITY AS e (id, type, version, payload, trace, correlation, causation, metadata, nth)
        ORDER BY e.nth
        RETURNING global_position
    )
    SELECT array_agg(global_position ORDER BY global_position) INTO positions FROM appended;
    first_version := v_before + 1;
    IF p_channel IS NOT NULL THEN
        -- Heard after the commit, once per transaction.
        PERFORM pg_notify(p_channel, '');
    END IF;
END
$$;

-- The same for people and other drivers: p_events is an array of objects with "type" and "payload" (any JSON), and
-- optionally "id", "version", "metadata", "trace_id", "correlation_id", "causation_id" and "payload_base64" for bytes.
-- A conflict raises an error with SQLSTATE EL409 and the version that is there as its detail.
CREATE FUNCTION @append@(
    p_stream_type text, p_stream_id text, p_expected bigint, p_events jsonb, p_tenant text DEFAULT '',
    p_channel text DEFAULT NULL,
    OUT first_version bigint, OUT positions bigint[]
) LANGUAGE plpgsql AS $$
DECLARE
    v_conflict bigint;
BEGIN
    IF jsonb_typeof(p_events) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'p_events must be an array of objects' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF EXISTS (SELECT FROM jsonb_array_elements(p_events) AS e
               WHERE coalesce(e ->> 'type', '') = '' OR NOT (e ? 'payload' OR e ? 'payload_base64')) THEN
        RAISE EXCEPTION 'every event needs "type" and "payload" or "payload_base64"'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT a.conflict, a.first_version, a.positions INTO v_conflict, first_version, positions
    FROM (
        SELECT array_agg(coalesce((e ->> 'id')::uuid, gen_random_uuid()) ORDER BY nth) AS ids,
               array_agg(e ->> 'type' ORDER BY nth) AS types,
               array_agg(coalesce((e ->> 'version')::integer, 1) ORDER BY nth) AS versions,
               array_agg(CASE WHEN e ? 'payload_base64' THEN decode(e ->> 'payload_base64', 'base64')
                              ELSE convert_to((e -> 'payload')::text, 'UTF8') END ORDER BY nth) AS payloads,
               array_agg(e ->> 'trace_id' ORDER BY nth) AS traces,
               array_agg(e ->> 'correlation_id' ORDER BY nth) AS correlations,
               array_agg(e ->> 'causation_id' ORDER BY nth) AS causations,
               array_agg((e -> 'metadata')::text ORDER BY nth) AS metadata
        FROM jsonb_array_elements(p_events) WITH ORDINALITY AS listed (e, nth)
    ) AS n, LATERAL @try_append@(p_tenant, p_stream_type, p_stream_id, p_expected, n.ids, n.types, n.versions,
        n.payloads, n.traces, n.correlations, n.causations, n.metadata, p_channel) AS a;
    IF v_conflict IS NOT NULL THEN
        RAISE EXCEPTION 'stream %/% is at version %, not %', p_stream_type, p_stream_id, v_conflict, p_expected
            USING ERRCODE = 'EL409', DETAIL = v_conflict::text;
    END IF;
END
$$;

-- Up to where the log may be read: every position at or below it is visible to the NEXT statement, or was rolled back.
-- Once true, true for ever. head is the last position that was drawn.
CREATE FUNCTION @frontier@(OUT frontier bigint, OUT head bigint) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_announced bigint;
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'the log is read with READ COMMITTED: the snapshot of this transaction is older than the frontier'
            USING ERRCODE = 'EL001';
    END IF;
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'the log is read on the primary: a standby does not know which transactions are open'
            USING ERRCODE = 'EL002';
    END IF;
    -- First what was drawn, then who is still at work, each in a statement of its own. A row at or below both was drawn
    -- before the first look; its writer, had it still been at work at the second, would have been seen announcing less.
    SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END INTO head FROM @positions@;
    SELECT min((classid::bigint & 65535) << 32 | objid::bigint) INTO v_announced FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND granted
      AND classid::bigint >> 16 = 32768 + (@events_text@::regclass::oid::bigint & 32767)
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
    frontier := least(head, v_announced);
END
$$;

-- Which transactions hold the frontier back, the oldest announcement first.
CREATE FUNCTION @holders@(
    OUT announced bigint, OUT pid integer, OUT application_name text, OUT usename text, OUT client_addr text,
    OUT state text, OUT open_secs double precision, OUT prepared_gid text, OUT query text
) RETURNS SETOF record LANGUAGE sql STABLE AS $$
    SELECT (l.classid::bigint & 65535) << 32 | l.objid::bigint, l.pid, a.application_name, a.usename::text,
           a.client_addr::text, a.state,
           extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, p.prepared))::double precision,
           p.gid, left(a.query, 200)
    FROM pg_locks AS l
    LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
    LEFT JOIN pg_prepared_xacts AS p ON l.pid IS NULL AND p.transaction::text = split_part(l.virtualtransaction, '/', 2)
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
      AND l.classid::bigint >> 16 = 32768 + (@events_text@::regclass::oid::bigint & 32767)
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ORDER BY 1, 2
$$;

-- Events after a position, none passed over. For other drivers; in READ COMMITTED, on the primary.
CREATE FUNCTION @read@(
    p_after bigint, p_limit bigint DEFAULT 100, p_stream_types text[] DEFAULT NULL, p_event_types text[] DEFAULT NULL,
    p_tenant text DEFAULT NULL
) RETURNS SETOF @events@ LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_frontier bigint := (SELECT f.frontier FROM @frontier@() AS f);
BEGIN
    RETURN QUERY SELECT * FROM @events@ AS e
    WHERE e.global_position > p_after AND e.global_position <= v_frontier
      AND (p_stream_types IS NULL OR e.stream_type = ANY (p_stream_types))
      AND (p_event_types IS NULL OR e.event_type = ANY (p_event_types))
      AND (p_tenant IS NULL OR e.tenant = p_tenant)
    ORDER BY e.global_position LIMIT p_limit;
END
$$;

INSERT INTO @log@ (partition_size) VALUES (@partition_size@);
INSERT INTO @epochs@ (epoch, starts_after) VALUES (1, 0);
