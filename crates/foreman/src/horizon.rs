//! Watches for transactions that keep the database from cleaning up.
//!
//! One session that stays in a transaction holds back the point up to which dead rows can be removed, and up to which the
//! change log can be read: queues slow down, and whoever waits for a job waits longer. Nobody else can see why. So whoever
//! does it for over a minute is named, with its process, its application and since when: once when found, once when it is over.
//!
//! The same for a transaction of ours that has announced a change and does not commit: everyone who reads the change log waits
//! behind it, which is a moment unless its process is frozen.
//!
//! It reads only, so any number may watch; each names what it finds. One that dies has said less.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foreman_core::duration::{Span, format};
use foreman_postgres::doctor::{self, Announcer, Holder, Horizon, What};
use foreman_runtime::{Shutdown, Ticker, WakeReason};
use tokio::sync::watch;
use tracing::{debug, info, warn};

use crate::metrics::Metrics;

/// Between its announcement and its commit a transaction only writes one row.
const LONG_ANNOUNCEMENT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often to look, give or take a tenth.
    pub every: Duration,
    /// Who holds it for longer is named.
    pub limit: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self { every: Duration::from_secs(10), limit: Duration::from_mins(1) }
    }
}

pub struct HorizonWatch {
    database: foreman_postgres::Config,
    metrics: Arc<Metrics>,
    config: Config,
    /// Who has been named, and how.
    named: BTreeMap<String, String>,
    /// The process that was named because it holds the change log back.
    announcer: Option<i32>,
}

impl HorizonWatch {
    pub fn new(database: foreman_postgres::Config, metrics: Arc<Metrics>, config: Config) -> Self {
        Self { database, metrics, config, named: BTreeMap::new(), announcer: None }
    }

    /// Until draining. A look that fails is only a look that fails: others say that the database is away.
    pub async fn run(mut self, shutdown: Shutdown) {
        // Nobody rings for it.
        let (_bell, mut wake) = watch::channel(0);
        let mut ticker = Ticker::new(self.config.every, 0.1);
        loop {
            let found = tokio::select! {
                biased;
                () = shutdown.draining() => return,
                found = doctor::horizon(&self.database) => found,
            };
            match found {
                Ok(Horizon { holders, announcer }) => {
                    self.note(&holders);
                    self.note_announcer(announcer.as_ref());
                }
                Err(error) => debug!("could not query old transactions: {error}"),
            }
            if ticker.next_until(None, &mut wake, &shutdown).await == WakeReason::Draining {
                return;
            }
        }
    }

    fn note(&mut self, holders: &[Holder]) {
        let oldest = holders.iter().filter(|holder| holder.since.is_some()).map(|holder| holder.age).max();
        self.metrics.horizon_age.set(oldest.unwrap_or_default().as_secs_f64());
        let late: Vec<&Holder> = holders.iter().filter(|holder| holder.age > self.config.limit).collect();
        self.metrics.horizon_holders.set(i64::try_from(late.len()).unwrap_or(i64::MAX));
        // A slot does not say since when; whoever does comes first.
        let longest = late.iter().max_by_key(|holder| (holder.since.is_some(), holder.age));
        self.metrics.set_horizon_holder(longest.map(|holder| {
            let age = if holder.since.is_some() { holder.age } else { self.config.limit };
            (labels(holder), age)
        }));
        let late: BTreeMap<String, String> = late.into_iter().map(|holder| (identity(holder), name(holder))).collect();
        for (identity, name) in &late {
            if !self.named.contains_key(identity) {
                warn!("{name} has blocked vacuum for more than {}", format(self.config.limit));
            }
        }
        for (identity, name) in &self.named {
            if !late.contains_key(identity) {
                info!("{name} no longer blocks vacuum");
            }
        }
        self.named = late;
    }
}

impl HorizonWatch {
    fn note_announcer(&mut self, announcer: Option<&Announcer>) {
        self.metrics.announcement_age.set(announcer.map_or(0.0, |it| it.age.as_secs_f64()));
        let late = announcer.filter(|it| it.age > LONG_ANNOUNCEMENT);
        if let Some(Announcer { pid, application, age }) = late
            && self.announcer != Some(*pid)
        {
            warn!(
                "the transaction of {application:?} (pid {pid}) has blocked readers of the change log for {}: streams, webhooks and \
                 statistics are delayed; if its process hangs, end it with SELECT pg_terminate_backend({pid})",
                format(Duration::from_secs(age.as_secs()))
            );
        }
        if self.announcer.is_some() && late.is_none() {
            info!("readers of the change log are no longer blocked");
        }
        self.announcer = late.map(|it| it.pid);
    }
}

