//! Every statement this crate sends, for the test that prepares each of them against a migrated database: nothing else checks
//! them before they are used. In a debug build a statement that is missing here is refused when it is sent.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::{
    audit, changes, jobs, keys, leases, order, places, query, schedules, sessions, tenants, trail, upkeep, webhooks,
};

/// All of them, by their text.
pub fn all() -> Vec<String> {
    let mut texts: Vec<String> = FIXED.iter().map(|text| (*text).to_owned()).collect();
    texts.extend(jobs::remove::FORGET.iter().map(|text| (*text).to_owned()));
    texts.extend(tenants::FORGET.iter().map(|text| (*text).to_owned()));
    texts.extend(audit::CHECKS.iter().map(|(_, text)| (*text).to_owned()));
    texts.extend(query::list::shapes());
    texts
}

const FIXED: [&str; 141] = [
    audit::COUNTS,
    changes::ANNOUNCE,
    changes::ANNOUNCED,
    changes::APPEND,
    changes::DRAWN,
    changes::HEAD,
    changes::MORE,
    changes::READ,
    jobs::cancel::CANCEL_HELD,
    jobs::cancel::CANCEL_READY,
    jobs::claim::BY_IDS,
    jobs::claim::BY_ORDER,
    jobs::claim::CLAIMED,
    jobs::claim::ONE_BY_ONE,
    jobs::claim::PEEK,
    jobs::pause::PAUSE,
    jobs::pause::RESUME,
    jobs::redrive::ASKED,
    jobs::redrive::REDRIVE,
    jobs::remove::LOCK_FINAL,
    jobs::settle::RECORDED,
    jobs::settle::SETTLE,
    jobs::settle::SETTLE_FINAL,
    jobs::submit::ACCEPT,
    jobs::submit::ACCEPT_NEW,
    jobs::submit::HOLDERS,
    jobs::submit::KNOWN,
    jobs::submit::OPEN_LANES,
    jobs::submit::OPEN_QUEUES,
    jobs::submit::REMEMBER,
    jobs::submit::TAG,
    jobs::submit::WAIT,
    keys::ANYONES,
    keys::AT_THE_DOOR,
    keys::BY_ID,
    keys::CREATE,
    keys::GIVE_WAY,
    keys::LIST,
    keys::LOCK,
    keys::LOCK_TENANT,
    keys::REVOKE,
    keys::SUCCEED,
    keys::USED,
    leases::ACQUIRE,
    leases::RENEW,
    leases::RESIGN,
    order::GIVE_BACK,
    order::PLACE,
    order::RESERVE,
    order::SERVED,
    order::SERVED_OUT_OF_TURN,
    places::FINAL,
    places::HELD,
    places::OWNED,
    places::WAITING,
    query::PING,
    query::get::RECORDS,
    query::queues::FINISHED,
    query::queues::KNOWN,
    query::queues::RUNNING,
    query::queues::WAITING,
    query::sessions::SESSIONS,
    query::view::VIEWS,
    query::load::RUNNING,
    query::load::WAITING,
    schedules::BY_ID,
    schedules::BY_NAME,
    schedules::CREATE,
    schedules::DELETE,
    schedules::EDIT,
    schedules::STANDING_BY_ID,
    schedules::STANDING_BY_NAME,
    schedules::EXISTS,
    schedules::LIST,
    schedules::NOW,
    schedules::due::DUE,
    schedules::due::FREED,
    schedules::due::NEXT,
    schedules::fire::CLOSE,
    schedules::fire::KNOWN,
    schedules::fire::LET_GO,
    schedules::fire::LOCK,
    schedules::fire::LOCK_OPEN,
    schedules::fire::MOVE_ON,
    schedules::fire::OPEN,
    schedules::fire::RECORD,
    schedules::fire::REOPEN,
    schedules::ticks::CUT_TICKS,
    schedules::ticks::LATEST,
    sessions::DRAIN,
    sessions::LAPSE,
    sessions::LOCK,
    sessions::LOCK_OVERDUE,
    sessions::MARK,
    sessions::OPEN_JOBS,
    sessions::PULSES,
    sessions::REGISTER,
    sessions::RELEASE,
    sessions::RENEW,
    tenants::BY_ID,
    tenants::CREATE,
    tenants::LIST,
    tenants::LOCK,
    tenants::OWNS,
    tenants::UPDATE,
    trail::CUT_TRAIL,
    trail::KEEP,
    trail::OF_ALL,
    trail::OF_ONE,
    upkeep::CUT_CHANGES,
    upkeep::CUT_KEYS,
    upkeep::CUT_SESSIONS,
    upkeep::CUT_QUEUES,
    upkeep::DUE,
    upkeep::EXPIRE,
    upkeep::LEADS,
    upkeep::LOCK_OUTLIVED,
    upkeep::NEXT,
    upkeep::OUTLIVED,
    webhooks::APPOINT,
    webhooks::BY_ID,
    webhooks::CREATE,
    webhooks::DELETE,
    webhooks::DISMISS,
    webhooks::ENABLED,
    webhooks::LIST,
    webhooks::ONE_BY_ONE,
    webhooks::STANDS,
    webhooks::UPDATE,
    webhooks::WITH_CALLBACK,
    webhooks::deliveries::BY_JOB,
    webhooks::deliveries::CUT_DELIVERIES,
    webhooks::deliveries::LIST,
    webhooks::deliveries::UNLIST_ENDPOINT,
    webhooks::deliveries::UNLIST_TENANT,
    webhooks::health::DISABLE,
    webhooks::health::LOCK,
    webhooks::health::NOTE,
    webhooks::post::LIST,
    webhooks::post::LOCK,
    webhooks::post::MOVE,
];

