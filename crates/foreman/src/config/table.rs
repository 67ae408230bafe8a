//! The settings there are: path, kind, and where the value goes.
//!
//! A line here is a line in `foreman.default.toml`, a variable `FOREMAN_…`, a `--set` and a row of `foreman check`.

use std::time::Duration;

use foreman_core::job::QueueName;
use tracing_subscriber::EnvFilter;

use super::codec::{self, Codec, Raw};
use super::settings::{LogFormat, Settings, StoreKind};
use super::unlimited;
use super::{command_user, egress, kafka, secret};

type Read = Box<dyn Fn(Raw<'_>, &mut Settings) -> Result<(), String> + Send + Sync>;
type Show = Box<dyn Fn(&Settings) -> String + Send + Sync>;

pub struct Setting {
    /// As in the file: `worker.slots`.
    pub path: &'static str,
    read: Read,
    show: Show,
}

impl Setting {
    fn new<T: 'static>(
        path: &'static str,
        codec: Codec<T>,
        place: fn(&mut Settings) -> &mut T,
        look: fn(&Settings) -> &T,
    ) -> Self {
        let Codec { read, show } = codec;
        Self {
            path,
            read: Box::new(move |raw, settings| {
                *place(settings) = read(raw)?;
                Ok(())
            }),
            show: Box::new(move |settings| show(look(settings))),
        }
    }

    pub(super) fn read(&self, raw: Raw<'_>, settings: &mut Settings) -> Result<(), String> {
        (self.read)(raw, settings)
    }

    /// The value as it would stand in the file.
    pub fn show(&self, settings: &Settings) -> String {
        (self.show)(settings)
    }

    /// `FOREMAN_WORKER_SLOTS`
    pub fn variable(&self) -> String {
        format!("FOREMAN_{}", self.path.replace('.', "_").to_uppercase())
    }
}

const MS: Duration = Duration::from_millis(1);
const SEC: Duration = Duration::from_secs(1);
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// One line per setting: path, codec, field.
macro_rules! table {
    ($($path:literal: $codec:expr => $($field:ident).+;)*) => {
        vec![$(Setting::new($path, $codec, |settings| &mut settings.$($field).+, |settings| &settings.$($field).+)),*]
    };
}

