//! One job after the other: what a small company's background work looks like.

use foreman_client::JobSpec;
use serde_json::{Value, json};

use super::dice::Dice;

pub struct Mix {
    /// Of the server.
    pub url: String,
    pub has_commands: bool,
}

/// What is done with a job once it is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Nothing,
    Cancel,
}

const PEOPLE: [&str; 8] = ["ada", "grace", "linus", "margaret", "dennis", "barbara", "ken", "radia"];
/// Why jobs die, the most frequent several times.
const REASONS: u64 = 10;
const PLANS: [&str; 3] = ["free", "team", "business"];

impl Mix {
    pub fn next(&self, dice: &mut Dice) -> (JobSpec, Then) {
        let commands = u64::from(self.has_commands) * 6;
        let spec = match dice.below(100 + commands) {
            0..=41 => self.mail(dice),
            42..=60 => self.charge(dice),
            61..=75 => self.thumbnail(dice),
            76..=85 => self.report(dice),
            86..=89 => self.flaky(dice),
            90..=91 => self.refused(dice),
            92..=93 => {
                let reason = dice.below(REASONS);
                self.hopeless(reason, dice)
            }
            94..=97 => self.later(dice),
            98..=99 => return (self.regretted(dice), Then::Cancel),
            _ => chatty(dice),
        };
        (spec, Then::Nothing)
    }

    fn mail(&self, dice: &mut Dice) -> JobSpec {
        let kind = *dice.pick(&["welcome-mail", "receipt-mail", "digest-mail", "password-mail"]);
        let person = *dice.pick(&PEOPLE);
        self.call(
            &format!("/dev/wait/{}ms", dice.between(20, 900)),
            json!({
                "queue": "mail", "kind": kind, "tags": ["customer", *dice.pick(&PLANS)],
                "priority": if kind == "password-mail" { "high" } else { "normal" },
                "payload": {"to": format!("{person}@example.com"), "template": kind},
            }),
        )
    }

    fn charge(&self, dice: &mut Dice) -> JobSpec {
        let invoice = dice.between(10_000, 99_999);
        self.call(
            &format!("/dev/wait/{}ms", dice.between(80, 2_500)),
            json!({
                "queue": "billing", "kind": "charge-card", "priority": "high", "tags": ["money", *dice.pick(&PLANS)],
                "correlation_id": format!("invoice-{invoice}"),
                "payload": {"invoice": invoice, "amount": format!("{}.{:02}", dice.between(5, 400), dice.below(100)), "currency": "EUR"},
            }),
        )
    }

    fn thumbnail(&self, dice: &mut Dice) -> JobSpec {
        let file = format!("uploads/{}/{}.jpg", dice.pick(&PEOPLE), dice.between(1_000, 9_999));
        self.call(
            &format!("/dev/wait/{}ms", dice.between(1_000, 5_000)),
            json!({
                "queue": "media", "kind": "make-thumbnail", "priority": "low", "tags": ["upload"], "timeout": "20s",
                "payload": {"file": file, "sizes": [96, 320, 1280]},
            }),
        )
    }

    fn report(&self, dice: &mut Dice) -> JobSpec {
        self.call(
            &format!("/dev/wait/{}ms", dice.between(3_000, 6_000)),
            json!({
                "queue": "reports", "kind": *dice.pick(&["usage-report", "tax-report"]), "tags": ["internal"], "timeout": "30s",
                "correlation_id": format!("month-2026-{:02}", dice.between(1, 11)),
                "payload": {"month": format!("2026-{:02}", dice.between(1, 11)), "format": "pdf"},
            }),
        )
    }

    /// Refused a few times, then taken.
    fn flaky(&self, dice: &mut Dice) -> JobSpec {
        self.call(
            &format!("/dev/flaky/{}", dice.between(1, 3)),
            json!({
                "queue": "billing", "kind": "sync-ledger", "tags": ["money", "partner"],
                "backoff": {"base": format!("{}s", dice.between(2, 12)), "factor": 2.0},
                "payload": {"ledger": dice.between(1, 40)},
            }),
        )
    }

    /// What no second try would change.
    fn refused(&self, dice: &mut Dice) -> JobSpec {
        let status = *dice.pick(&[404, 404, 410, 422]);
        self.call(
            &format!("/dev/status/{status}"),
            json!({
                "queue": "feeds", "kind": "fetch-feed", "tags": ["partner"],
                "payload": {"feed": format!("https://feeds.example/{}", dice.between(1, 30))},
            }),
        )
    }

