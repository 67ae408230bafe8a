//! From the end of a job to the letters about it.
//!
//! Who wants to hear of it is asked anew for every slice of the log, so that an endpoint made a moment ago is told of what ends
//! from then on. The job is read as it stands now, which may be later than the ending that is told: somebody may have run it
//! again since. What the letter says about the ending is taken from the record of that very ending.

use std::collections::{BTreeSet, HashMap, HashSet};

use foreman_core::document::AttemptDocument;
use foreman_core::outcome::AttemptOutcome;
use foreman_core::ports::{AttemptPage, AttemptRecord, JobView, Moved, StoreError};
use foreman_core::target::Addressee;
use foreman_core::webhook::{About, Ending, Event, Message, Webhook, Wish};
use foreman_core::{JobId, TenantId, WebhookId};
use futures_util::future::{try_join, try_join_all};
use tracing::{debug, error, warn};
use url::Url;

use super::Courier;
use super::letter::{Bag, Letter};
use crate::follower::{Bookmark, Stopped};
use crate::outage::bounded;

/// Endings are told, but for those of Foreman's own jobs: or every delivery would be told of by another.
pub(super) fn is_one(moved: &Moved) -> bool {
    moved.step.state.is_final() && !moved.queue.is_internal()
}

/// An ending that somebody wants to hear of.
struct WantedEnding<'a> {
    moved: &'a Moved,
    event: Event,
    to: Vec<(WebhookId, Wish)>,
    has_callback: bool,
}

/// Endings that somebody wants to hear of.
pub(super) struct Ended<'a> {
    wanted: Vec<WantedEnding<'a>>,
    known: KnownJobs,
}

/// Jobs that were read together.
pub(super) type KnownJobs = HashMap<JobId, JobView>;

/// An endpoint that may have to be told.
pub(super) enum EndpointRecord {
    Known(Webhook),
    /// A later version has written it, and this one cannot read what it wants to hear of. Its deliveries are made all the same, and
    /// wait for a worker that can: a courier that went on without it would have told it nothing, for good.
    Newer(WebhookId),
}

impl EndpointRecord {
    pub(super) fn id(&self) -> WebhookId {
        match self {
            EndpointRecord::Known(webhook) => webhook.id,
            EndpointRecord::Newer(id) => *id,
        }
    }

    /// Whether it wants to hear of this; `None`: it does not.
    pub(super) fn wish(&self, event: Event) -> Option<Wish> {
        match self {
            EndpointRecord::Known(webhook) => webhook.settings.wants(event).then_some(Wish::Known),
            EndpointRecord::Newer(_) => Some(Wish::Unknown),
        }
    }
}

