//! What is counted, and how it is shown to Prometheus.
//!
//! One set per process, whatever its role; each role counts what it does, and the rest stays at nothing. No label ever names
//! a tenant or a job: their number has no bound, and a scraper is not always allowed to know them. Queues are named, the busiest few of
//! them (`metrics.queues`), by the process that leads.

mod held;
mod queues;
mod redis;
mod store;
mod transport;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use foreman_api::{Hub, Meter};
use foreman_core::ports::PruneKind;
use foreman_engine::bookkeeper::Readings;
use foreman_engine::relay::RelayReadings;
use foreman_engine::scheduler::Lag;
use foreman_engine::settle::RefusedOutcomes;
use foreman_engine::{courier, pruner};
use foreman_kafka::Health;
use foreman_redis::RedisLink;
use foreman_runtime::Lead;
use http::{Method, StatusCode};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry};
use tokio::time::Instant;

use crate::role::Role;
use held::HeldJobs;
use queues::QueueCollector;
pub use redis::RedisMeter;
pub use store::StoreMeter;
use transport::{TransportCollector, TransportReadings};

/// One label, two labels; their values are words of ours.
type One = [(&'static str, &'static str); 1];
type Two = [(&'static str, &'static str); 2];
type Request = [(&'static str, String); 3];
type Route = [(&'static str, String); 1];
/// Who holds back clean-up. One at a time, so that applications, whose names anyone may choose, make no lines without number.
type Holder = [(&'static str, String); 3];
/// How long things took, by something.
type Took<By> = Family<By, Histogram, fn() -> Histogram>;
type Seconds = Gauge<f64, AtomicU64>;

/// From a loopback answer to a call that hangs until its limit.
const CALL_BUCKETS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0];

pub struct Metrics {
    registry: Registry,
    pub submitted: Family<One, Counter>,
    pub claims: Counter,
    pub claimed: Family<One, Counter>,
    pub claims_refused: Family<One, Counter>,
    pub outcomes: Family<Two, Counter>,
    pub outcomes_fenced: Counter,
    outcomes_refused: Gauge,
    outcomes_refused_age: Seconds,
    pub promoted: Counter,
    pub expired: Counter,
    pub pruned: Counter,
    pub schedules_fired: Counter,
    pub ticks_pruned: Counter,
    scheduler_lag: Seconds,
    deliveries: Counter,
    endpoints_disabled: Counter,
    follower_lag: Family<One, Seconds>,
    /// Two of the same under the names they had before.
    webhook_lag: Seconds,
    statistics_lag: Seconds,
    prune_behind: Family<One, Seconds>,
    streams: Gauge,
    stream_events: Counter,
    streams_slow: Counter,
    pub sessions_lost: Counter,
    pub sessions_lapsed: Counter,
    pub jobs_lapsed: Counter,
    pub store_errors: Family<Two, Counter>,
    pub store_calls: Took<One>,
    pub slots: Gauge,
    leads: Gauge,
    term: Gauge,
    pub horizon_age: Seconds,
    pub horizon_holders: Gauge,
    horizon_holder: Family<Holder, Seconds>,
    pub announcement_age: Seconds,
    running: Gauge,
    heartbeat_age: Seconds,
    requests: Family<Request, Counter>,
    request_seconds: Took<Route>,
    redis_up: Gauge,
    pub redis_fallbacks: Family<One, Counter>,
    pub redis_calls: Took<One>,
    pub held: HeldJobs,
    redis: OnceLock<RedisLink>,
    lead: OnceLock<Lead>,
    lag: OnceLock<Lag>,
    followers: Mutex<Vec<(&'static str, Lag)>>,
    told: OnceLock<courier::CourierTally>,
    pruning: OnceLock<pruner::Progress>,
    refused: OnceLock<RefusedOutcomes>,
    readings: Arc<OnceLock<Readings>>,
    transport: Arc<TransportReadings>,
    hub: OnceLock<Hub>,
    /// When the last heartbeat was answered; `None` without a session.
    last_beat: Mutex<Option<Instant>>,
}

impl Metrics {
    pub fn new(role: Role) -> Self {
        let mut registry = Registry::with_prefix("foreman");
        let histogram: fn() -> Histogram = || Histogram::new(CALL_BUCKETS);
        let build: Two = [("version", env!("CARGO_PKG_VERSION")), ("role", role.name())];
        registry.register("build", "Version and role of this process", Info::new(build));
        let readings = Arc::default();
        let transport = Arc::<TransportReadings>::default();
        registry.register_collector(Box::new(TransportCollector(Arc::clone(&transport))));
        registry.register_collector(Box::new(QueueCollector::new(Arc::clone(&readings))));
        let registry_ref = &mut registry;
        let metrics = Self {
            submitted: add(registry_ref, "jobs_submitted", "Jobs submitted, by result"),
            claims: add(registry_ref, "claims", "Claims that took at least one job"),
            claimed: add(registry_ref, "jobs_claimed", "Attempts started, by what named their jobs"),
            claims_refused: add(registry_ref, "claims_refused", "Announced jobs that a claim did not take, by reason"),
            outcomes: add(registry_ref, "outcomes", "Outcomes sent to the store, by outcome and by the store's answer"),
            outcomes_fenced: add(
                registry_ref,
                "outcomes_fenced",
                "Outcomes that the store rejected because the attempt no longer held its job",
            ),
            outcomes_refused: add(
                registry_ref,
                "outcomes_refused",
                "Outcomes of this worker that the store rejected; the worker sends them again",
            ),
            outcomes_refused_age: add(
                registry_ref,
                "outcomes_refused_age_seconds",
                "Time since the oldest of them was first rejected; 0 if there are none",
            ),
            promoted: add(
                registry_ref,
                "jobs_promoted",
                "Scheduled and retrying jobs that fell due and became pending",
            ),
            expired: add(registry_ref, "jobs_expired", "Jobs that did not start before their expires_at"),
            pruned: add(registry_ref, "jobs_pruned", "Jobs deleted after their retention"),
            schedules_fired: add(registry_ref, "schedules_fired", "Jobs created by ticks of schedules"),
            ticks_pruned: add(registry_ref, "ticks_pruned", "Ticks deleted after their retention"),
            scheduler_lag: add(
                registry_ref,
                "scheduler_lag_seconds",
                "How late the most overdue tick was when last measured; 0 while this process is not the leader",
            ),
            deliveries: add(registry_ref, "webhook_deliveries", "Deliveries created for webhooks and callback URLs"),
            endpoints_disabled: add(
                registry_ref,
                "webhook_endpoints_disabled",
                "Webhooks disabled because their endpoint was gone, or failed for days",
            ),
            follower_lag: add(
                registry_ref,
                "follower_lag_seconds",
                "Age of the oldest change that a follower of the change log had not read when last measured; 0 while this process is not the leader",
            ),
            webhook_lag: add(
                registry_ref,
                "webhook_lag_seconds",
                "Deprecated: foreman_follower_lag_seconds of the follower courier",
            ),
            statistics_lag: add(
                registry_ref,
                "statistics_lag_seconds",
                "Deprecated: foreman_follower_lag_seconds of the follower bookkeeper",
            ),
            prune_behind: add(
                registry_ref,
                "prune_behind_seconds",
                "How long a kind of pruning has not finished; 0 if its last run finished, and while this process is not the leader",
            ),
            streams: add(registry_ref, "streams", "Clients connected to the event stream of this process"),
            stream_events: add(registry_ref, "stream_events", "Events sent to clients of the event stream"),
            streams_slow: add(
                registry_ref,
                "streams_slow",
                "Clients of the event stream disconnected because they read too slowly",
            ),
            sessions_lost: add(
                registry_ref,
                "worker_sessions_lost",
                "Sessions that this worker lost while it was running",
            ),
            sessions_lapsed: add(registry_ref, "sessions_lapsed", "Sessions of dead workers lapsed by this process"),
            jobs_lapsed: add(registry_ref, "jobs_lapsed", "Jobs taken back from dead workers by this process"),
            store_errors: add(registry_ref, "store_errors", "Store calls that failed, by verb and kind"),
            store_calls: with(
                registry_ref,
                "store_call_seconds",
                "Duration of store calls, by verb",
                Family::new_with_constructor(histogram),
            ),
            slots: add(registry_ref, "worker_slots", "Attempts that this worker can run concurrently"),
            leads: add(registry_ref, "leader", "1 while this process is the leader"),
            term: add(registry_ref, "leader_term", "The term in which this process is the leader; 0 while it is not"),
            horizon_age: add(
                registry_ref,
                "xmin_horizon_age_seconds",
                "How long the oldest transaction has blocked vacuum in the database",
            ),
            horizon_holders: add(
                registry_ref,
                "xmin_horizon_holders",
                "Transactions that have blocked vacuum for longer than horizon.limit",
            ),
            horizon_holder: add(
                registry_ref,
                "xmin_horizon_holder_age_seconds",
                "How long the oldest of these transactions has blocked vacuum, with its process and application; absent while there is none",
            ),
            announcement_age: add(
                registry_ref,
                "changes_announcement_age_seconds",
                "How long readers of the change log have been waiting for a transaction to commit; 0 while they are not",
            ),
            running: add(registry_ref, "worker_running", "Jobs held by this worker"),
            heartbeat_age: add(
                registry_ref,
                "worker_heartbeat_age_seconds",
                "Time since the last acknowledged heartbeat of this worker",
            ),
            requests: add(registry_ref, "http_requests", "Requests answered, by method, route and status"),
            request_seconds: with(
                registry_ref,
                "http_request_seconds",
                "Duration of requests, by route",
                Family::new_with_constructor(histogram),
            ),
            redis_up: add(registry_ref, "redis_up", "1 while Redis answers; 0 while it does not, and without one"),
            redis_fallbacks: add(
                registry_ref,
                "redis_fallbacks",
                "Calls of Redis that were not answered in time, or not made because it does not answer, by use",
            ),
            redis_calls: with(
                registry_ref,
                "redis_call_seconds",
                "Duration of calls that Redis answered, by use",
                Family::new_with_constructor(histogram),
            ),
            held: HeldJobs::default(),
            redis: OnceLock::new(),
            lead: OnceLock::new(),
            lag: OnceLock::new(),
            followers: Mutex::default(),
            told: OnceLock::new(),
            pruning: OnceLock::new(),
            refused: OnceLock::new(),
            readings,
            transport,
            hub: OnceLock::new(),
            last_beat: Mutex::default(),
            registry: Registry::default(),
        };
        Self { registry, ..metrics }
    }

    /// Whether this process leads is asked whenever somebody looks.
    pub fn set_lead(&self, lead: Lead) {
        // A second one would be a bug of the composition; the first is as good.
        let _ = self.lead.set(lead);
    }

    /// How far firing is behind is asked whenever somebody looks, too.
    pub fn set_lag(&self, lag: Lag) {
        let _ = self.lag.set(lag);
    }

    /// And how far a follower of the change log is.
    pub fn add_follower(&self, name: &'static str, lag: Lag) {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner).push((name, lag));
    }

    /// And how many deliveries the courier made.
    pub fn set_deliveries(&self, tally: courier::CourierTally) {
        let _ = self.told.set(tally);
    }

    /// And what the bookkeeper counted and saw.
    pub fn set_readings(&self, readings: Readings) {
        let _ = self.readings.set(readings);
    }

    /// And what the relay announced.
    pub fn set_relay(&self, relay: RelayReadings) {
        let _ = self.transport.relay.set(relay);
    }

    /// And how it is with the broker.
    pub fn set_broker(&self, health: Arc<Health>) {
        let _ = self.transport.broker.set(health);
    }

    /// And which kinds of pruning are.
    pub fn set_pruning(&self, progress: pruner::Progress) {
        let _ = self.pruning.set(progress);
    }

    /// And what the store refuses to record.
    pub fn set_refused(&self, refused: RefusedOutcomes) {
        let _ = self.refused.set(refused);
    }

    /// And who follows the stream.
    pub fn set_streams(&self, hub: Hub) {
        let _ = self.hub.set(hub);
    }

    /// And whether Redis answers.
    pub fn set_redis(&self, link: RedisLink) {
        let _ = self.redis.set(link);
    }

    /// Who has held back clean-up for longest, of those who do so for too long.
    pub fn set_horizon_holder(&self, holder: Option<(Holder, Duration)>) {
        self.horizon_holder.clear();
        if let Some((labels, age)) = holder {
            self.horizon_holder.get_or_create(&labels).set(age.as_secs_f64());
        }
    }

    /// A heartbeat was answered.
    pub fn beat(&self) {
        *self.last_beat.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// A session begins. Was another open, which nobody ended?
    pub fn begin_session(&self) -> bool {
        self.last_beat.lock().unwrap_or_else(PoisonError::into_inner).replace(Instant::now()).is_some()
    }

    /// It ended in good order, and holds nothing.
    pub fn end_session(&self) {
        *self.last_beat.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.held.clear();
    }
}

/// Counted elsewhere, shown here. Two who look at once may be ahead by what both saw; it never falls.
fn catch_up(counter: &Counter, count: u64) {
    counter.inc_by(count.saturating_sub(counter.get()));
}

/// Makes one, puts it into the registry and keeps the other end.
fn add<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    with(registry, name, help, M::default())
}

fn with<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

impl Meter for Metrics {
    fn request(&self, method: &Method, route: &str, status: StatusCode, took: Duration) {
        // Anybody can make up a method; there must not be a line for each.
        let known =
            [Method::GET, Method::POST, Method::DELETE, Method::HEAD, Method::PUT, Method::PATCH, Method::OPTIONS];
        let method = if known.contains(method) { method.as_str() } else { "other" };
        let labels =
            [("method", method.to_owned()), ("route", route.to_owned()), ("status", status.as_str().to_owned())];
        self.requests.get_or_create(&labels).inc();
        self.request_seconds.get_or_create(&[("route", route.to_owned())]).observe(took.as_secs_f64());
    }

    fn text(&self) -> String {
        self.running.set(i64::try_from(self.held.count()).unwrap_or(i64::MAX));
        let last = *self.last_beat.lock().unwrap_or_else(PoisonError::into_inner);
        self.heartbeat_age.set(last.map_or(0.0, |last| last.elapsed().as_secs_f64()));
        let term = self.lead.get().and_then(Lead::term);
        self.leads.set(term.is_some().into());
        self.term.set(term.map_or(0, |term| i64::try_from(term.0).unwrap_or(i64::MAX)));
        self.scheduler_lag.set(self.lag.get().map_or(0.0, |lag| lag.get().as_secs_f64()));
        for (follower, lag) in self.followers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let lag = lag.get().as_secs_f64();
            self.follower_lag.get_or_create(&[("follower", *follower)]).set(lag);
            if *follower == foreman_core::ports::COURIER {
                self.webhook_lag.set(lag);
            } else if *follower == foreman_core::ports::BOOKKEEPER {
                self.statistics_lag.set(lag);
            }
        }
        if let Some(tally) = self.told.get() {
            catch_up(&self.deliveries, tally.deliveries());
            catch_up(&self.endpoints_disabled, tally.disabled());
        }
        if let Some(progress) = self.pruning.get() {
            for kind in PruneKind::ALL {
                let behind = progress.behind(kind).as_secs_f64();
                self.prune_behind.get_or_create(&[("kind", kind.as_str())]).set(behind);
            }
        }
        if let Some(refused) = self.refused.get() {
            self.outcomes_refused.set(i64::try_from(refused.count()).unwrap_or(i64::MAX));
            self.outcomes_refused_age.set(refused.age().as_secs_f64());
        }
        self.redis_up.set(self.redis.get().is_some_and(|link| link.status().is_up).into());
        if let Some(hub) = self.hub.get() {
            let counts = hub.counts();
            self.streams.set(i64::try_from(counts.open).unwrap_or(i64::MAX));
            catch_up(&self.stream_events, counts.events);
            catch_up(&self.streams_slow, counts.slow);
        }
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a string cannot fail");
        text
    }
}

#[cfg(test)]
mod tests {
    use foreman_core::job::QueueName;
    use foreman_core::ports::{Depth, Moved, Step, WaitingCounts};
    use foreman_core::statistics::Ledger;
    use foreman_core::{State, TenantId, Timestamp};

    use super::*;

    #[test]
    fn a_process_without_a_bookkeeper_shows_no_queue() {
        let text = Metrics::new(Role::Api).text();
        assert!(!text.contains("foreman_queue_jobs") && !text.contains("foreman_jobs_ended"), "{text}");
    }

    #[test]
    fn queues_and_how_long_jobs_take_are_shown_as_the_bookkeeper_told() {
        let metrics = Metrics::new(Role::Scheduler);
        let readings = Readings::default();
        metrics.set_readings(readings.clone());
        let moved = |state, took_ms| Moved {
            id: foreman_core::JobId::fresh(),
            tenant: TenantId::default(),
            queue: QueueName::default(),
            at: Timestamp::from_micros(0),
            step: Step { state, attempt: 1, sequence: 2, took: Some(Duration::from_millis(took_ms)) },
        };
        let mut ledger = Ledger::default();
        ledger.count(&moved(State::Running, 3));
        ledger.count(&moved(State::Dead, 1_500));
        readings.count(&ledger.entries());
        let depth = |queue: &str, pending, oldest| Depth {
            tenant: TenantId::default(),
            queue: QueueName::from_stored(queue),
            waiting: WaitingCounts { pending, scheduled: 0, retrying: 0 },
            running: 1,
            oldest_wait: Some(Duration::from_secs(oldest)),
        };
        readings.see(&[depth("mail", 7, 301), depth("rare", 1, 20), depth("seldom", 2, 30)], 1);
        let text = metrics.text();
        for line in [
            "foreman_queue_jobs{queue=\"mail\",state=\"pending\"} 7",
            "foreman_queue_jobs{queue=\"mail\",state=\"running\"} 1",
            "foreman_queue_jobs{queue=\"other\",state=\"pending\"} 3",
            "foreman_queue_oldest_seconds{queue=\"mail\"} 301.0",
            "foreman_queue_oldest_seconds{queue=\"other\"} 30.0",
            "foreman_jobs_ended_total{state=\"dead\"} 1",
            "foreman_jobs_ended_total{state=\"failed\"} 0",
            "foreman_job_wait_seconds_bucket{le=\"0.002\"} 0",
            "foreman_job_wait_seconds_bucket{le=\"0.005\"} 1",
            "foreman_job_wait_seconds_bucket{le=\"+Inf\"} 1",
            "foreman_job_run_seconds_sum 1.5",
            "foreman_job_run_seconds_count 1",
            "foreman_job_run_seconds_bucket{le=\"1.0\"} 0",
            "foreman_job_run_seconds_bucket{le=\"2.0\"} 1",
        ] {
            assert!(text.contains(line), "{line} is missing in {text}");
        }
        assert!(!text.contains("rare"), "only the busiest are named: {text}");
    }

    #[test]
    fn what_is_counted_is_shown_under_its_name() {
        let metrics = Metrics::new(Role::Worker);
        metrics.submitted.get_or_create(&[("answer", "accepted")]).inc_by(3);
        metrics.outcomes.get_or_create(&[("outcome", "completed"), ("answer", "now")]).inc();
        metrics.slots.set(32);
        metrics.set_pruning(pruner::Progress::default());
        metrics.add_follower("relay", Lag::default());
        metrics.redis_fallbacks.get_or_create(&[("use", "limits")]).inc();
        metrics.redis_calls.get_or_create(&[("use", "wakeups")]).observe(0.001);
        metrics.request(&Method::GET, "/healthz", StatusCode::OK, Duration::from_millis(1));
        metrics.request(&Method::from_bytes(b"BREW").expect("a method"), "-", StatusCode::NOT_FOUND, Duration::ZERO);
        let text = metrics.text();
        for line in [
            "foreman_build_info{version=\"0.1.0\",role=\"worker\"} 1",
            "foreman_jobs_submitted_total{answer=\"accepted\"} 3",
            "foreman_outcomes_total{outcome=\"completed\",answer=\"now\"} 1",
            "foreman_outcomes_refused 0",
            "foreman_outcomes_refused_age_seconds 0.0",
            "foreman_worker_slots 32",
            "foreman_worker_heartbeat_age_seconds 0.0",
            "foreman_schedules_fired_total 0",
            "foreman_scheduler_lag_seconds 0.0",
            "foreman_webhook_deliveries_total 0",
            "foreman_follower_lag_seconds{follower=\"relay\"} 0.0",
            "foreman_webhook_lag_seconds 0.0",
            "foreman_statistics_lag_seconds 0.0",
            "foreman_prune_behind_seconds{kind=\"partitions\"} 0.0",
            "foreman_prune_behind_seconds{kind=\"jobs\"} 0.0",
            "foreman_redis_up 0",
            "foreman_redis_fallbacks_total{use=\"limits\"} 1",
            "foreman_redis_call_seconds_count{use=\"wakeups\"} 1",
            "foreman_streams 0",
            "foreman_stream_events_total 0",
            "foreman_streams_slow_total 0",
            "foreman_http_requests_total{method=\"GET\",route=\"/healthz\",status=\"200\"} 1",
            "foreman_http_requests_total{method=\"other\",route=\"-\",status=\"404\"} 1",
            "# EOF",
        ] {
            assert!(text.contains(line), "{line} is missing in {text}");
        }
    }
}