/// For the metrics: what it is, its process, and its application or its own name.
fn labels(holder: &Holder) -> [(&'static str, String); 3] {
    let (kind, pid, name) = match &holder.what {
        What::Transaction { pid, .. } => ("transaction", pid.to_string(), holder.application.clone()),
        What::Prepared { gid } => ("prepared transaction", String::new(), gid.clone()),
        What::ReplicationSlot { name, .. } => ("replication slot", String::new(), name.clone()),
    };
    [("kind", kind.to_owned()), ("pid", pid), ("application", name)]
}

/// The same transaction at the next look.
fn identity(holder: &Holder) -> String {
    format!("{:?} {:?}", key(&holder.what), holder.since)
}

fn key(what: &What) -> String {
    match what {
        What::Transaction { pid, .. } => format!("pid {pid}"),
        What::Prepared { gid } => format!("gid {gid}"),
        What::ReplicationSlot { name, .. } => format!("slot {name}"),
    }
}

/// For people: who it is, and since when.
pub fn name(holder: &Holder) -> String {
    let application = if holder.application.is_empty() { "unnamed" } else { &holder.application };
    let since = holder.since.map_or_else(String::new, |since| format!(" since {since}"));
    match &holder.what {
        What::Transaction { pid, state, query_start } => {
            let query = query_start.map_or_else(String::new, |start| format!(", last query at {start}"));
            format!("a transaction of {application:?} (pid {pid}, user {}, {state}{query}), open{since}", holder.user)
        }
        What::Prepared { gid } => format!("the prepared transaction {gid:?} of {}, open{since}", holder.user),
        What::ReplicationSlot { name, .. } => format!("the replication slot {name:?}, which has no reader"),
    }
}

/// What to do about one.
pub fn remedy(holder: &Holder) -> String {
    match &holder.what {
        What::Transaction { pid, .. } => format!(
            "end it in its application, or with SELECT pg_terminate_backend({pid}); set \
             idle_in_transaction_session_timeout for that application"
        ),
        What::Prepared { gid } => format!("COMMIT PREPARED '{gid}' or ROLLBACK PREPARED '{gid}'"),
        What::ReplicationSlot { name, .. } => {
            format!("restart its reader, or SELECT pg_drop_replication_slot('{name}')")
        }
    }
}

/// How long, if it can be told.
pub fn age(holder: &Holder) -> String {
    if holder.since.is_some() { Span(Duration::from_secs(holder.age.as_secs())).to_string() } else { "unknown".into() }
}

#[cfg(test)]
mod tests {
    use foreman_core::Timestamp;

    use super::*;
    use foreman_api::Meter as _;

    use crate::role::Role;

    fn holder(pid: i32, age: u64) -> Holder {
        Holder {
            what: What::Transaction { pid, state: "idle in transaction".into(), query_start: None },
            application: "psql".into(),
            user: "me".into(),
            since: Some(Timestamp::from_micros(1_763_200_000_000_000)),
            age: Duration::from_secs(age),
        }
    }

    #[test]
    fn only_who_holds_it_too_long_is_named_and_once() {
        let metrics = Arc::new(Metrics::new(Role::Scheduler));
        let mut watch = HorizonWatch::new(foreman_postgres::Config::at(""), Arc::clone(&metrics), Config::default());
        watch.note(&[holder(1, 61), holder(2, 59)]);
        assert_eq!(watch.named.len(), 1);
        assert_eq!((metrics.horizon_holders.get(), metrics.horizon_age.get()), (1, 61.0));
        let said = watch.named.values().next().expect("one").clone();
        assert!(said.contains("psql") && said.contains("pid 1") && said.contains("since 20"), "{said}");
        watch.note(&[holder(1, 71), holder(2, 69)]);
        assert_eq!(watch.named.len(), 2);
        let shown = || -> Vec<String> {
            let text = metrics.text();
            text.lines()
                .filter(|line| line.starts_with("foreman_xmin_horizon_holder_age_seconds{"))
                .map(str::to_owned)
                .collect()
        };
        let line = "foreman_xmin_horizon_holder_age_seconds{kind=\"transaction\",pid=\"1\",application=\"psql\"} 71.0";
        assert_eq!(shown(), [line], "the one that has held it longest, alone");
        watch.note(&[holder(2, 79)]);
        assert!(matches!(shown().as_slice(), [line] if line.contains("pid=\"2\"")), "{:?}", shown());
        watch.note(&[]);
        assert_eq!(shown(), [""; 0], "gone with it");
        assert!(watch.named.is_empty());
        assert_eq!((metrics.horizon_holders.get(), metrics.horizon_age.get()), (0, 0.0));
    }

    #[test]
    fn a_transaction_that_holds_the_change_log_back_is_measured_and_named_once() {
        let metrics = Arc::new(Metrics::new(Role::Scheduler));
        let mut watch = HorizonWatch::new(foreman_postgres::Config::at(""), Arc::clone(&metrics), Config::default());
        let announcer = |age| Announcer { pid: 7, application: "foreman-api".into(), age: Duration::from_secs(age) };
        watch.note_announcer(Some(&announcer(3)));
        assert_eq!((metrics.announcement_age.get(), watch.announcer), (3.0, None));
        watch.note_announcer(Some(&announcer(13)));
        assert_eq!((metrics.announcement_age.get(), watch.announcer), (13.0, Some(7)));
        watch.note_announcer(None);
        assert_eq!((metrics.announcement_age.get(), watch.announcer), (0.0, None));
    }
}
