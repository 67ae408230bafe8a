//! The statements of a log, with its names in them.
//!
//! They are sent with their types and without a name, which saves a round trip and works behind a pooler in transaction mode.

use super::tables::ResolvedNames;

const EVENT: &str = "global_position, tenant, stream_type, stream_id, stream_version, event_id, event_type, event_version,
    payload, trace_id, correlation_id, causation_id, metadata::text, (extract(epoch FROM created_at) * 1000000)::bigint";

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident: $text:expr;)*) => {
        pub(crate) struct Statements { $($(#[$doc])* pub $name: String,)* }

        impl Statements {
            pub fn new(names: &ResolvedNames) -> Self {
                Self { $($name: names.render(&$text.replace("@EVENT@", EVENT)),)* }
            }

            /// For the test that prepares every statement.
            pub fn all(&self) -> Vec<(&'static str, &str)> {
                vec![$((stringify!($name), self.$name.as_str()),)*]
            }
        }
    };
}

statements! {
    append: "SELECT conflict, first_version, positions FROM @try_append@($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    frontier: "SELECT frontier, head FROM @frontier@()";
    /// The frontier, and what is to know about a cursor of epoch `$1`.
    horizon: "SELECT f.frontier, f.head, (SELECT max(epoch) FROM @epochs@), \
        (SELECT min(starts_after) FROM @epochs@ WHERE epoch > $1), (SELECT pruned_to FROM @log@) FROM @frontier@() AS f";
    holders: "SELECT announced, pid, application_name, usename, client_addr, state, open_secs, prepared_gid, query FROM @holders@()";
    read_stream: "SELECT @EVENT@ FROM @events@ WHERE tenant = $1 AND stream_type = $2 AND stream_id = $3 AND stream_version >= $4 \
        ORDER BY stream_version LIMIT $5";
    stream_version: "SELECT stream_version FROM @heads@ WHERE tenant = $1 AND stream_type = $2 AND stream_id = $3";
    read: "SELECT @EVENT@ FROM @events@ WHERE global_position > $1 AND global_position <= $2 \
        AND ($3::text IS NULL OR tenant = $3) AND ($4::text[] IS NULL OR stream_type = ANY ($4)) \
        AND ($5::text[] IS NULL OR event_type = ANY ($5)) AND ($6::integer = 1 OR stream_hash % $6 = $7) \
        ORDER BY global_position LIMIT $8";
    epoch: "SELECT max(epoch) FROM @epochs@";
    /// A cluster is known by its identifier; the first that looks notes it.
    new_epoch: "WITH identity AS (SELECT system_identifier FROM pg_control_system()), \
        newest AS (SELECT epoch, system_identifier FROM @epochs@ ORDER BY epoch DESC LIMIT 1 FOR UPDATE), \
        noted AS (UPDATE @epochs@ AS e SET system_identifier = identity.system_identifier FROM identity, newest \
            WHERE e.epoch = newest.epoch AND newest.system_identifier IS NULL AND NOT $1 RETURNING e.epoch) \
        INSERT INTO @epochs@ (epoch, starts_after, system_identifier) \
        SELECT newest.epoch + 1, CASE WHEN p.is_called THEN p.last_value ELSE 0 END, identity.system_identifier \
        FROM newest, identity, @positions@ AS p, (SELECT count(*) FROM noted) AS n \
        WHERE $1 OR newest.system_identifier <> identity.system_identifier RETURNING epoch, starts_after";

    register: "INSERT INTO @workers@ (worker_id, consumers) VALUES ($1, $2) \
        ON CONFLICT (worker_id) DO UPDATE SET heartbeat_at = now(), consumers = excluded.consumers, updated_at = now()";
    heartbeat: "UPDATE @workers@ SET heartbeat_at = now(), updated_at = now() WHERE worker_id = $1";
    /// Of consumers that nobody has run before.
    ensure_checkpoints: "INSERT INTO @checkpoints@ (consumer_name, shard, shards, last_position) \
        SELECT u.name, u.shard, u.shards, 0 FROM unnest($1::text[], $2::integer[], $3::integer[]) AS u (name, shard, shards) \
        WHERE NOT EXISTS (SELECT FROM @checkpoints@ AS c WHERE c.consumer_name = u.name) \
        ORDER BY 1, 2 ON CONFLICT DO NOTHING";
    ensure_assignments: "INSERT INTO @assignments@ (consumer_name, shard) \
        SELECT u.name, u.shard FROM unnest($1::text[], $2::integer[]) AS u (name, shard) ORDER BY 1, 2 ON CONFLICT DO NOTHING";
    shard_counts: "SELECT consumer_name, max(shards) FROM @checkpoints@ WHERE consumer_name = ANY ($1) GROUP BY 1";
    /// What is this worker's, and is to run.
    assigned: "SELECT a.consumer_name, a.shard, a.epoch, c.last_position FROM @assignments@ AS a \
        JOIN @checkpoints@ AS c USING (consumer_name, shard) WHERE a.worker_id = $1 AND c.paused_at IS NULL";
    release: "WITH released AS (UPDATE @assignments@ SET worker_id = NULL, epoch = epoch + 1, updated_at = now() \
            WHERE worker_id = $1 RETURNING 1) \
        DELETE FROM @workers@ WHERE worker_id = $1";

    lease_acquire: "INSERT INTO @leader@ AS known (lease_key, leader_id, term, expires_at) \
        VALUES ($1, $2, 1, now() + make_interval(secs => $3)) ON CONFLICT (lease_key) DO UPDATE \
        SET term = known.term + 1, leader_id = excluded.leader_id, expires_at = excluded.expires_at, updated_at = now() \
        WHERE known.expires_at <= now() OR known.leader_id = excluded.leader_id RETURNING term";
    lease_renew: "UPDATE @leader@ SET expires_at = now() + make_interval(secs => $3), updated_at = now() \
        WHERE lease_key = $1 AND term = $2 RETURNING term";
    lease_resign: "UPDATE @leader@ SET term = term + 1, leader_id = '', expires_at = now(), updated_at = now() \
        WHERE lease_key = $1 AND term = $2";

    /// Workers that are silent for too long; only for the leader of term `$1`.
    prune_workers: "DELETE FROM @workers@ WHERE heartbeat_at < now() - make_interval(secs => $2) \
        AND EXISTS (SELECT FROM @leader@ WHERE lease_key = 'leader' AND term = $1 AND expires_at > now()) RETURNING worker_id";
    living_workers: "SELECT worker_id, consumers FROM @workers@ WHERE heartbeat_at >= now() - make_interval(secs => $1) ORDER BY 1";
    owners: "SELECT consumer_name, shard, worker_id FROM @assignments@ ORDER BY 1, 2";
    /// Rows that a batch holds are left for the next time. The lease is locked, so a newer leader comes after this.
    assign: "WITH reign AS (SELECT FROM @leader@ WHERE lease_key = 'leader' AND term = $1 AND expires_at > now() FOR SHARE), \
        wanted AS (SELECT * FROM unnest($2::text[], $3::integer[], $4::uuid[]) AS w (name, shard, worker)), \
        free AS (SELECT a.consumer_name, a.shard, w.worker FROM @assignments@ AS a \
            JOIN wanted AS w ON w.name = a.consumer_name AND w.shard = a.shard \
            WHERE EXISTS (SELECT FROM reign) ORDER BY 1, 2 FOR UPDATE OF a SKIP LOCKED) \
        UPDATE @assignments@ AS a SET worker_id = free.worker, epoch = a.epoch + 1, updated_at = now() \
        FROM free WHERE a.consumer_name = free.consumer_name AND a.shard = free.shard \
          AND a.worker_id IS DISTINCT FROM free.worker RETURNING a.consumer_name, a.shard";

    /// Waits for the batch in flight.
    await_unit: "SELECT FROM @assignments@ WHERE consumer_name = $1 AND shard = $2 FOR UPDATE";

    /// Holds the ownership until the end of the transaction, and marks which transaction that is.
    own: "SELECT c.last_position, c.paused_at IS NOT NULL, pg_current_xact_id()::text FROM @assignments@ AS a \
        JOIN @checkpoints@ AS c USING (consumer_name, shard) \
        WHERE a.consumer_name = $1 AND a.shard = $2 AND a.worker_id = $3 AND a.epoch = $4 FOR UPDATE OF a";
    /// The same without holding anything.
    own_detached: "SELECT c.last_position, c.paused_at IS NOT NULL FROM @assignments@ AS a \
        JOIN @checkpoints@ AS c USING (consumer_name, shard) \
        WHERE a.consumer_name = $1 AND a.shard = $2 AND a.worker_id = $3 AND a.epoch = $4";
    /// Compare and set, in the transaction that [`Statements::own`] marked and in no other.
    checkpoint: "UPDATE @checkpoints@ SET last_position = $4, failures = 0, failed_position = NULL, failed_event_id = NULL, \
            failed_event_type = NULL, last_error = NULL, updated_at = now() \
        WHERE consumer_name = $1 AND shard = $2 AND last_position = $3 AND pg_current_xact_id()::text = $5";
    checkpoint_detached: "UPDATE @checkpoints@ SET last_position = $4, failures = 0, failed_position = NULL, \
            failed_event_id = NULL, failed_event_type = NULL, last_error = NULL, updated_at = now() \
        WHERE consumer_name = $1 AND shard = $2 AND last_position = $3 \
          AND EXISTS (SELECT FROM @assignments@ AS a WHERE a.consumer_name = $1 AND a.shard = $2 AND a.worker_id = $5 AND a.epoch = $6)";
    /// `$9` failures in a row pause, and so does `$10`. The count is of the same event, whoever ran the consumer.
    fail: "UPDATE @checkpoints@ AS c SET failures = n.failures, failed_position = $4, failed_event_id = $5, \
            failed_event_type = $6, last_error = $7, updated_at = now(), \
            paused_at = CASE WHEN NOT $11 AND ($10 OR n.failures >= $9) THEN now() ELSE c.paused_at END, \
            paused_reason = CASE WHEN NOT $11 AND ($10 OR n.failures >= $9) THEN $8 ELSE c.paused_reason END \
        FROM (SELECT consumer_name, shard, CASE WHEN failed_position IS NOT DISTINCT FROM $4 THEN failures + 1 ELSE 1 END AS failures \
              FROM @checkpoints@ WHERE consumer_name = $1 AND shard = $2) AS n \
        WHERE c.consumer_name = n.consumer_name AND c.shard = n.shard AND c.last_position = $3 \
          AND EXISTS (SELECT FROM @assignments@ AS a WHERE a.consumer_name = $1 AND a.shard = $2 AND a.worker_id = $12 AND a.epoch = $13) \
        RETURNING c.failures, c.paused_at IS NOT NULL";
    park: "INSERT INTO @parked@ (consumer_name, shard, global_position, event_id, event_type, tenant, stream_type, stream_id, \
            stream_version, error) \
        SELECT $1, $2, e.global_position, e.event_id, e.event_type, e.tenant, e.stream_type, e.stream_id, e.stream_version, $4 \
        FROM @events@ AS e WHERE e.global_position = $3 ON CONFLICT DO NOTHING";
    audit: "INSERT INTO @audit@ (consumer_name, shard, action, actor, reason, from_position, to_position) \
        VALUES ($1, $2, $3, $4, $5, $6, $7)";

    status: "SELECT c.consumer_name, c.shard, c.shards, c.last_position, c.paused_at IS NOT NULL, c.paused_reason, c.failures, \
            c.failed_position, c.failed_event_id, c.failed_event_type, c.last_error, a.worker_id, a.epoch, \
            extract(epoch FROM now() - next.created_at)::double precision \
        FROM @checkpoints@ AS c LEFT JOIN @assignments@ AS a USING (consumer_name, shard) \
        LEFT JOIN LATERAL (SELECT created_at FROM @events@ WHERE global_position > c.last_position \
            AND global_position <= $2 ORDER BY global_position LIMIT 1) AS next ON true \
        WHERE $1::text IS NULL OR c.consumer_name = $1 ORDER BY 1, 2";
    workers: "SELECT w.worker_id, w.application_name, extract(epoch FROM now() - w.heartbeat_at)::double precision, w.consumers, \
            (SELECT count(*) FROM @assignments@ AS a WHERE a.worker_id = w.worker_id), \
            coalesce((SELECT l.leader_id = w.worker_id::text AND l.expires_at > now() FROM @leader@ AS l WHERE lease_key = 'leader'), false) \
        FROM @workers@ AS w ORDER BY 1";
    pause: "UPDATE @checkpoints@ SET paused_at = coalesce(paused_at, now()), paused_reason = $3, updated_at = now() \
        WHERE consumer_name = $1 AND ($2::integer IS NULL OR shard = $2)";
    resume: "UPDATE @checkpoints@ SET paused_at = NULL, paused_reason = NULL, failures = 0, updated_at = now() \
        WHERE consumer_name = $1 AND ($2::integer IS NULL OR shard = $2)";
    /// Past the event that it is stuck at, if that is still the one.
    skip: "UPDATE @checkpoints@ SET last_position = $3, paused_at = NULL, paused_reason = NULL, failures = 0, failed_position = NULL, \
            failed_event_id = NULL, failed_event_type = NULL, last_error = NULL, updated_at = now() \
        WHERE consumer_name = $1 AND shard = $2 AND failed_position = $3 AND last_position < $3";
    positions: "SELECT shard, last_position FROM @checkpoints@ WHERE consumer_name = $1 AND ($2::integer IS NULL OR shard = $2) \
        ORDER BY shard FOR UPDATE";
    move_to: "UPDATE @checkpoints@ SET last_position = $3, failures = 0, failed_position = NULL, failed_event_id = NULL, \
            failed_event_type = NULL, last_error = NULL, updated_at = now() \
        WHERE consumer_name = $1 AND ($2::integer IS NULL OR shard = $2)";
    rename_checkpoints: "UPDATE @checkpoints@ SET consumer_name = $2, updated_at = now() WHERE consumer_name = $1";
    rename_assignments: "WITH old AS (DELETE FROM @assignments@ WHERE consumer_name = $1 RETURNING shard, epoch) \
        INSERT INTO @assignments@ (consumer_name, shard, epoch) SELECT $2, shard, epoch + 1 FROM old";
    rename_parked: "UPDATE @parked@ SET consumer_name = $2 WHERE consumer_name = $1";
    forget: "WITH c AS (DELETE FROM @checkpoints@ WHERE consumer_name = $1 RETURNING 1), \
            p AS (DELETE FROM @parked@ WHERE consumer_name = $1) \
        SELECT count(*) FROM c";
    reshard: "WITH old AS (DELETE FROM @checkpoints@ WHERE consumer_name = $1 RETURNING last_position, paused_at, paused_reason) \
        INSERT INTO @checkpoints@ (consumer_name, shard, shards, last_position, paused_at, paused_reason) \
        SELECT $1, s, $2, o.last_position, o.paused_at, o.paused_reason FROM generate_series(0, $2 - 1) AS s, \
            (SELECT min(last_position) AS last_position, min(paused_at) AS paused_at, min(paused_reason) AS paused_reason FROM old) AS o";
    disown: "DELETE FROM @assignments@ WHERE consumer_name = $1";
    parked_of: "SELECT global_position, event_id, event_type, error FROM @parked@ WHERE consumer_name = $1 ORDER BY 1 LIMIT $2";

    slowest: "SELECT consumer_name, shard, last_position FROM @checkpoints@ ORDER BY last_position LIMIT 1";
    retention_look: "SELECT partition_size, pruned_to FROM @log@ FOR UPDATE";
    prune_mark: "UPDATE @log@ SET pruned_to = greatest(pruned_to, $1)";
    prune: "DELETE FROM @events@ WHERE global_position <= $1 AND global_position > (SELECT coalesce(min(global_position), 0) - 1 FROM @events@) \
        AND global_position < (SELECT coalesce(min(global_position), 0) FROM @events@) + $2";
    oldest: "SELECT coalesce(min(global_position), 0) FROM @events@";
    older_than: "SELECT coalesce(max(global_position), 0) FROM (SELECT global_position FROM @events@ \
        WHERE created_at < now() - make_interval(secs => $1) ORDER BY global_position DESC LIMIT 1) AS e";
    prune_audit: "DELETE FROM @audit@ WHERE done_at < now() - make_interval(secs => $1)";
}
