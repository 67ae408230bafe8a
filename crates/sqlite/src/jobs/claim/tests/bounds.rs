//! The cost of a claim does not depend on what others have waiting.
//!
//! Counted in steps of the machine inside SQLite, and never in time. What waits is written by plain SQL: what is tried here is
//! the claim.

use foreman_core::job::QueueName;

use super::super::lines::AT_ONCE;
use super::super::skipped::WALK;
use super::*;
use crate::jobs::pause;

/// One look costs no more than this, whatever it passes over.
const MOST: usize = 150_000;

/// And this much once it is known what is passed over.
const CHEAP: usize = 20_000;

/// So many jobs, by the number `i` of each.
struct Crowd<'a> {
    count: usize,
    tenant: &'a str,
    queue: &'a str,
    key: &'a str,
    columns: &'a str,
}

/// Each in a line of its own, of one tenant.
const LINES: Crowd<'_> =
    Crowd { count: 0, tenant: "'default'", queue: "printf('q%d', i)", key: "1", columns: "NULL, 0" };

/// All of one tenant, in one line.
const BACKLOG: Crowd<'_> =
    Crowd { count: 0, tenant: "'full'", queue: "'default'", key: "(i + 1) << 20", columns: "NULL, 0" };

impl Bare {
    fn crowded(self, crowd: &Crowd<'_>) -> Self {
        let Crowd { count, tenant, queue, key, columns } = crowd;
        let each = format!(
            "WITH RECURSIVE each (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM each WHERE i + 1 < {count}),
             new AS (SELECT CAST(printf('%016d', i) AS BLOB) AS job, {tenant} AS tenant, {queue} AS queue, {key} AS key FROM each)"
        );
        for statement in [
            "INSERT INTO jobs (id, tenant, queue, lane, created_at, first_run_at, work)
             SELECT job, tenant, queue, 1, 1, 1, '{}' FROM new",
            &format!(
                "INSERT INTO ready (job, tenant, queue, route, lane, run_at, attempt, spent, key, expires_at, crashes)
                 SELECT job, tenant, queue, 'http', 1, 1, 0, 0, key, {columns} FROM new"
            ),
            "INSERT INTO queues (queue, tenant, used_at) SELECT DISTINCT queue, tenant, 1 FROM new WHERE true ON CONFLICT DO NOTHING",
            "INSERT INTO line_fronts (queue, lane, route, v) SELECT DISTINCT queue, 1, 'http', 0 FROM new WHERE true
             ON CONFLICT DO NOTHING",
            "INSERT INTO line_shares (queue, lane, route, tenant, last_key, given_at)
             SELECT queue, 1, 'http', tenant, max(key), 1 FROM new WHERE key IS NOT NULL GROUP BY queue, tenant
             ON CONFLICT DO UPDATE SET last_key = excluded.last_key",
        ] {
            self.sql.execute(&format!("{each} {statement}"), []).expect("it fits");
        }
        self
    }

    /// What each of so many claims cost that took something, at most.
    fn dearest(&mut self, claims: usize, claim: impl Fn(&Self) -> usize) -> usize {
        let costs = (0..claims).map(|_| {
            let (taken, steps) = self.counted(&claim);
            assert!(taken > 0, "there is something to take");
            steps
        });
        costs.max().unwrap_or_default()
    }

    /// Claims until something is found; how many looks that took, and the dearest of them.
    fn looks_until_found(&mut self, claim: impl Fn(&Self) -> usize) -> (usize, usize) {
        let mut dearest = 0;
        for looks in 1..=100 {
            let (taken, steps) = self.counted(&claim);
            dearest = dearest.max(steps);
            if taken > 0 {
                return (looks, dearest);
            }
        }
        panic!("nothing was found");
    }
}

#[test]
fn a_claim_costs_the_same_among_a_thousand_lines_and_among_three_hundred_thousand() {
    let [some, many, most] = [1_000, 10_000, 300_000].map(|count| {
        let mut bare = Bare::new().crowded(&Crowd { count, ..LINES });
        bare.claim(1);
        bare.dearest(4, |bare| bare.claim(1))
    });
    assert!(many <= some + some / 5, "{many} steps over 10,000 lines, {some} over 1,000");
    assert!(most <= some + some / 5, "{most} steps over 300,000 lines, {some} over 1,000");
}

#[test]
fn a_claim_looks_at_a_line_for_each_job_or_at_so_many_of_them() {
    let [one, hundred] = [1, 100].map(|count| {
        let mut bare = Bare::new().crowded(&Crowd {
            count: 20 * count,
            queue: &format!("printf('q%d', i % {count})"),
            key: "i",
            ..LINES
        });
        bare.claim(1);
        bare.dearest(4, |bare| bare.claim(1))
    });
    assert!(hundred <= one * AT_ONCE, "{hundred} steps over 100 lines, {one} over one");
}