/// All of them, in the order of the file.
pub fn settings() -> Vec<Setting> {
    use codec::{bytes, count, span, span_or_forever};
    table! {
        "listen": codec::address() => listen;
        "data_dir": codec::path() => data_dir;
        "store": codec::choice(StoreKind::CHOICES) => store;
        "health_listen": codec::address() => health_listen;
        "admin_key": secret::key() => admin_key;
        "secret_key": secret::keyring() => secret_key;
        "secret_key_file": codec::path_or_none() => secret_key_file;

        "database.url": secret::postgres_url() => database.url;
        "database.direct_url": secret::postgres_url() => database.direct_url;
        "database.tls_ca": codec::path_or_none() => database.tls_ca;
        "database.schema": codec::text() => database.schema;
        "database.connections": count(1..=10_000) => database.connections;
        "database.control_connections": count(1..=1_000) => database.control_connections;
        "database.prepare": codec::switch() => database.prepare;
        "database.acquire_timeout": span(MS * 100) => database.acquire_timeout;
        "database.connect_timeout": span(MS * 100) => database.connect_timeout;
        "database.max_connection_age": span(SEC) => database.max_connection_age;
        "database.lock_timeout": span(MS * 100) => database.lock_timeout;
        "database.statement_timeout": span(MS * 100) => database.statement_timeout;
        "database.idle_timeout": span(MS * 100) => database.idle_timeout;
        "database.call_timeout": span(MS * 100) => database.call_timeout;
        "database.audit_timeout": span(SEC) => database.census_timeout;

        "kafka.brokers": kafka::brokers() => kafka.brokers;
        "kafka.topics": kafka::name() => kafka.transport.topic_prefix;
        "kafka.partitions": count(1..=10_000) => kafka.transport.partitions;
        "kafka.replication": codec::count_or_none(1..=100) => kafka.transport.replication;
        "kafka.retention": span(SEC * 60) => kafka.transport.retention;
        "kafka.compression": codec::choice(kafka::COMPRESSIONS) => kafka.transport.compression;
        "kafka.group": kafka::name() => kafka.transport.group;
        "kafka.instance": kafka::name_or_none() => kafka.transport.instance;
        "kafka.group_protocol": codec::choice(kafka::PROTOCOLS) => kafka.transport.protocol;
        "kafka.session_timeout": span(SEC) => kafka.transport.session_timeout;
        "kafka.max_poll_interval": span(SEC) => kafka.transport.max_poll_interval;
        "kafka.prefetch": count(1..=1_000_000) => kafka.transport.lane_capacity;
        "kafka.commit_every": span(MS * 10) => kafka.transport.commit_every;
        "kafka.check_every": span(MS * 100) => kafka.transport.check_every;
        "kafka.request_timeout": span(MS * 100) => kafka.transport.request_timeout;
        "kafka.linger": span(Duration::ZERO) => kafka.transport.linger;
        "kafka.delivery_timeout": span(MS * 100) => kafka.transport.delivery_timeout;
        "kafka.publish_queue": count(1..=1_000_000) => kafka.transport.publish_queue;
        "kafka.window": kafka::window() => kafka.relay.window;
        "kafka.batch": count(1..=100_000) => kafka.relay.batch;
        "kafka.in_flight": count(1..=1_000) => kafka.relay.in_flight;
        "kafka.poll": span(MS * 10) => kafka.relay.poll;
        "kafka.unanswered_after": span(MS * 100) => kafka.relay.unanswered_after;
        "kafka.unclaimed_after": span(MS * 100) => kafka.relay.unclaimed_after;
        "kafka.reconcile_every": span(MS * 10) => kafka.relay.reconcile_every;
        "kafka.tls": codec::switch() => kafka.tls;
        "kafka.tls_ca": codec::path_or_none() => kafka.tls_ca;
        "kafka.tls_certificate": codec::path_or_none() => kafka.tls_certificate;
        "kafka.tls_key": codec::path_or_none() => kafka.tls_key;
        "kafka.tls_key_password": secret::password() => kafka.tls_key_password;
        "kafka.sasl": kafka::sasl() => kafka.sasl;
        "kafka.user": kafka::user() => kafka.user;
        "kafka.password": secret::password() => kafka.password;

        "log.level": filter() => log.level;
        "log.format": codec::choice(LogFormat::CHOICES) => log.format;

        "shutdown.grace": span(SEC) => shutdown.grace;
        "shutdown.not_ready": span(Duration::ZERO) => shutdown.not_ready;
        "shutdown.platform_grace": codec::span_or_unknown() => shutdown.platform_grace;

        "worker.name": codec::text_or_auto() => worker_name;
        "worker.slots": count(1..=100_000) => worker.slots;
        "worker.queues": codec::list(queue) => worker.queues;
        "worker.guard": count(0..=1_000_000) => worker.guard;
        "worker.poll": span(MS * 10) => worker.poll;
        "worker.session_ttl": span(SEC) => worker.session_ttl;
        "worker.heartbeat": span(MS * 100) => worker.heartbeat;
        "worker.fence_margin": span(MS * 100) => worker.fence_margin;
        "worker.stop_grace": span(Duration::ZERO) => worker.stop_grace;
        "worker.fragile_patience": span(Duration::ZERO) => worker.fragile_patience;

        "commands.allow": codec::switch() => commands.allow;
        "commands.inherit_env": codec::list(variable_name) => commands.inherit_env;
        "commands.user": user() => commands.user;
        "commands.users": command_user::range() => commands.users;
        "commands.users_dir": codec::path() => commands.users_dir;
        "commands.share_user": codec::switch() => commands.share_user;
        "commands.scratch": codec::path() => commands.scratch;
        "commands.cpu": unlimited::span(SEC) => commands.limits.cpu;
        "commands.memory": unlimited::bytes(16 * MIB..=GIB * GIB) => commands.limits.memory;
        "commands.processes": unlimited::count(1..=10_000_000) => commands.limits.processes;
        "commands.open_files": unlimited::count(8..=10_000_000) => commands.limits.open_files;
        "commands.file_size": unlimited::bytes(0..=GIB * GIB) => commands.limits.file_size;
        "commands.core_size": unlimited::bytes(0..=GIB * GIB) => commands.limits.core_size;
        "commands.kill_grace": span(Duration::ZERO) => command.kill_grace;
        "commands.capture": bytes(0..=16 * MIB) => command.capture_bytes;

        "http.connect_timeout": span(MS) => http.connect_timeout;
        "http.idle_timeout": span(Duration::ZERO) => http.idle_timeout;
        "http.max_idle_per_host": count(0..=100_000) => http.max_idle_per_host;
        "http.max_idle": count(0..=100_000) => http.max_idle;
        "http.read_limit": bytes(0..=GIB) => http.read_limit;
        "http.keep_limit": bytes(0..=MIB) => http.keep_limit;

        "egress.allow": egress::destinations() => egress.allow;
        "egress.deny": egress::destinations() => egress.deny;
        "egress.ports": egress::ports() => egress.ports;
        "egress.plain_http": codec::switch() => egress.is_plain_http_allowed;
        "egress.dns": egress::name_servers() => http.dns_servers;

        "webhooks.enabled": codec::switch() => webhooks.enabled;
        "webhooks.poll": span(MS * 10) => courier.poll;
        "webhooks.max_deliveries": count(1..=100_000) => courier.most_deliveries;
        "webhooks.max_bytes": bytes(KIB..=GIB) => courier.most_bytes;

        "output.lines": count(1..=1_000_000) => output.lines;
        "output.job": bytes(KIB..=GIB) => output.bytes;
        "output.total": bytes(KIB..=16 * GIB) => output.total_bytes;

        "submit.window": span(Duration::ZERO) => submit.window;
        "submit.max_jobs": count(1..=100_000) => submit.max_jobs;
        "submit.max_waiting": count(1..=10_000_000) => submit.max_waiting;

        "settle.window": span(Duration::ZERO) => worker.settle.window;
        "settle.max_jobs": count(1..=100_000) => worker.settle.max_batch;
        "settle.max_waiting": count(1..=10_000_000) => worker.settle.max_waiting;

        "promoter.poll": span(MS * 10) => promoter.poll;
        "promoter.step": count(1..=100_000) => promoter.step;
        "sweeper.every": span(MS * 100) => sweeper.every;
        "pruner.every": span(MS * 100) => pruner.every;
        "pruner.step": count(1..=100_000) => pruner.step;
        "pruner.turn": span(MS * 100) => pruner.turn;
        "pruner.partitions_timeout": span(SEC) => pruner.partitions_timeout;

        "scheduler.poll": span(MS * 10) => scheduler.poll;
        "scheduler.step": count(1..=10_000) => scheduler.step;
        "scheduler.missed_after": span(SEC) => scheduler.missed_after;
        "scheduler.held_poll": span(MS * 10) => scheduler.held_poll;

        "statistics.every": span(MS * 10) => bookkeeper.every;
        "statistics.poll": span(MS * 10) => bookkeeper.poll;
        "statistics.max_buckets": count(1..=100_000) => bookkeeper.most_buckets;
        "metrics.queues": count(0..=1_000) => bookkeeper.busiest_queues;

        "stream.poll": span(MS * 10) => tail.poll;
        "stream.heartbeat": span(SEC) => tail.streams.heartbeat;
        "stream.write_timeout": span(MS * 100) => tail.streams.write_timeout;
        "stream.backlog": bytes(KIB..=GIB) => tail.streams.queue_bytes;

        "leader.ttl": span(SEC) => leader_ttl;
        "horizon.every": span(MS * 100) => horizon.every;
        "horizon.limit": span(MS * 100) => horizon.limit;

        "retention.completed": span_or_forever() => pruner.retention.completed;
        "retention.failed": span_or_forever() => pruner.retention.failed;
        "retention.cancelled": span_or_forever() => pruner.retention.cancelled;
        "retention.dead": span_or_forever() => pruner.retention.dead;
        "retention.changes": span(SEC) => pruner.retention.changes;
        "retention.sessions": span(SEC) => pruner.retention.sessions;
        "retention.queues": span(SEC) => pruner.retention.queues;
        "retention.ticks": span(SEC) => pruner.retention.ticks;
        "retention.deliveries": span(SEC) => pruner.retention.deliveries;
        "retention.audit": span(SEC) => pruner.retention.audit;
        "retention.statistics": span(SEC) => pruner.retention.statistics;
        "retention.parked": span(SEC) => pruner.retention.parked;

        "limits.payload_bytes": bytes(0..=GIB) => limits.payload_bytes;
        "limits.job_body": bytes(KIB..=GIB) => bodies.job_bytes;
        "limits.batch_body": bytes(KIB..=GIB) => bodies.batch_bytes;
        "limits.bodies_in_flight": bytes(MIB..=GIB) => bodies.in_flight;
        "limits.answers_in_flight": bytes(MIB..=GIB) => bodies.answers_in_flight;
        "limits.batch_jobs": count(1..=100_000) => limits.batch_jobs;
        "limits.max_attempts": count(1..=1_000_000) => limits.max_attempts;
        "limits.timeout": span(SEC) => limits.timeout;
        "limits.horizon": span(SEC) => limits.horizon;
        "limits.idempotency_keep": span(SEC) => limits.idempotency_keep;
        "limits.waiters": count(1..=10_000_000) => tail.max_waiters;
        "limits.waiters_per_tenant": count(1..=10_000_000) => tail.max_waiters_per_tenant;
        "limits.watchers": count(1..=10_000_000) => tail.streams.per_process;
        "limits.watchers_per_tenant": count(1..=10_000_000) => tail.streams.per_tenant;
        "limits.connections": count(1..=1_000_000) => serve.max_connections;
        "limits.streams": count(1..=100_000) => serve.max_streams;
        "limits.header_bytes": bytes(8 * KIB..=MIB) => serve.max_header_bytes;
        "limits.header_timeout": span(MS * 100) => serve.header_timeout;
        "limits.idle_timeout": span(MS * 100) => serve.idle_timeout;
        "limits.write_timeout": span(MS * 100) => serve.write_timeout;
        "limits.body_stall": span(MS * 100) => bodies.stall;
        "limits.body_timeout": span(MS * 100) => bodies.whole;

        "limits.tenant.submit_per_second": codec::limit() => tenant_limits.submit_per_second;
        "limits.tenant.submit_burst": codec::limit() => tenant_limits.submit_burst;
        "limits.tenant.queued_jobs": codec::limit() => tenant_limits.queued_jobs;
        "limits.tenant.queue_names": codec::limit() => tenant_limits.queue_names;
        "limits.tenant.payload_bytes": codec::limit() => tenant_limits.payload_bytes;
        "limits.tenant.schedules": codec::limit() => tenant_limits.schedules;
        "limits.tenant.running_jobs": codec::limit() => tenant_limits.running_jobs;
        "limits.tenant.target_hosts_per_minute": codec::limit() => tenant_limits.target_hosts_per_minute;

        "sqlite.readers": count(1..=64) => sqlite.readers;
        "sqlite.max_pages": codec::count_or_none(16..=u64::from(u32::MAX) / 2) => sqlite.max_pages;
        "sqlite.queue": count(1..=1_000_000) => sqlite.queue;
        "sqlite.busy_timeout": span(Duration::ZERO) => sqlite.busy_timeout;
        "sqlite.call_timeout": span(MS * 100) => sqlite.call_timeout;
        "sqlite.audit_timeout": span(SEC) => sqlite.census_timeout;
    }
}

