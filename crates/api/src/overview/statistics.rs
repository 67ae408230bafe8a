//! Numbers over time, as the bookkeeper has them: no job is counted for an answer.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use foreman_core::Timestamp;
use foreman_core::document::{BucketDocument, ListDocument, QueueStatisticsDocument, StatisticsDocument};
use foreman_core::job::{NotAQueueName, QueueName};
use foreman_core::ports::Range;
use foreman_core::statistics::{MINUTES_KEPT, Slot, Tally};
use http::StatusCode;
use serde::Deserialize;

use crate::app::App;
use crate::openapi::responses::InvalidParameter;
use crate::problem::Problem;
use crate::request::json;
use crate::request::params::{Params, RequestTenant};

/// A day of minutes, two months of hours; and more points than a screen is wide are nobody's.
const MOST_BUCKETS: u128 = 1_500;

/// Those that did most; the others are hardly worth a line.
const MOST_QUEUES: usize = 100;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OverTimeParams {
    /// The length of a bucket.
    #[param(default = "minute")]
    step: Option<Slot>,
    /// Start with the bucket that contains this time. Defaults to an hour (step `minute`) or a day (step `hour`) before `to`.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// Up to this time. Defaults to now.
    #[param(value_type = Option<String>, format = DateTime)]
    to: Option<Timestamp>,
    /// Only this queue. Defaults to all queues together.
    queue: Option<String>,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ByQueueParams {
    /// The precision of the range's ends: a minute or an hour.
    #[param(default = "minute")]
    step: Option<Slot>,
    /// Start with the bucket that contains this time. Defaults to an hour (step `minute`) or a day (step `hour`) before `to`.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// Up to this time. Defaults to now.
    #[param(value_type = Option<String>, format = DateTime)]
    to: Option<Timestamp>,
}

/// Jobs submitted, started and ended, and how long they waited and ran, by minute or by hour.
///
/// Without `queue`, for all queues together; webhook deliveries are left out unless you ask for
/// `queue=foreman.webhooks`. At most 1,500 buckets are returned; empty ones are left out, and the queue depth in them
/// is that of the previous bucket. The newest data is a second or two behind. Hours are kept for
/// `retention.statistics`, 30 days by default, and minutes for two days: a range that begins earlier is returned by the
/// hour, and `step` says so.
#[utoipa::path(get, path = "/api/v1/statistics", tag = "statistics", operation_id = "get_statistics", params(OverTimeParams),
    responses(
        (status = 200, description = "The numbers, oldest first", body = StatisticsDocument),
        (status = 400, response = InvalidParameter),
    ))]
pub(crate) async fn over_time(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    Params(params): Params<OverTimeParams>,
) -> Result<Response, Problem> {
    let queue = params.queue.map(|text| text.parse::<QueueName>()).transpose();
    let queue =
        queue.map_err(|error: NotAQueueName| Problem::invalid_request(format!("in the query: queue: {error}")))?;
    let range = Range { queue, ..range(params.step, params.from, params.to, app.clock.now())? };
    let buckets = app.store.statistics(&tenant, &range, MOST_BUCKETS as usize).await?;
    let items =
        buckets.into_iter().map(|bucket| BucketDocument { at: bucket.at, tally: bucket.tally.into() }).collect();
    let document = StatisticsDocument { step: range.slot, from: range.from, to: range.to, items };
    Ok(json::answer(StatusCode::OK, &document))
}

/// The same numbers summed over the time range, per queue: the busiest first, at most 100, without Foreman's own queues.
///
/// A range that begins more than two days ago is summed by the hour.
#[utoipa::path(get, path = "/api/v1/statistics/queues", tag = "statistics", operation_id = "get_queue_statistics",
    params(ByQueueParams),
    responses(
        (status = 200, description = "The numbers", body = ListDocument<QueueStatisticsDocument>),
        (status = 400, response = InvalidParameter),
    ))]
pub(crate) async fn by_queue(
    State(app): State<App>,
    RequestTenant(tenant): RequestTenant,
    Params(params): Params<ByQueueParams>,
) -> Result<Response, Problem> {
    let range = range(params.step, params.from, params.to, app.clock.now())?;
    let queues = app.store.statistics_by_queue(&tenant, &range, MOST_QUEUES).await?;
    let item =
        |(queue, tally): (QueueName, Tally)| QueueStatisticsDocument { queue: queue.to_string(), tally: tally.into() };
    let items: Vec<QueueStatisticsDocument> = queues.into_iter().map(item).collect();
    Ok(json::answer(StatusCode::OK, &ListDocument { items, next: None }))
}