#[test]
fn a_claim_costs_the_same_among_ten_thousand_tenants_of_a_line() {
    let [few, many] = [10, 10_000].map(|tenants| {
        let tenant = format!("printf('t%d', i % {tenants})");
        let mut bare = Bare::new().crowded(&Crowd { count: 10_000, tenant: &tenant, key: "(i + 1) << 10", ..BACKLOG });
        bare.claim_but(&["t3"], 10);
        bare.dearest(4, |bare| bare.claim_but(&["t3"], 10))
    });
    assert!(many <= few * 3, "{many} steps among 10,000 tenants, {few} among 10");
}

/// The tenant at its limit has 100,000 waiting, before the others and behind them.
#[test]
fn a_limited_tenant_beside_a_busy_one_costs_no_claim_more_than_its_share() {
    let bare = Bare::new();
    bare.crowd("busy", 1);
    bare.claim(1);
    let mut bare = bare.crowded(&Crowd { count: 100_000, ..BACKLOG });
    for _ in 0..10 {
        bare.crowd("busy", 50);
        let (looks, dearest) = bare.looks_until_found(|bare| bare.claim_but(&["full"], 50));
        assert!(looks <= 100_000 / WALK + 1 && dearest <= MOST, "{looks} looks, the dearest of {dearest} steps");
    }
    // Once in the life of the process the line is read to its end, bit by bit.
    for _ in 0..=100_000 / WALK {
        let (taken, steps) = bare.counted(|bare| bare.claim_but(&["full"], 50));
        assert!(taken == 0 && steps <= MOST, "{taken} jobs, {steps} steps");
    }
    let (taken, steps) = bare.counted(|bare| bare.claim_but(&["full"], 50));
    assert!(taken == 0 && steps <= CHEAP, "{taken} jobs, {steps} steps when there is nothing");
    bare.crowd("busy", 50);
    let steps = bare.dearest(1, |bare| bare.claim_but(&["full"], 50));
    assert!(steps <= CHEAP, "{steps} steps for 50 jobs");
}

#[test]
fn after_a_pause_a_hundred_thousand_are_served_at_once() {
    let bare = Bare::new();
    bare.crowd("busy", 1);
    bare.claim(1);
    let mut bare = bare.crowded(&Crowd { count: 100_000, ..BACKLOG });
    let (tenant, queue) = (TenantId::new("full"), QueueName::default());
    bare.write(|write| pause::pause(write, &tenant, &queue));
    for _ in 0..10 {
        bare.crowd("busy", 50);
        bare.looks_until_found(|bare| bare.claim(50));
    }
    bare.write(|write| pause::resume(write, &tenant, &queue));
    bare.rotation.resumed();
    for _ in 0..5 {
        let (taken, steps) = bare.counted(|bare| bare.claim(100));
        assert_eq!(taken, 100);
        assert!(steps <= 2 * CHEAP, "{steps} steps for 100 jobs");
    }
}

#[test]
fn a_million_scheduled_jobs_cost_a_claim_nothing() {
    let [none, million] = [1, 1_000_000].map(|count| {
        let mut bare = Bare::new().crowded(&Crowd { count, key: "NULL", ..BACKLOG });
        bare.crowd("other", 20);
        bare.claim(1);
        bare.dearest(4, |bare| bare.claim(1))
    });
    assert!(million <= none + none / 10, "{million} steps beside a million scheduled jobs, {none} without them");
}

/// A start-by that the promoter has not come to yet.
#[test]
fn what_has_expired_is_passed_over_bit_by_bit() {
    let bare = Bare::new().crowded(&Crowd { count: 20_000, columns: "1, 0", ..BACKLOG });
    let mut bare = bare;
    bare.crowd("full", 1);
    let (looks, dearest) = bare.looks_until_found(|bare| bare.claim(1));
    assert!(looks <= 20_000 / WALK + 1 && dearest <= MOST, "{looks} looks, the dearest of {dearest} steps");
}

#[test]
fn very_many_that_must_run_alone_are_looked_at_bit_by_bit() {
    let unserved = Crowd { count: 20_000, queue: "'a'", columns: "NULL, 2", ..BACKLOG };
    let mut bare = Bare::new().crowded(&unserved);
    bare.crowd("other", 3);
    bare.sql.execute("UPDATE ready SET route = 'task:x' WHERE queue = 'a'", []).expect("nobody serves it");
    bare.claim(1);
    let dearest = bare.dearest(2, |bare| bare.claim(1));
    assert!(dearest <= MOST, "{dearest} steps");
    bare.submit(&[a_job().queued("z").build()]);
    bare.sql.execute("UPDATE ready SET crashes = 2 WHERE queue = 'z'", []).expect("it must run alone");
    let request = || foreman_conformance::given::alone(by_order(bare.session, 1));
    let looks = (0..100).position(|_| {
        let taken = bare.write(|write| claim(write, &request(), &bare.rotation));
        matches!(taken, RawClaim::Claimed { jobs, .. } if jobs[0].1.counters.crashes == 2)
    });
    assert!(looks.is_some(), "it is found though 20,000 others come before it");
}
