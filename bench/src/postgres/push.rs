//! Jobs that call a URL on this machine, beside a loop that makes the same calls with the same client.
//!
//! With one worker and with two; once where every call is answered at once, and once where one in twenty takes 100 ms, so that
//! outcomes arrive one by one.

use anyhow::Result;

use super::drain::{Drained, drain};
use super::fleet::Size;
use super::server::Server;
use crate::bare::Target;
use crate::jobs::JobMaker;
use crate::report::{Figure, Unit, rate};
use crate::sizes::Sizes;

const BARE_LOOP: &str = "bare client loop";
const ONE: &str = "HTTP push, one worker";
const TWO: &str = "HTTP push, two workers";
const ONE_MIXED: &str = "HTTP push, one in 20 slow, one worker";
const TWO_MIXED: &str = "HTTP push, one in 20 slow, two workers";
/// A bare loop is over in a moment, and is given more to do: what lasts a moment is lucky more often.
const BARE_TIMES: usize = 2;
const SLOW_ONE_IN: usize = 20;

pub async fn measure(server: &Server, sizes: &Sizes) -> Result<Vec<Figure>> {
    let (jobs, slots, target) = (sizes.jobs / 2, sizes.push_slots, Target::start().await?);
    let alike = JobMaker::of_url(&target.url())?;
    let mixed = JobMaker::of_urls(&target.url(), &target.slow_url(), SLOW_ONE_IN)?;
    let push = async |what, maker: &JobMaker, workers| -> Result<Drained> {
        drain(server, what, maker, jobs, Size { workers, slots, has_api: false }).await
    };
    let bare = target.bare_loop(BARE_TIMES * jobs, slots).await?;
    let (one, two) = (push(ONE, &alike, 1).await?, push(TWO, &alike, 2).await?);
    let (one_mixed, two_mixed) = (push(ONE_MIXED, &mixed, 1).await?, push(TWO_MIXED, &mixed, 2).await?);
    let mut figures = vec![
        rate(BARE_LOOP, bare.per_second, None),
        rate(ONE, one.per_second, Some(BARE_LOOP)),
        rate(TWO, two.per_second, Some(ONE)),
        rate(ONE_MIXED, one_mixed.per_second, Some(ONE)),
        rate(TWO_MIXED, two_mixed.per_second, Some(ONE_MIXED)),
        Figure::new("bare client loop: CPU per request", bare.cpu, Unit::Microseconds, None),
    ];
    for pushed in [one, two, one_mixed, two_mixed] {
        figures.extend(pushed.costs);
    }
    Ok(figures)
}
