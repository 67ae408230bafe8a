//! A worker: takes part in sharing out the consumers, and runs those that it was given.
//!
//! Any number of workers may run. Each consumer (or shard) runs on one of them at a time; who that is, is a row with an epoch, which
//! every batch checks and holds in its own transaction, so two workers that both believe to have a consumer cannot both
//! commit. One that dies is silent, and after `heartbeat_timeout` its consumers go to others. One that stops finishes its batches,
//! gives its consumers back and is replaced within seconds.
//!
//! Per worker: one connection of the pool per consumer at work, and up to three beside it: for the heartbeat, for leading and for listening.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use deadpool_postgres::Pool;
use foreman_runtime::leadership::{self, Lead, Leadership};
use foreman_runtime::{Shutdown, Stop, Tasks};
use tokio::sync::{Notify, watch};
use uuid::Uuid;

use super::assign::Assign;
use super::consumer::{
    BatchConsumer, Consumer, ConsumerOptions, DetachedBatchConsumer, DetachedConsumer, Handler, Registered,
};
use super::control::Control;
use super::error::LogError;
use super::lease::{LEADER, TableLease};
use super::log::{EventLog, Frontier};
use super::options::{Dispatcher, Options};
use super::tables::{TableNames, TableNamesError};
use super::{leader, membership, notify};
use crate::Scope;
use crate::observer::Observer;

pub(crate) struct Inner {
    pub id: Uuid,
    pub pool: Pool,
    pub control: Arc<Control>,
    /// Where the leader waits for batches to end.
    pub hands: Control,
    pub log: EventLog,
    pub options: Options,
    pub consumers: Vec<Arc<Registered>>,
    /// Up to where the log can be read, as far as this worker knows.
    pub frontier: watch::Sender<Frontier>,
    pub epoch: AtomicI32,
    /// Look at the frontier now.
    pub look_now: Arc<Notify>,
    /// Look at the assignments now.
    pub sync_now: Notify,
    /// Rises when the worker must let go of everything: it is not registered any more.
    pub fence: watch::Sender<u64>,
    pub tasks: Tasks,
}

/// Runs consumers. Made by [`Worker::builder`]; [`Worker::run`] runs it, from one task, once.
pub struct Worker {
    inner: Arc<Inner>,
    stop: Stop,
    was_started: AtomicBool,
    is_running: AtomicBool,
    lead: OnceLock<Lead>,
}

/// Why a worker ended other than by being stopped. No failure of a handler does that.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error("the worker was started before; build another one")]
    AlreadyStarted,
    #[error(
        "consumer {consumer:?} has {stored} shards in the database and {configured} in this program: change it with \
         Admin::reshard, and only while the consumer is paused"
    )]
    ShardCount { consumer: String, stored: i32, configured: i32 },
    #[error(transparent)]
    Log(#[from] LogError),
}

impl Worker {
    pub fn builder(pool: Pool) -> WorkerBuilder {
        WorkerBuilder {
            pool,
            log: None,
            options: Options::default(),
            consumers: Vec::new(),
            connection_string: None,
            channel: None,
        }
    }

    /// Another one for every worker that is built.
    pub fn id(&self) -> Uuid {
        self.inner.id
    }

    /// Whether this worker gives consumers to workers at the moment.
    pub fn is_leader(&self) -> bool {
        self.lead.get().is_some_and(|lead| lead.term().is_some())
    }

    /// Registered and not stopped: for a readiness probe.
    pub fn is_running(&self) -> bool {
        self.is_running.load(Ordering::Acquire)
    }

    /// Finishes the batches in flight and ends [`Worker::run`]. Returns at once.
    pub fn stop(&self) {
        self.stop.drain();
    }

    /// Until `shutdown` or [`Worker::stop`]. Waits for a database that is away, for as long as that takes.
    /// Await it to its end: dropped half way, it leaves its tasks at work, and only the end of the runtime stops them.
    pub async fn run(&self, shutdown: Shutdown) -> Result<(), WorkerError> {
        if self.was_started.swap(true, Ordering::AcqRel) {
            return Err(WorkerError::AlreadyStarted);
        }
        let done = Stop::new();
        let (ours, until) = (self.stop.clone(), done.shutdown());
        drop(self.inner.tasks.spawn("eventlog stop", async move {
            tokio::select! {
                () = shutdown.draining() => ours.drain(),
                () = until.draining() => return,
            }
            tokio::select! {
                () = shutdown.aborting() => ours.abort(),
                () = until.draining() => {}
            }
        }));
        let ended = self.run_until(self.stop.shutdown()).await;
        self.is_running.store(false, Ordering::Release);
        done.abort();
        if let Err(left) = self.inner.tasks.wait(Duration::from_secs(2)).await {
            tracing::warn!(worker.id = %self.inner.id, "worker stopped with tasks {left}");
        }
        ended
    }