impl Courier {
    /// The endings among some moves that somebody wants to hear of, and their jobs.
    pub(super) async fn ended<'a>(&self, moved: &[&'a Moved]) -> Result<Ended<'a>, StoreError> {
        let wanted = self.wanted(moved).await?;
        let known = self.known(wanted.iter().map(|wanted| wanted.moved)).await?;
        Ok(Ended { wanted, known })
    }

    pub(super) async fn tell_endings(
        &self,
        Ended { wanted, mut known }: Ended<'_>,
        bag: &mut Bag,
        at: &mut Bookmark<'_>,
    ) -> Result<(), Stopped> {
        for some in wanted.chunks(self.config.loads.max(1)) {
            let views = self.views(some.iter().map(|wanted| wanted.moved), &mut known).await?;
            for (wanted, view) in some.iter().zip(views) {
                // One that was removed meanwhile is nothing to tell of.
                let Some(view) = view else { continue };
                self.empty_if_full(bag, at).await?;
                let callback = if wanted.has_callback { callback(&view) } else { None };
                let view = self.with_every_attempt(wanted.moved, view).await?;
                let letter = letter(wanted.moved, wanted.event, view);
                for (id, wish) in &wanted.to {
                    bag.put(&letter, Addressee::Webhook(*id), *wish);
                }
                if let Some(callback) = callback {
                    bag.put(&letter, callback, Wish::Known);
                }
            }
        }
        Ok(())
    }

    async fn wanted<'a>(&self, slice: &[&'a Moved]) -> Result<Vec<WantedEnding<'a>>, StoreError> {
        let ended: Vec<&Moved> = slice.iter().copied().filter(|moved| is_one(moved)).collect();
        if ended.is_empty() {
            return Ok(Vec::new());
        }
        let tenants: BTreeSet<&TenantId> = ended.iter().map(|moved| &moved.tenant).collect();
        let tenants: Vec<TenantId> = tenants.into_iter().cloned().collect();
        let ids: Vec<JobId> = ended.iter().map(|moved| moved.id).collect();
        let with_callback = bounded(self.config.call_timeout, self.tenancy.with_callback(&ids));
        let (endpoints, with_callback) = try_join(self.endpoints_of(&tenants), with_callback).await?;
        let with_callback: HashSet<JobId> = with_callback.into_iter().collect();
        let wanted = ended.into_iter().filter_map(|moved| {
            let event = Event::of(moved.step.state)?;
            let own = endpoints.get(&moved.tenant).into_iter().flatten();
            let to: Vec<(WebhookId, Wish)> =
                own.filter_map(|endpoint| endpoint.wish(event).map(|wish| (endpoint.id(), wish))).collect();
            let has_callback = with_callback.contains(&moved.id);
            (has_callback || !to.is_empty()).then_some(WantedEnding { moved, event, to, has_callback })
        });
        Ok(wanted.collect())
    }

    /// Every endpoint that may have to be told something, by tenant.
    pub(super) async fn endpoints_of(
        &self,
        tenants: &[TenantId],
    ) -> Result<HashMap<TenantId, Vec<EndpointRecord>>, StoreError> {
        let found = bounded(self.config.call_timeout, self.tenancy.webhooks_of(tenants)).await?;
        let mut by_tenant: HashMap<TenantId, Vec<EndpointRecord>> = HashMap::new();
        for webhook in found.readable {
            by_tenant.entry(webhook.tenant.clone()).or_default().push(EndpointRecord::Known(webhook));
        }
        for (tenant, id) in found.unreadable {
            debug!(webhook.id = %id, %tenant, "webhook {id} of tenant {tenant} was written by a newer version: its deliveries wait for a newer worker");
            by_tenant.entry(tenant).or_default().push(EndpointRecord::Newer(id));
        }
        Ok(by_tenant)
    }

    /// Those jobs of some moves that can be read together, which are most of them.
    pub(super) async fn known<'a>(&self, moved: impl Iterator<Item = &'a Moved>) -> Result<KnownJobs, StoreError> {
        let ids: Vec<JobId> = moved.map(|moved| moved.id).collect();
        if ids.len() < 2 {
            return Ok(KnownJobs::default());
        }
        match bounded(self.config.call_timeout, self.jobs.ended_at_once(&ids)).await {
            Ok(views) => Ok(views.into_iter().map(|view| (view.job.id, view)).collect()),
            // One of them cannot be read: which one is found out when each is read by itself.
            Err(StoreError::Damaged(_)) => Ok(KnownJobs::default()),
            Err(error) => Err(error),
        }
    }

    /// The jobs of some moves: those that are known, and the others, read at the same time.
    pub(super) async fn views<'a>(
        &self,
        moved: impl Iterator<Item = &'a Moved>,
        known: &mut KnownJobs,
    ) -> Result<Vec<Option<JobView>>, StoreError> {
        let loads: Vec<_> = moved
            .map(|moved| {
                let view = known.remove(&moved.id).filter(|view| view.job.tenant == moved.tenant);
                async move {
                    match view {
                        Some(view) => Ok(Some(view)),
                        None => self.view(moved).await,
                    }
                }
            })
            .collect();
        try_join_all(loads).await
    }

    /// A job with all the attempts that are kept, to find the one that a move ended. Of those that it did not, the content is let
    /// go: many attempts of a command may have printed more than fits into memory.
    ///
    /// Pages are counted from the latest attempt. Where the job was tried again since the page before, some come twice.
    async fn with_every_attempt(&self, moved: &Moved, mut view: JobView) -> Result<JobView, StoreError> {
        let mut read = view.attempts.records.len();
        while read < view.attempts.kept {
            let page = self.jobs.attempts(&moved.tenant, moved.id, read);
            let Some(mut older) = bounded(self.config.call_timeout, page).await? else { break };
            if older.records.is_empty() {
                break;
            }
            read += older.records.len();
            older.records.retain(|record| !view.attempts.records.iter().any(|known| is_same(known, record)));
            for record in older.records.iter_mut().filter(|record| record.number != moved.step.attempt) {
                (record.report.response, record.report.output) = (None, None);
            }
            older.records.append(&mut view.attempts.records);
            view.attempts = older;
        }
        Ok(view)
    }

    /// The job of a move; `None` when it is gone, or cannot be read.
    async fn view(&self, moved: &Moved) -> Result<Option<JobView>, StoreError> {
        let Moved { id, tenant, .. } = moved;
        match bounded(self.config.call_timeout, self.jobs.get(tenant, *id)).await {
            Err(StoreError::Damaged(why)) => {
                error!(job.id = %id, %tenant, "job {id} cannot be read, so no webhook is notified of it: {why}");
                Ok(None)
            }
            answer => answer,
        }
    }
}

