//! One claim: of the jobs that the feed named, or by order; sent again under the same token while its answer is lost.

use std::time::Duration;

use foreman_core::ClaimToken;
use foreman_core::ports::{ClaimAnswer, Company, StoreError, WantedJobs};
use foreman_runtime::Backoff;
use tokio::time::{Instant, sleep};
use tracing::debug;

use super::Dispatcher;
use super::beside::BesideLook;
use super::offers::FeedPick;
use crate::claiming::NextClaim;
use crate::outage::bounded;
use crate::worker::shares::ClaimLook;

/// How often one claim call is sent before it is given up.
const SENDINGS: u32 = 3;

/// Where the jobs of a claim come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClaimSource {
    /// There is no broker: all that is due.
    Order,
    /// What is not announced.
    Beside(BesideLook),
    /// What has arrived.
    Feed,
    /// Nothing has arrived, and the store was not asked.
    Nobody,
}

impl ClaimSource {
    /// A claim of some jobs only, which says nothing about the others.
    pub fn is_partial(&self) -> bool {
        match self {
            ClaimSource::Order => false,
            ClaimSource::Beside(look) => !look.is_for_strays(),
            ClaimSource::Feed | ClaimSource::Nobody => true,
        }
    }
}

impl Dispatcher {
    pub(super) async fn claim(&mut self, look: &ClaimLook) -> Result<(ClaimSource, ClaimAnswer), StoreError> {
        let company = if self.is_alone() { Company::Nobody } else { Company::Others };
        let next = NextClaim { limit: look.limit, company, headroom: &look.rooms };
        let lost = self.session.lost.clone();
        let source = tokio::select! {
            biased;
            () = lost.cancelled() => return Ok((ClaimSource::Nobody, ClaimAnswer::SessionGone)),
            source = self.prepare(next) => source?,
        };
        if source == ClaimSource::Nobody {
            return Ok((source, ClaimAnswer::Nothing { fragile_waiting: false, refused: Vec::new() }));
        }
        let answer = self.send().await;
        match &answer {
            // Durable, or refused for good.
            Ok(ClaimAnswer::Claimed(_) | ClaimAnswer::Nothing { .. }) => self.offers.settle(),
            // Not taken, or nobody knows. What was taken after all is refused when it is claimed again.
            Ok(ClaimAnswer::SessionGone) | Err(_) => self.offers.put_back(),
        }
        if let (Err(_), Some(beside)) = (&answer, &mut self.beside) {
            beside.failed(Instant::now());
        }
        Ok((source, answer?))
    }

    /// Decides what to claim.
    async fn prepare(&mut self, next: NextClaim<'_>) -> Result<ClaimSource, StoreError> {
        let (limit, is_alone) = (next.limit, next.company == Company::Nobody);
        self.rules.prepare(&mut self.request, next, &*self.store).await?;
        let WantedJobs::ByOrder { plan, .. } = self.request.wanted.clone() else { return Ok(ClaimSource::Order) };
        let now = Instant::now();
        if let Some(beside) = &mut self.beside {
            // A job that must run alone is announced to nobody.
            if is_alone && self.rules.is_fragile_waiting() {
                beside.hurry(now);
            }
            if let Some(look) = beside.next(now, self.offers.has_arrivals()).await? {
                self.request.wanted = look.wanted(plan, limit);
                self.request.routes.clone_from(&look.routes);
                return Ok(ClaimSource::Beside(look));
            }
            self.request.routes.clone_from(&self.routes);
        }
        Ok(match self.offers.gather(&plan, limit, &self.request.rooms, now) {
            FeedPick::ByOrder => ClaimSource::Order,
            FeedPick::Nothing => ClaimSource::Nobody,
            FeedPick::Ids(ids) => {
                if let Some(beside) = &mut self.beside {
                    beside.arrived(now);
                }
                self.request.wanted = WantedJobs::ByIds(ids);
                ClaimSource::Feed
            }
        })
    }

    async fn send(&mut self) -> Result<ClaimAnswer, StoreError> {
        self.request.token = ClaimToken::fresh();
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));
        self.session.claim_calls.begin();
        loop {
            let sent = Instant::now();
            let call = bounded(self.config.call_timeout, self.store.claim(&self.request));
            let error = match self.unless_lost(call).await {
                Some(Ok(answer)) => {
                    self.claims_take = (self.claims_take * 3 + sent.elapsed()) / 4;
                    return Ok(answer);
                }
                Some(Err(error)) => error,
                None => return Ok(ClaimAnswer::SessionGone),
            };
            let is_unknown = matches!(error, StoreError::Unavailable(_) | StoreError::Internal(_));
            let wait = backoff.next();
            let again = is_unknown && backoff.failures() < SENDINGS && !self.shutdown.is_draining();
            if !again || self.unless_stopped(sleep(wait)).await.is_none() {
                // Whatever the error: it may have come after the commit.
                debug!(claim.token = %self.request.token, "abandoned a claim: {error}");
                self.session.give_up(self.request.token);
                return Err(error);
            }
        }
    }
}