/// The time that is asked about, from a whole bucket on.
fn range(step: Option<Slot>, from: Option<Timestamp>, to: Option<Timestamp>, now: Timestamp) -> Result<Range, Problem> {
    let asked_slot = step.unwrap_or_default();
    let usual = match asked_slot {
        Slot::Minute => Duration::from_hours(1),
        Slot::Hour => Duration::from_hours(24),
    };
    let to = to.unwrap_or(now);
    // Nothing was counted before there was anything to count with.
    let asked = from.unwrap_or_else(|| to.minus(usual)).max(Timestamp::from_micros(0));
    if asked >= to {
        let hint = "from must be before to, which defaults to now";
        return Err(Problem::invalid_request(format!("in the query: {hint}; the request has {asked} and {to}")));
    }
    // What is older is kept by the hour alone.
    let slot = if asked < now.minus(MINUTES_KEPT) { Slot::Hour } else { asked_slot };
    let from = slot.of(asked);
    let buckets = to.since(from).as_micros().div_ceil(slot.length().as_micros());
    if buckets > MOST_BUCKETS {
        let hint = match slot {
            Slot::Minute => "use a shorter time range, or step=hour",
            Slot::Hour => "use a shorter time range",
        };
        return Err(Problem::invalid_request(format!(
            "in the query: {from} to {to} is {buckets} buckets of a{} {}, more than the limit of {MOST_BUCKETS}; \
             {hint}",
            if slot == Slot::Hour { "n" } else { "" },
            slot.as_str()
        )));
    }
    Ok(Range { slot, from, to, queue: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_micros(1_763_200_800_000_000 + minutes * 60_000_000)
    }

    #[test]
    fn without_anything_said_it_is_the_last_hour_of_minutes_or_day_of_hours() {
        let now = at(0).plus(Duration::from_secs(30));
        let minutes = range(None, None, None, now).expect("a range");
        assert_eq!((minutes.slot, minutes.from, minutes.to), (Slot::Minute, at(-60), now));
        let hours = range(Some(Slot::Hour), None, None, now).expect("a range");
        assert_eq!((hours.slot, hours.from, hours.to), (Slot::Hour, Slot::Hour.of(at(-24 * 60)), now));
    }

    #[test]
    fn a_time_may_have_as_many_buckets_as_it_may_and_not_one_more() {
        assert!(range(None, Some(at(0)), Some(at(1_500)), at(0)).is_ok());
        let problem = range(None, Some(at(0)), Some(at(1_501)), at(0)).expect_err("too many");
        assert!(problem.detail.contains("1501 buckets of a minute") && problem.detail.contains("step=hour"));
        // The first bucket counts whole, wherever in it the time begins.
        let within = at(0).plus(Duration::from_secs(59));
        assert!(range(None, Some(within), Some(at(1_501)), at(0)).is_err());
        assert!(range(Some(Slot::Hour), Some(at(0)), Some(at(1_500 * 60)), at(0)).is_ok());
    }

    #[test]
    fn a_time_of_which_no_minutes_are_kept_is_answered_by_the_hour() {
        let two_days = 2 * 24 * 60;
        let young = range(Some(Slot::Minute), Some(at(-two_days)), Some(at(60 - two_days)), at(0)).expect("a range");
        assert_eq!((young.slot, young.from), (Slot::Minute, at(-two_days)));
        let old = range(Some(Slot::Minute), Some(at(-two_days - 1)), Some(at(60 - two_days)), at(0)).expect("a range");
        assert_eq!((old.slot, old.from), (Slot::Hour, Slot::Hour.of(at(-two_days - 1))));
        assert!(
            range(Some(Slot::Minute), Some(at(-7 * 24 * 60)), None, at(0)).is_ok(),
            "a week of hours is not too much"
        );
    }

    #[test]
    fn a_time_that_ends_before_it_begins_is_refused() {
        for (from, to) in [(Some(at(1)), Some(at(1))), (Some(at(2)), Some(at(1))), (Some(at(1)), None)] {
            assert!(range(None, from, to, at(0)).is_err());
        }
    }
}