/// Those that take or find the first of many, with the index they read in order and its table.
pub const IN_ORDER: [(&str, &str, &str); 26] = [
    (jobs::claim::PEEK, "ready_in_order", "ready"),
    (jobs::claim::BY_ORDER, "ready_in_order", "ready"),
    (jobs::claim::BY_ORDER, "ready_fragile", "ready"),
    (keys::LIST, "api_keys_of_tenant", "api_keys"),
    (query::load::WAITING, "ready_of_tenant", "ready"),
    (schedules::LIST, "schedules_name", "schedules"),
    (schedules::due::DUE, "schedules_due", "schedules"),
    (schedules::due::FREED, "schedules_held", "schedules"),
    (schedules::due::FREED, "ticks_open", "ticks"),
    (schedules::due::NEXT, "schedules_due", "schedules"),
    (schedules::fire::LOCK_OPEN, "ticks_open", "ticks"),
    (schedules::fire::OPEN, "ticks_open", "ticks"),
    (schedules::ticks::CUT_TICKS, "ticks_by_time", "ticks"),
    (schedules::ticks::LATEST, "ticks_pkey", "ticks"),
    (tenants::LIST, "tenants_pkey", "tenants"),
    (trail::CUT_TRAIL, "audit_trail_by_time", "audit_trail"),
    (trail::OF_ALL, "audit_trail_pkey", "audit_trail"),
    (trail::OF_ONE, "audit_trail_of_tenant", "audit_trail"),
    (upkeep::DUE, "ready_later", "ready"),
    (upkeep::EXPIRE, "ready_expiring", "ready"),
    (upkeep::NEXT, "ready_later", "ready"),
    (upkeep::NEXT, "ready_expiring", "ready"),
    (upkeep::CUT_CHANGES, "changes_by_time", "changes"),
    (webhooks::LIST, "webhooks_of_tenant", "webhooks"),
    (webhooks::deliveries::CUT_DELIVERIES, "deliveries_by_time", "deliveries"),
    (webhooks::deliveries::LIST, "deliveries_pkey", "deliveries"),
];

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
    crate::connection::Settings::new(config).as_session()
}

/// Whether a statement is one of [`all`], or of a shape that is.
pub(crate) fn is_known(text: &str) -> bool {
    static KNOWN: LazyLock<HashSet<String>> = LazyLock::new(|| all().into_iter().collect());
    KNOWN.contains(text) || text.starts_with("SELECT count(*) FROM ") || text.contains(" DESC LIMIT $")
}
