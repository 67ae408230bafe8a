//! Settings that are fine one by one and do not fit together.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use foreman_core::duration::format;
use foreman_core::egress::Destination;
use foreman_core::tenant::Rate;
use foreman_sqlite::shared_file_system;

use super::Settings;
use super::settings::StoreKind;

/// Files, sockets and pipes that the process needs beside its connections and its work.
const OWN_FILES: usize = 64;

/// What a stop may take beyond its grace, when something is wedged.
const LAST_SECOND: Duration = Duration::from_secs(1);

/// From the first try of a webhook to its last.
const LAST_RETRY: Duration = Duration::from_hours(76);

/// Where a machine in a cloud finds its own credentials.
const METADATA: IpAddr = IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254));

fn covers_metadata(destination: &Destination) -> bool {
    matches!(destination, Destination::Network(network) if network.contains(METADATA))
}

/// What to do about a store on a network file system.
pub const LOCAL_DISK: &str = "file locks may not work there, and two machines writing at once destroy the database: put data_dir on a local disk, or use \
                              Postgres (DATABASE_URL)";

/// What should be looked at, each in one sentence. `open_files` is how many the process may have.
pub fn warnings(settings: &Settings, open_files: Option<u64>) -> Vec<String> {
    let mut found = Vec::new();
    let mut warn = |doubtful: bool, text: String| {
        if doubtful {
            found.push(text);
        }
    };
    let shared = (settings.store == StoreKind::Sqlite).then(|| shared_file_system(&settings.sqlite.path)).flatten();
    warn(
        shared.is_some(),
        format!("data_dir is on a network file system ({}): {LOCAL_DISK}", shared.as_deref().unwrap_or_default()),
    );
    let worker = &settings.worker;
    let (ttl, heartbeat) = (worker.session_ttl, worker.heartbeat);
    warn(
        heartbeat >= ttl / 2,
        format!(
            "worker.heartbeat ({}) should be less than half of worker.session_ttl ({}): a single lost heartbeat would end the session",
            format(heartbeat),
            format(ttl)
        ),
    );
    warn(
        heartbeat + worker.fence_margin >= ttl,
        format!(
            "worker.heartbeat and worker.fence_margin together ({}) should be less than worker.session_ttl ({}): work \
             would be stopped between two heartbeats",
            format(heartbeat + worker.fence_margin),
            format(ttl)
        ),
    );
    warn(
        settings.sweeper.every > ttl,
        format!(
            "sweeper.every ({}) is longer than worker.session_ttl ({}): a dead worker is noticed late",
            format(settings.sweeper.every),
            format(ttl)
        ),
    );
    let (missed_after, leader_ttl) = (settings.scheduler.missed_after, settings.leader_ttl);
    warn(
        missed_after <= leader_ttl,
        format!(
            "scheduler.missed_after ({}) should be longer than leader.ttl ({}): ticks would count as missed while a dead scheduler \
             is being replaced",
            format(missed_after),
            format(leader_ttl)
        ),
    );
    warn(
        settings.scheduler.poll >= missed_after,
        format!(
            "scheduler.poll ({}) should be shorter than scheduler.missed_after ({}): if no wake-up reaches the scheduler, it would miss \
             ticks",
            format(settings.scheduler.poll),
            format(missed_after)
        ),
    );
    let shutdown = &settings.shutdown;
    warn(
        shutdown.not_ready + settings.reserve() >= shutdown.grace,
        format!(
            "shutdown.grace ({}) leaves no time to finish work after shutdown.not_ready ({}) and before work is stopped",
            format(shutdown.grace),
            format(shutdown.not_ready)
        ),
    );
    if let Some(platform) = shutdown.platform_grace {
        warn(
            shutdown.grace + LAST_SECOND > platform,
            format!(
                "shutdown.grace ({}) plus one second is longer than shutdown.platform_grace ({}): the platform would kill \
                 this process before it has handed back its work; raise platform_grace or lower grace",
                format(shutdown.grace),
                format(platform)
            ),
        );
    }
    warn(
        settings.store != StoreKind::Postgres && settings.database.url.is_some(),
        "database.url is set, but the store is not postgres".into(),
    );
    warn(
        settings.database.direct_url.is_some() && settings.database.url.is_none(),
        "database.direct_url is set without database.url and has no effect".into(),
    );
    let redis = &settings.redis;
    warn(
        settings.store != StoreKind::Postgres && redis.url.is_some(),
        "redis.url is set and has no effect: the store is not postgres, so this process has no others to tell anything"
            .into(),
    );
    warn(
        redis.url.is_none() && (redis.cluster || redis.sentinel_master.is_some() || !redis.nodes.is_empty()),
        "redis.nodes, redis.cluster and redis.sentinel_master have no effect without redis.url".into(),
    );
    warn(
        redis.url.is_some() && redis.call_timeout > Duration::from_secs(1),
        format!(
            "redis.call_timeout ({}) is how long a request waits while Redis hangs: keep it well below a second",
            format(redis.call_timeout)
        ),
    );
    warn(
        settings.limits.payload_bytes > settings.bodies.job_bytes,
        "limits.payload_bytes is larger than limits.job_body: payloads of that size cannot be sent".into(),
    );
    warn(
        settings.bodies.job_bytes > settings.bodies.batch_bytes,
        "limits.job_body is larger than limits.batch_body: some jobs can be sent alone but not in a batch".into(),
    );
    let kept = settings.tail.max_waiters + settings.tail.streams.per_process;
    warn(
        kept >= settings.serve.max_connections,
        format!(
            "limits.waiters and limits.watchers ({kept} together) are not less than limits.connections ({}): waiting and watching \
             clients can use up every connection",
            settings.serve.max_connections
        ),
    );
    warn(
        settings.bodies.in_flight < 2 * settings.bodies.batch_bytes,
        "limits.bodies_in_flight is less than twice limits.batch_body: one tenant's batch can use all of it".into(),
    );
    warn(
        settings.bodies.stall > settings.bodies.whole,
        "limits.body_stall is longer than limits.body_timeout and has no effect".into(),
    );
    let tenant = &settings.tenant_limits;
    warn(
        Rate::of_submissions(tenant).is_some_and(|rate| rate.burst < settings.limits.batch_jobs as u64),
        format!(
            "limits.tenant.submit_burst ({}) is less than limits.batch_jobs ({}): a full batch is always rejected",
            tenant.submit_burst, settings.limits.batch_jobs
        ),
    );
    for network in settings.egress.allow.iter().filter(|it| covers_metadata(it)) {
        warn(
            true,
            format!(
                "egress.allow includes {network}, which contains {METADATA}, the metadata address where cloud machines get their credentials: any \
                 job could read them; allow only the networks of your targets"
            ),
        );
    }
    warn(
        settings.pruner.retention.deliveries < LAST_RETRY,
        format!(
            "retention.deliveries ({}) is shorter than webhook deliveries are retried (about {}): a delivery could be deleted while it is \
             still being retried",
            format(settings.pruner.retention.deliveries),
            format(LAST_RETRY)
        ),
    );
    warn(
        worker.settle.max_waiting < worker.slots,
        format!(
            "settle.max_waiting ({}) is less than worker.slots ({}): slots can stay occupied while outcomes wait to be written",
            worker.settle.max_waiting, worker.slots
        ),
    );
    warn(
        settings.store == StoreKind::Memory && settings.sqlite.max_pages.is_some(),
        "sqlite.max_pages is set, but the store is memory".into(),
    );
    let (kafka, relay) = (&settings.kafka.transport, &settings.kafka.relay);
    if settings.kafka.brokers.is_some() {
        warn(
            relay.unanswered_after <= kafka.longest_publish(),
            format!(
                "kafka.unanswered_after ({}) should be longer than kafka.delivery_timeout and a second ({}): jobs would be announced \
                 twice while a relay still sends them",
                format(relay.unanswered_after),
                format(kafka.longest_publish())
            ),
        );
        warn(
            settings.kafka.sasl.is_some() && !settings.kafka.tls,
            "kafka.sasl is set without kafka.tls: messages, and with PLAIN the password too, are sent to the brokers unencrypted".into(),
        );
        warn(
            relay.unclaimed_after > kafka.retention,
            format!(
                "kafka.unclaimed_after ({}) is longer than kafka.retention ({}): jobs whose messages were deleted wait for longer than they \
                 need to",
                format(relay.unclaimed_after),
                format(kafka.retention)
            ),
        );
        warn(
            relay.window.is_some_and(|window| window < worker.slots),
            format!(
                "kafka.window ({}) is less than worker.slots ({}): slots stay idle while jobs wait",
                relay.window.unwrap_or_default(),
                worker.slots
            ),
        );
        warn(
            kafka.max_poll_interval < kafka.session_timeout,
            format!(
                "kafka.max_poll_interval ({}) is shorter than kafka.session_timeout ({}), and Kafka does not accept that",
                format(kafka.max_poll_interval),
                format(kafka.session_timeout)
            ),
        );
    }
    if let Some(open_files) = open_files {
        // A call needs a socket, a command two pipes and a moment of a third.
        let per_slot = if settings.commands.allow { 4 } else { 1 };
        let needed = settings.serve.max_connections + worker.slots * per_slot + settings.http.max_idle + OWN_FILES;
        warn(
            needed as u64 > open_files,
            format!(
                "limits.connections ({}), worker.slots ({}) and http.max_idle ({}) together may need {needed} open files, but \
                 this process is limited to {open_files} (ulimit -n)",
                settings.serve.max_connections, worker.slots, settings.http.max_idle
            ),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use foreman_core::egress::destinations;
    use foreman_core::tenant::Limit;

    use super::*;

    #[test]
    fn the_defaults_agree_with_each_other() {
        assert_eq!(warnings(&Settings::default(), Some(4_096)), Vec::<String>::new());
    }

    #[test]
    fn what_does_not_fit_together_is_said() {
        type Change = fn(&mut Settings);
        let changes: [(Change, &str); 21] = [
            (|it| it.worker.heartbeat = Duration::from_secs(8), "half of worker.session_ttl"),
            (|it| it.worker.fence_margin = Duration::from_secs(11), "between two heartbeats"),
            (|it| it.leader_ttl = Duration::from_mins(1), "while a dead scheduler is being replaced"),
            (|it| it.scheduler.poll = Duration::from_mins(1), "wake-up reaches the scheduler"),
            (|it| it.sweeper.every = Duration::from_secs(20), "noticed late"),
            (|it| it.shutdown.grace = Duration::from_secs(4), "no time to finish"),
            (|it| it.shutdown.platform_grace = Some(Duration::from_secs(25)), "the platform would kill"),
            (|it| it.limits.payload_bytes = 2 << 20, "cannot be sent"),
            (|it| it.tenant_limits.submit_burst = Limit::AtMost(10), "a full batch"),
            (|it| it.egress.allow = destinations("169.0.0.0/8").expect("a network"), "169.254.169.254"),
            (|it| it.pruner.retention.deliveries = Duration::from_hours(1), "still being retried"),
            (|it| it.worker.slots = 10_000, "settle.max_waiting"),
            (|it| it.serve.max_connections = 100_000, "ulimit -n"),
            (|it| it.tail.max_waiters = 10_000, "can use up every connection"),
            (|it| it.bodies.in_flight = 8 << 20, "can use all of it"),
            (|it| it.kafka.relay.unanswered_after = Duration::from_secs(5), "announced twice"),
            (|it| it.kafka.relay.unanswered_after = Duration::from_secs(11), "announced twice"),
            (|it| it.kafka.sasl = Some(foreman_kafka::SaslMechanism::Plain), "unencrypted"),
            (|it| it.kafka.relay.unclaimed_after = Duration::from_hours(48), "messages were deleted"),
            (|it| it.kafka.relay.window = Some(8), "slots stay idle"),
            (|it| it.kafka.transport.max_poll_interval = Duration::from_secs(5), "does not accept"),
        ];
        for (change, expected) in changes {
            let mut settings = Settings::default();
            settings.kafka.brokers = Some("kafka:9092".into());
            change(&mut settings);
            let said = warnings(&settings, Some(4_096));
            assert!(said.iter().any(|text| text.contains(expected)), "{expected}: {said:?}");
        }
    }
}
