//! Numbers over time.

use std::time::Duration;

use crate::document::{SpreadDocument, TallyDocument};
use crate::statistics::{Spread, Tally};

impl From<Tally> for TallyDocument {
    fn from(tally: Tally) -> Self {
        Self {
            submitted: tally.submitted,
            started: tally.started,
            completed: tally.completed,
            failed: tally.failed,
            dead: tally.dead,
            cancelled: tally.cancelled,
            retried: tally.retried,
            wait: spread_document(&tally.wait),
            run: spread_document(&tally.run),
            waiting: tally.waiting,
            running: tally.running,
        }
    }
}

fn spread_document(spread: &Spread) -> Option<SpreadDocument> {
    let millis = |duration: Duration| (duration.as_secs_f64() * 1e6).round() / 1e3;
    Some(SpreadDocument {
        count: spread.count,
        mean_ms: millis(spread.mean()?),
        p50_ms: millis(spread.quantile(0.5)?),
        p95_ms: millis(spread.quantile(0.95)?),
        max_ms: millis(spread.max()?),
    })
}