    async fn run_until(&self, shutdown: Shutdown) -> Result<(), WorkerError> {
        let inner = &self.inner;
        if !membership::join(inner, &shutdown).await? {
            return Ok(());
        }
        // What keeps the worker a member ends after its consumers have: until then it must not fall silent.
        let member = Stop::new();
        let config = leadership::Config {
            holder: inner.id.to_string(),
            ..leadership::Config::with_ttl(inner.options.heartbeat_timeout)
        };
        let lease = TableLease { control: Arc::clone(&inner.control), sql: Arc::clone(&inner.log.sql) };
        let leadership = Leadership::new(Arc::new(lease), LEADER, config);
        let lead = leadership.lead();
        drop(self.lead.set(lead.clone()));
        let tasks = &inner.tasks;
        let leads = tasks.spawn("eventlog leadership", leadership.run(member.shutdown()));
        drop(tasks.spawn("eventlog leader", leader::run(Arc::clone(inner), lead, member.shutdown())));
        let beating = Stop::new();
        let beats = membership::heartbeat(Arc::clone(inner), self.lead.clone(), beating.shutdown());
        let beats = tasks.spawn("eventlog heartbeat", beats);
        drop(tasks.spawn("eventlog dispatcher", membership::dispatch(Arc::clone(inner), member.shutdown())));
        if let Dispatcher::Notify { connection_string, channel } = inner.options.dispatcher.clone() {
            let bell = Arc::clone(&inner.look_now);
            drop(tasks.spawn("eventlog listener", notify::listen(connection_string, channel, bell, member.shutdown())));
        }
        self.is_running.store(true, Ordering::Release);

        membership::run_consumers(inner, &shutdown).await;

        // Its last beat first: one that finds no row registers again.
        beating.drain();
        drop(beats.await);
        membership::leave(inner).await;
        member.drain();
        drop(leads.await);
        Ok(())
    }
}

/// What a worker is made of. Every option says its default.
pub struct WorkerBuilder {
    pool: Pool,
    log: Option<EventLog>,
    options: Options,
    consumers: Vec<Registered>,
    connection_string: Option<String>,
    channel: Option<String>,
}

/// A mistake in how a worker was put together.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("a worker needs at least one consumer")]
    NoConsumers,
    #[error("a consumer has an empty name")]
    EmptyName,
    #[error("the name of a consumer may have 200 bytes and no NUL character: {0:?}")]
    InvalidName(String),
    #[error("two consumers have the name {0:?}")]
    DoubledName(String),
    #[error("consumer {0:?} is to have no shards")]
    NoShards(String),
    #[error("{0} must be more than zero")]
    Zero(&'static str),
    #[error("batch_size may be at most 10,000, not {0}")]
    BatchSize(usize),
    #[error("heartbeat_timeout ({timeout:?}) must be at least twice heartbeat_interval ({interval:?})")]
    HeartbeatTimeout { timeout: Duration, interval: Duration },
    #[error("max_poll_interval ({max:?}) is shorter than poll_interval ({interval:?})")]
    PollInterval { max: Duration, interval: Duration },
    #[error("to be notified, a worker needs the address of a direct connection: notify_connection_string")]
    MissingNotifyConnectionString,
    #[error("to be notified, a worker needs a channel: notify_channel")]
    MissingNotifyChannel,
    #[error("the worker listens to channel {worker:?}, but appends to the log notify {log:?}")]
    NotifyChannelMismatch { worker: String, log: String },
    #[error("notify_connection_string is not the address of a database")]
    InvalidNotifyConnectionString,
    #[error(transparent)]
    Names(#[from] TableNamesError),
}

macro_rules! durations {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])* #[must_use] pub fn $name(mut self, $name: Duration) -> Self {
            self.options.$name = $name;
            self
        })*
    };
}

impl WorkerBuilder {
    /// Which log. Default: the one with the default [`TableNames`].
    #[must_use]
    pub fn log(self, log: EventLog) -> Self {
        Self { log: Some(log), ..self }
    }

    /// Handles one event after the other in the transaction of the batch.
    #[must_use]
    pub fn consumer(self, consumer: impl Consumer) -> Self {
        self.consumer_with(consumer, ConsumerOptions::new())
    }