    /// Tried a few times and given up: a handful of reasons, and most of them the same one.
    pub fn hopeless(&self, reason: u64, dice: &mut Dice) -> JobSpec {
        let quick = json!({"base": "1s", "factor": 1.5});
        match reason % REASONS {
            0..=4 => self.call(
                "/dev/status/503",
                json!({"queue": "billing", "kind": "charge-card", "tags": ["money"], "max_attempts": 2, "backoff": quick,
                       "payload": {"invoice": dice.between(10_000, 99_999)}}),
            ),
            5..=6 => self.call(
                "/dev/status/500",
                json!({"queue": "reports", "kind": "usage-report", "tags": ["internal"], "max_attempts": 1,
                       "payload": {"month": "2026-10", "format": "xlsx"}}),
            ),
            7 => self.call(
                "/dev/wait/10s",
                json!({"queue": "media", "kind": "transcode", "tags": ["upload"], "max_attempts": 1, "timeout": "1s",
                       "payload": {"file": "uploads/launch.mov"}}),
            ),
            8 => spec(json!({"url": "http://127.0.0.1:47999/hook", "queue": "mail", "kind": "notify-slack", "tags": ["partner"],
                             "max_attempts": 2, "backoff": quick, "payload": {"channel": "#orders"}})),
            _ => self.call(
                "/dev/status/502",
                json!({"queue": "mail", "kind": "digest-mail", "tags": ["customer"], "max_attempts": 2, "backoff": quick,
                       "payload": {"to": "team@example.com"}}),
            ),
        }
    }

    /// Not yet.
    pub fn later(&self, dice: &mut Dice) -> JobSpec {
        self.call(
            "/dev/echo",
            json!({
                "queue": "mail", "kind": "reminder-mail", "tags": ["customer"], "delay": format!("{}s", dice.between(20, 600)),
                "payload": {"to": format!("{}@example.com", dice.pick(&PEOPLE)), "template": "trial-ends"},
            }),
        )
    }

    pub fn regretted(&self, dice: &mut Dice) -> JobSpec {
        self.call(
            "/dev/echo",
            json!({"queue": "reports", "kind": "tax-report", "tags": ["internal"], "delay": "10m",
                   "payload": {"year": dice.between(2020, 2025)}}),
        )
    }

    /// For the backlog of a queue that is paused.
    pub fn import(&self, dice: &mut Dice) -> JobSpec {
        self.call(
            "/dev/echo",
            json!({"queue": "imports", "kind": "import-csv", "tags": ["partner"], "priority": "low",
                   "payload": {"file": format!("partners/{}/orders.csv", dice.between(1, 60)), "rows": dice.between(100, 90_000)}}),
        )
    }

    fn call(&self, path: &str, mut fields: Value) -> JobSpec {
        fields["url"] = format!("{}{path}", self.url).into();
        spec(fields)
    }
}

/// Something to read while it runs.
fn chatty(dice: &mut Dice) -> JobSpec {
    let steps = dice.between(6, 14);
    let line = format!(
        "i=1; while [ $i -le {steps} ]; do echo \"step $i of {steps}: $((i * 137)) rows copied\"; sleep 1; i=$((i + 1)); done; echo done"
    );
    spec(json!({"command": line, "queue": "media", "kind": "backup", "tags": ["internal"], "timeout": "1m"}))
}

fn spec(fields: Value) -> JobSpec {
    // By way of text, for a payload is kept to the letter.
    serde_json::from_str(&fields.to_string()).expect("written above, and walked through by a test")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_of_job_comes_and_is_one_that_can_be_read() {
        let mix = Mix { url: "http://127.0.0.1:1".into(), has_commands: true };
        let (mut dice, mut kinds, mut queues, mut cancelled) = (Dice::new(1), BTreeSet::new(), BTreeSet::new(), 0);
        for _ in 0..3_000 {
            let (spec, then) = mix.next(&mut dice);
            kinds.insert(spec.kind.clone().expect("each has one"));
            queues.insert(spec.queue.clone().expect("each has one"));
            cancelled += usize::from(then == Then::Cancel);
        }
        for _ in 0..20 {
            queues.insert(mix.import(&mut dice).queue.expect("it has one"));
        }
        assert!(kinds.len() >= 14, "{kinds:?}");
        assert_eq!(queues.len(), 6, "{queues:?}");
        assert!(cancelled > 20, "{cancelled}");
    }

    #[test]
    fn without_commands_there_are_none() {
        let mix = Mix { url: "http://127.0.0.1:1".into(), has_commands: false };
        let mut dice = Dice::new(1);
        assert!((0..3_000).all(|_| mix.next(&mut dice).0.command.is_none()));
    }

    #[test]
    fn the_same_seed_makes_the_same_jobs() {
        let mix = Mix { url: "http://127.0.0.1:1".into(), has_commands: false };
        let drawn = |seed| {
            let mut dice = Dice::new(seed);
            (0..100).map(|_| serde_json::to_string(&mix.next(&mut dice).0).expect("text")).collect::<Vec<_>>()
        };
        assert_eq!(drawn(5), drawn(5));
        assert_ne!(drawn(5), drawn(6));
    }
}