fn callback(view: &JobView) -> Option<Addressee> {
    let url = view.job.work.callback_url.as_ref()?;
    match Url::parse(url) {
        Ok(url) => Some(Addressee::Callback(url)),
        Err(error) => {
            let id = view.job.id;
            warn!(job.id = %id, "the callback of job {id} is not notified, because it is not a URL: {error}");
            None
        }
    }
}

fn letter(moved: &Moved, event: Event, view: JobView) -> Letter {
    let (sequence, record) = ending(&view.attempts, moved);
    let work = view.job.work.clone();
    let mut job = Box::new(JobView { attempts: AttemptPage::default(), ..view }.document(false));
    // As it was then: somebody may have run it again since.
    job.state = moved.step.state;
    job.attempt = moved.step.attempt;
    job.finished_at = Some(moved.at);
    job.error = record.as_ref().map_or(job.error, |record| record.report.error.clone());
    let outcome = Ending {
        state: moved.step.state,
        error: job.error.clone(),
        attempt: record.filter(|record| record.number > 0).map(AttemptDocument::from),
    };
    let message = Message { event, timestamp: moved.at, data: About::Job { job, outcome, sequence } };
    let occasion = format!("{}/{event}/{sequence}", moved.id);
    Letter::new(moved.tenant.clone(), message, occasion.into_bytes()).about(moved.id, &work)
}

/// Which of a job's endings a move was, from 1, and its record. By the time it happened, for a job may end twice alike; the
/// store may have written the two down a moment apart.
fn ending(attempts: &AttemptPage, moved: &Moved) -> (u32, Option<AttemptRecord>) {
    let finals = attempts.records.iter().filter(|record| record.outcome.is_some_and(is_final)).enumerate();
    let distance = |record: &AttemptRecord| {
        record.finished_at.map_or(i64::MAX, |at| at.as_micros().saturating_sub(moved.at.as_micros()).saturating_abs())
    };
    let outcome = AttemptOutcome::of_final(moved.step.state);
    let alike = finals
        .filter(|(_, record)| record.outcome == outcome && (record.number == moved.step.attempt || record.number == 0));
    match alike.min_by_key(|(_, record)| distance(record)) {
        // Where earlier endings have been dropped they cannot be counted; the number of the move is another that rises with each.
        Some((_, record)) if attempts.may_lack_some() => (moved.step.sequence, Some(record.clone())),
        None if attempts.may_lack_some() => (moved.step.sequence, None),
        Some((place, record)) => (u32::try_from(place + 1).unwrap_or(u32::MAX), Some(record.clone())),
        None => (1, None),
    }
}

/// One that ended a job while it waited has no fence.
fn is_same(one: &AttemptRecord, other: &AttemptRecord) -> bool {
    one.fence == other.fence && (one.fence.is_some() || one.finished_at == other.finished_at)
}

fn is_final(outcome: AttemptOutcome) -> bool {
    use AttemptOutcome::{Cancelled, Completed, Dead, Failed};
    matches!(outcome, Completed | Failed | Dead | Cancelled)
}