    #[must_use]
    pub fn consumer_with(self, consumer: impl Consumer, options: ConsumerOptions) -> Self {
        let (name, scope) = (consumer.name().to_owned(), consumer.scope());
        self.register(name, scope, Handler::Each(Arc::new(consumer)), options)
    }

    /// Handles a batch at a time in one transaction.
    #[must_use]
    pub fn batch_consumer(self, consumer: impl BatchConsumer, options: ConsumerOptions) -> Self {
        let (name, scope) = (consumer.name().to_owned(), consumer.scope());
        self.register(name, scope, Handler::Batch(Arc::new(consumer)), options)
    }

    /// Handles one event after the other without a transaction: for network calls.
    #[must_use]
    pub fn detached(self, consumer: impl DetachedConsumer, options: ConsumerOptions) -> Self {
        let (name, scope) = (consumer.name().to_owned(), consumer.scope());
        self.register(name, scope, Handler::Detached(Arc::new(consumer)), options)
    }

    /// Handles a batch at a time without a transaction.
    #[must_use]
    pub fn detached_batch(self, consumer: impl DetachedBatchConsumer, options: ConsumerOptions) -> Self {
        let (name, scope) = (consumer.name().to_owned(), consumer.scope());
        self.register(name, scope, Handler::DetachedBatch(Arc::new(consumer)), options)
    }

    fn register(mut self, name: String, scope: Scope, handler: Handler, options: ConsumerOptions) -> Self {
        self.consumers.push(Registered { name, scope, handler, options });
        self
    }

    /// Events per batch. Default 100, at most 10,000.
    #[must_use]
    pub fn batch_size(mut self, events: usize) -> Self {
        self.options.batch_size = events;
        self
    }

    /// Failures in a row at one event after which its consumer (or shard) is paused. Default 5.
    #[must_use]
    pub fn max_consecutive_failures(mut self, failures: u32) -> Self {
        self.options.max_consecutive_failures = failures;
        self
    }

    durations! {
        /// How soon a consumer that has read everything looks again by itself, and the first pause after a failure. Default 1 s. New
        /// events wake it before that.
        poll_interval;
        /// Idle looks and pauses after failures double up to this. Default 30 s.
        max_poll_interval;
        /// How long a consumer rests after a full batch, so that catching up leaves others room. Default 200 ms; zero is the fastest.
        batch_pause;
        /// A batch that takes longer is rolled back. Default 30 s.
        batch_timeout;
        /// A detached batch that takes longer is given up and comes again. Default 30 s; never longer than `batch_timeout`.
        detached_apply_timeout;
        /// How long a detached consumer may take to write its checkpoint. Default 5 s.
        checkpoint_timeout;
        /// How often the worker says that it is alive. Default 5 s.
        heartbeat_interval;
        /// A worker that is silent for so long is gone, and so is a leader. Default 30 s.
        heartbeat_timeout;
        /// How often the leader compares who has what with what should be. Default 5 s; workers that come or go are noticed
        /// within a second.
        rebalance_interval;
        /// How often a worker looks which consumers are its own. Default 2 s.
        assignment_sync;
        /// How often a polling worker looks whether the log has grown. Default 200 ms. One that is notified looks every second.
        dispatcher_interval;
        /// How long a stop waits for batches in flight. Default 5 s. What is not done by then is rolled back.
        shutdown_timeout;
        /// After readers have waited for so long for an open transaction, the observer and the log name it. Default 5 s.
        standstill_threshold;
    }

    /// Waits for notifications instead of polling. `connection_string` leads past any pooler, and is needed.
    #[must_use]
    pub fn notify_connection_string(mut self, connection_string: impl Into<String>) -> Self {
        self.connection_string = Some(connection_string.into());
        self
    }

    /// The channel to listen to. Default: the one that the log notifies.
    #[must_use]
    pub fn notify_channel(mut self, channel: impl Into<String>) -> Self {
        self.channel = Some(channel.into());
        self
    }

    /// Who runs what. Default [`Sticky`](super::Sticky).
    #[must_use]
    pub fn assign(mut self, strategy: impl Assign + 'static) -> Self {
        self.options.assign = Arc::new(strategy);
        self
    }

