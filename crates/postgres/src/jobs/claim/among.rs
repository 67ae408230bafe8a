//! Among which of the jobs that wait to choose.
//!
//! A claim takes any of them, one beside a broker those that are not announced, and announcing leaves out those whose pause is
//! not over as well. The statements differ in that condition alone, and a claim without a broker must not pay for it: so it is
//! put into their text, beside the condition that every candidate meets.

use std::sync::LazyLock;

use foreman_core::ports::WantedJobs;

use super::{BY_ORDER, LOOK, TAKE};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Among {
    All,
    Unannounced,
    /// Neither announced nor in a pause.
    Announceable,
}

/// What every candidate of a look, a taking and a careful taking meets.
const CANDIDATE: &str = "ready.crashes < 2";
const UNANNOUNCED: &str = "ready.announced IS NULL AND ready.crashes < 2";
const ANNOUNCEABLE: &str = "ready.announced IS NULL
  AND (ready.announce_at IS NULL OR ready.announce_at <= (SELECT foreman_now())) AND ready.crashes < 2";

static LOOK_UNANNOUNCED: LazyLock<String> = LazyLock::new(|| LOOK.replace(CANDIDATE, UNANNOUNCED));
static LOOK_ANNOUNCEABLE: LazyLock<String> = LazyLock::new(|| LOOK.replace(CANDIDATE, ANNOUNCEABLE));
static TAKE_UNANNOUNCED: LazyLock<String> = LazyLock::new(|| TAKE.replace(CANDIDATE, UNANNOUNCED));
static BY_ORDER_UNANNOUNCED: LazyLock<String> = LazyLock::new(|| BY_ORDER.replace(CANDIDATE, UNANNOUNCED));

impl Among {
    pub fn of(wanted: &WantedJobs) -> Self {
        match wanted {
            WantedJobs::ByOrder { .. } | WantedJobs::ByIds(_) => Self::All,
            WantedJobs::Unannounced { .. } => Self::Unannounced,
        }
    }

    pub fn look(self) -> &'static str {
        match self {
            Self::All => LOOK,
            Self::Unannounced => &LOOK_UNANNOUNCED,
            Self::Announceable => &LOOK_ANNOUNCEABLE,
        }
    }

    /// Takes what was seen. Announcing takes nothing.
    pub fn take(self) -> &'static str {
        if self == Self::All { TAKE } else { &TAKE_UNANNOUNCED }
    }

    pub fn by_order(self) -> &'static str {
        if self == Self::All { BY_ORDER } else { &BY_ORDER_UNANNOUNCED }
    }
}

/// For the test that prepares every statement.
pub(crate) fn statements() -> impl Iterator<Item = &'static str> {
    let looks = [Among::Unannounced.look(), Among::Announceable.look()];
    looks.into_iter().chain([Among::Unannounced.take(), Among::Unannounced.by_order()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_candidate_meets_the_condition() {
        for (text, times) in [(LOOK, 4), (TAKE, 1), (BY_ORDER, 1)] {
            assert_eq!(text.matches(CANDIDATE).count(), times);
        }
        assert_eq!(Among::Announceable.look().matches("ready.announce_at <=").count(), 4);
        assert_eq!(Among::Unannounced.take().matches("ready.announced IS NULL").count(), 1);
    }
}
