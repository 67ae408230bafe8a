//! Every statement this crate sends, for the test that prepares each of them against a migrated database: nothing else checks
//! them before they are used. In a debug build a statement that is missing here is refused when it is sent.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::{
    announce, audit_log, census, changes, followers, jobs, keys, leases, lines, order, outlived, passes, places, query,
    schedules, sessions, statistics, tenants, upkeep, webhooks,
};

/// All of them, by their text.
pub fn all() -> Vec<String> {
    let of_files = FILES.iter().chain(ROOMS.iter().copied().flatten());
    let mut texts: Vec<String> = of_files.copied().flatten().map(|text| (*text).to_owned()).collect();
    texts.extend(jobs::remove::FORGET.iter().map(|text| (*text).to_owned()));
    texts.extend(tenants::FORGET.iter().map(|text| (*text).to_owned()));
    texts.extend(census::CHECKS.iter().map(|(_, text)| (*text).to_owned()));
    texts.extend(query::list::shapes());
    texts.extend(jobs::claim::texts_among().map(str::to_owned));
    texts
}

/// The files with fixed statements.
const FILES: [&[&str]; 16] = [
    announce::STATEMENTS,
    census::STATEMENTS,
    changes::STATEMENTS,
    followers::STATEMENTS,
    keys::STATEMENTS,
    leases::STATEMENTS,
    lines::STATEMENTS,
    order::STATEMENTS,
    outlived::STATEMENTS,
    passes::STATEMENTS,
    places::STATEMENTS,
    sessions::STATEMENTS,
    statistics::STATEMENTS,
    tenants::STATEMENTS,
    audit_log::STATEMENTS,
    upkeep::STATEMENTS,
];

/// Those that are more than one file.
const ROOMS: [&[&[&str]]; 4] = [jobs::STATEMENTS, query::STATEMENTS, schedules::STATEMENTS, webhooks::STATEMENTS];

/// Those that take or find the first of many, with the index they read in order and its table.
pub const IN_ORDER: [(&str, &str, &str); 43] = [
    (announce::mark::MARK, "ready_in_order", "ready"),
    (jobs::claim::LOOK, "ready_in_order", "ready"),
    (jobs::claim::LOOK, "line_shares_busy", "line_shares"),
    (jobs::claim::LOOK, "line_shares_of_tenant", "line_shares"),
    (jobs::claim::TAKE, "ready_in_order", "ready"),
    (jobs::claim::BY_ORDER, "ready_in_order", "ready"),
    (jobs::claim::BY_ORDER, "ready_fragile", "ready"),
    (keys::LIST, "api_keys_of_tenant", "api_keys"),
    (passes::CUT_PASSES, "passes_expiring", "passes"),
    (query::counts::TASKS, "ready_of_tenant", "ready"),
    (query::counts::WAITING, "ready_of_tenant", "ready"),
    (query::counts::WAITING_IN, "ready_of_tenant", "ready"),
    (query::counts::WAITING_QUEUES, "ready_of_tenant", "ready"),
    (query::states::WAITING, "ready_of_tenant", "ready"),
    (schedules::read::LIST, "schedules_name", "schedules"),
    (schedules::due::DUE, "schedules_due", "schedules"),
    (schedules::due::FREED, "schedules_held", "schedules"),
    (schedules::due::FREED, "ticks_open", "ticks"),
    (schedules::due::NEXT, "schedules_due", "schedules"),
    (schedules::due::OVERDUE, "schedules_due", "schedules"),
    (schedules::fire::LOCK_OPEN, "ticks_open", "ticks"),
    (schedules::fire::OPEN, "ticks_open", "ticks"),
    (schedules::ticks::CUT_TICKS, "ticks_by_time", "ticks"),
    (schedules::ticks::LATEST, "ticks_pkey", "ticks"),
    (statistics::BEFORE, "statistics_pkey", "statistics"),
    (statistics::BUCKETS, "statistics_pkey", "statistics"),
    (statistics::CUT_MINUTES, "statistics_by_time", "statistics"),
    (statistics::OLDEST, "statistics_by_time", "statistics"),
    (statistics::BY_QUEUE, "statistics_pkey", "statistics"),
    (statistics::CUT_STATISTICS, "statistics_by_time", "statistics"),
    (statistics::TOUCHED, "statistics_pkey", "statistics"),
    (tenants::LIST, "tenants_pkey", "tenants"),
    (audit_log::CUT_AUDIT_LOG, "audit_trail_by_time", "audit_trail"),
    (audit_log::OF_ALL, "audit_trail_pkey", "audit_trail"),
    (audit_log::OF_ONE, "audit_trail_of_tenant", "audit_trail"),
    (upkeep::DUE, "ready_later", "ready"),
    (places::EXPIRE, "ready_expiring", "ready"),
    (upkeep::NEXT, "ready_later", "ready"),
    (upkeep::NEXT, "ready_expiring", "ready"),
    (upkeep::CUT_CHANGES, "changes_pkey", "changes"),
    (webhooks::row::LIST, "webhooks_of_tenant", "webhooks"),
    (webhooks::deliveries::CUT_DELIVERIES, "deliveries_by_time", "deliveries"),
    (webhooks::deliveries::LIST, "deliveries_pkey", "deliveries"),
];

/// What the limit of a tenant's queues asks for.
pub const WAITING_QUEUES: &str = query::counts::WAITING_QUEUES;
pub const WAITING_IN: &str = query::counts::WAITING_IN;

/// How a change is written: announced, then appended.
pub const APPEND: [&str; 2] = [changes::ANNOUNCE, changes::APPEND];

/// What a re-drive does to the ticks of its jobs.
pub fn reopen(jobs: &str) -> String {
    schedules::fire::REOPEN.replace("$1", jobs)
}

/// The first parameter of the first of [`APPEND`].
pub fn log_tag(schema: &str) -> i64 {
    changes::tag(schema)
}

/// How the store's own connections are set up.
pub fn settings(config: &crate::Config) -> String {
    crate::connection::ConnectionSettings::new(config).as_session()
}

/// Whether a statement is one of [`all`], or of a shape that is.
pub(crate) fn is_known(text: &str) -> bool {
    static KNOWN: LazyLock<HashSet<String>> = LazyLock::new(|| all().into_iter().collect());
    let is_of_a_week = || outlived::of_default(text).is_some_and(|text| KNOWN.contains(&text));
    KNOWN.contains(text)
        || is_of_a_week()
        || text.starts_with("SELECT count(*) FROM ")
        || text.contains(" DESC LIMIT $")
}