    /// Receives what happens. Default: nothing does.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.options.observer = observer;
        self
    }

    pub fn build(mut self) -> Result<Worker, BuildError> {
        let log = match self.log.take() {
            Some(log) => log,
            None => EventLog::new(&TableNames::default())?,
        };
        self.check_consumers()?;
        self.check_options()?;
        self.options.dispatcher = self.dispatcher(&log)?;
        let call_timeout = (self.options.heartbeat_timeout / 3).min(Duration::from_secs(5));
        let inner = Inner {
            id: Uuid::new_v4(),
            control: Arc::new(Control::new(self.pool.clone(), call_timeout)),
            hands: Control::new(self.pool.clone(), call_timeout),
            pool: self.pool,
            log,
            options: self.options,
            consumers: self.consumers.into_iter().map(Arc::new).collect(),
            frontier: watch::Sender::default(),
            epoch: AtomicI32::new(1),
            look_now: Arc::new(Notify::new()),
            sync_now: Notify::new(),
            fence: watch::Sender::default(),
            tasks: Tasks::new(),
        };
        Ok(Worker {
            inner: Arc::new(inner),
            stop: Stop::new(),
            was_started: AtomicBool::new(false),
            is_running: AtomicBool::new(false),
            lead: OnceLock::new(),
        })
    }

    fn check_consumers(&self) -> Result<(), BuildError> {
        if self.consumers.is_empty() {
            return Err(BuildError::NoConsumers);
        }
        let mut seen = std::collections::BTreeSet::new();
        for consumer in &self.consumers {
            let name = &consumer.name;
            if name.trim().is_empty() {
                return Err(BuildError::EmptyName);
            }
            if name.len() > 200 || name.contains('\0') {
                return Err(BuildError::InvalidName(name.clone()));
            }
            if !seen.insert(name) {
                return Err(BuildError::DoubledName(name.clone()));
            }
            if consumer.shards() < 1 {
                return Err(BuildError::NoShards(name.clone()));
            }
            check_batch_size(consumer.options.batch_size.unwrap_or(self.options.batch_size))?;
        }
        Ok(())
    }

    fn check_options(&self) -> Result<(), BuildError> {
        let options = &self.options;
        for (name, value) in [
            ("poll_interval", options.poll_interval),
            ("batch_timeout", options.batch_timeout),
            ("detached_apply_timeout", options.detached_apply_timeout),
            ("checkpoint_timeout", options.checkpoint_timeout),
            ("heartbeat_interval", options.heartbeat_interval),
            ("rebalance_interval", options.rebalance_interval),
            ("assignment_sync", options.assignment_sync),
            ("dispatcher_interval", options.dispatcher_interval),
            ("shutdown_timeout", options.shutdown_timeout),
            ("standstill_threshold", options.standstill_threshold),
        ] {
            if value.is_zero() {
                return Err(BuildError::Zero(name));
            }
        }
        if options.max_consecutive_failures == 0 {
            return Err(BuildError::Zero("max_consecutive_failures"));
        }
        if options.heartbeat_timeout < options.heartbeat_interval * 2 {
            let (timeout, interval) = (options.heartbeat_timeout, options.heartbeat_interval);
            return Err(BuildError::HeartbeatTimeout { timeout, interval });
        }
        if options.max_poll_interval < options.poll_interval {
            return Err(BuildError::PollInterval { max: options.max_poll_interval, interval: options.poll_interval });
        }
        Ok(())
    }

    fn dispatcher(&self, log: &EventLog) -> Result<Dispatcher, BuildError> {
        if self.connection_string.is_none() && self.channel.is_none() {
            return Ok(Dispatcher::Poll);
        }
        let given = self.connection_string.clone().filter(|text| !text.trim().is_empty());
        let connection_string = given.ok_or(BuildError::MissingNotifyConnectionString)?;
        if connection_string.parse::<tokio_postgres::Config>().is_err() {
            return Err(BuildError::InvalidNotifyConnectionString);
        }
        let channel = self.channel.clone().filter(|text| !text.is_empty()).or_else(|| log.channel.clone());
        let channel = channel.ok_or(BuildError::MissingNotifyChannel)?;
        match &log.channel {
            Some(notified) if *notified != channel => {
                Err(BuildError::NotifyChannelMismatch { worker: channel, log: notified.clone() })
            }
            _ => Ok(Dispatcher::Notify { connection_string, channel }),
        }
    }
}

fn check_batch_size(events: usize) -> Result<(), BuildError> {
    match events {
        0 => Err(BuildError::Zero("batch_size")),
        1..=super::log::MAX_PAGE => Ok(()),
        more => Err(BuildError::BatchSize(more)),
    }
}