fn queue(text: &str) -> Result<QueueName, String> {
    text.parse().map_err(|error: foreman_core::job::NotAQueueName| error.to_string())
}

fn variable_name(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(['=', '\0']) {
        return Err(format!("{text:?} is not a variable name"));
    }
    if text == "DATABASE_URL" || text == "KAFKA_BROKERS" || text.starts_with("FOREMAN_") {
        return Err(format!("{text} belongs to Foreman and is never passed to commands"));
    }
    Ok(text.to_owned())
}

/// Whom commands are run as, or `"same"`.
fn user() -> Codec<Option<String>> {
    let Codec { read, .. } = codec::text();
    Codec {
        read: Box::new(move |raw| read(raw).map(|text| Some(text).filter(|text| text != "same"))),
        show: |value| codec::quoted(value.as_deref().unwrap_or("same")),
    }
}

/// `info`, or a filter as in `RUST_LOG`.
fn filter() -> Codec<String> {
    let Codec { read, show } = codec::text();
    Codec {
        read: Box::new(move |raw| {
            let text = read(raw)?;
            EnvFilter::builder().parse(&text).map_err(|error| {
                format!("{text:?} is not a level or a filter, such as info or foreman=debug: {error}")
            })?;
            Ok(text)
        }),
        show,
    }
}
