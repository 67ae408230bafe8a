//! A store that can be told to fail: the reference store behind a script, verb by verb.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use foreman_core::memory;
use foreman_core::ports::intercept::{Call, Hook, Intercepted};
use foreman_core::ports::{
    Advance, Advanced, AttemptPage, Changes, ClaimAnswer, ClaimRequest, Edit, EditAnswer, Effect, Endpoints, Fired,
    Firing, JobStore, JobView, Leader, Position, PruneKind, PruneStep, Retention, SessionStore, Settled, Settlement,
    StoreError, Submitted, TenantPage,
};
use foreman_core::tenant::Tenant;
use foreman_core::webhook::Webhook;
use foreman_core::{JobId, NewJob, SessionId, TenantId};
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::sleep;

pub use foreman_core::ports::intercept::Verb;

/// The store, which is a script as well.
pub type Scripted = Intercepted<memory::Store, Script>;

type Answer<T> = Result<T, StoreError>;

/// Calls that a script has an act for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cue {
    Call(Verb),
    Pruning(Pruning),
}

/// Calls of [`Verb::Prune`], by what they prune.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pruning {
    Jobs,
    Partitions,
    Rest,
}

impl From<Verb> for Cue {
    fn from(verb: Verb) -> Self {
        assert_ne!(verb, Verb::Prune, "say what is pruned");
        Cue::Call(verb)
    }
}

impl From<Pruning> for Cue {
    fn from(pruning: Pruning) -> Self {
        Cue::Pruning(pruning)
    }
}

#[derive(Clone, Debug)]
pub enum Act {
    /// Nothing is done.
    Fail(StoreError),
    /// It is done, and the answer is lost.
    LoseAnswer,
    /// It is done, and this is the answer.
    FailAfter(StoreError),
    /// Nothing is done until the store is healed; then it is.
    Hang,
    /// It is done, and the answer comes when the store is healed.
    HangAfter,
    /// It takes so long.
    Delay(Duration),
    /// A bug in the store.
    Panic,
}

/// What a worker calls.
pub const OF_A_WORKER: [Verb; 7] =
    [Verb::Register, Verb::Heartbeat, Verb::Held, Verb::Claim, Verb::Settle, Verb::Drain, Verb::End];

pub fn away() -> Act {
    Act::Fail(StoreError::Unavailable("scripted".into()))
}

#[derive(Clone)]
pub struct Script {
    store: memory::Store,
    cues: Arc<Mutex<Cues>>,
    healed: watch::Sender<u64>,
    /// Claims that are stuck on their way, whoever waits for them or not.
    late: Arc<Mutex<Vec<ClaimRequest>>>,
    /// What happens before the next page of attempts is read.
    meanwhile: Arc<Mutex<Option<BoxFuture<'static, ()>>>>,
}

#[derive(Default)]
struct Cues {
    next: HashMap<Cue, VecDeque<Act>>,
    always: HashMap<Cue, Act>,
    calls: HashMap<Cue, usize>,
    refused: Vec<(JobId, StoreError)>,
    late_claims: usize,
    /// Terms before this one are over.
    term: u64,
    /// So many edits are answered as if somebody else had been faster.
    stale_edits: usize,
    /// Who fired, as far as somebody was elected for it.
    leaders: Vec<u64>,
    /// Rows of the change log that cannot be read, by their place.
    unreadable: Vec<i64>,
    /// Jobs that cannot be read.
    spoilt: Vec<JobId>,
    /// Tenants with a webhook that cannot be read.
    spoilt_tenants: Vec<TenantId>,
    /// Tenants that a later version has written, and that cannot be read.
    later_tenants: Vec<TenantId>,
    booked: Vec<usize>,
}

/// The store, with nothing scripted yet.
pub fn scripted(store: memory::Store) -> Scripted {
    let script = Script {
        store: store.clone(),
        cues: Arc::default(),
        healed: watch::Sender::new(0),
        late: Arc::default(),
        meanwhile: Arc::default(),
    };
    Intercepted::new(Arc::new(store), script)
}

impl Script {
    fn cues(&self) -> MutexGuard<'_, Cues> {
        self.cues.lock().unwrap()
    }

    /// What the next call of this verb does; said again, the one after it.
    pub fn next(&self, cue: impl Into<Cue>, act: Act) {
        self.cues().next.entry(cue.into()).or_default().push_back(act);
    }

    /// What every call of this verb does, until the store is healed.
    pub fn always(&self, cue: impl Into<Cue>, act: Act) {
        self.cues().always.insert(cue.into(), act);
    }

    /// Every call works again; those that hang go on.
    pub fn heal(&self) {
        let mut cues = self.cues();
        cues.next.clear();
        cues.always.clear();
        cues.refused.clear();
        drop(cues);
        self.healed.send_modify(|times| *times += 1);
    }

    /// The next claim is stuck on its way, until [`Script::late_claims_arrive`].
    pub fn next_claim_is_late(&self) {
        self.cues().late_claims += 1;
    }

    /// What was stuck on its way takes effect now; nobody hears the answer.
    pub async fn late_claims_arrive(&self) {
        let late = std::mem::take(&mut *self.late.lock().unwrap());
        for request in late {
            self.store.claim(&request).await.unwrap();
        }
    }

    /// This happens before the next page of attempts is read.
    pub fn before_attempts(&self, meanwhile: impl Future<Output = ()> + Send + 'static) {
        *self.meanwhile.lock().unwrap() = Some(Box::pin(meanwhile));
    }

    /// A write that contains this job is refused as broken.
    pub fn refuse(&self, job: JobId) {
        self.refuse_with(job, StoreError::Broken(format!("{job} is refused")));
    }

    /// A write that contains this job is answered with this.
    pub fn refuse_with(&self, job: JobId, error: StoreError) {
        self.cues().refused.push((job, error));
    }

    /// The row of the change log at this place cannot be read.
    pub fn spoil_row(&self, position: Position) {
        self.cues().unreadable.push(position.0);
    }

    pub fn spoil_job(&self, job: JobId) {
        self.cues().spoilt.push(job);
    }

    pub fn spoil_webhooks_of(&self, tenant: TenantId) {
        self.cues().spoilt_tenants.push(tenant);
    }

    /// A later version writes the settings of this tenant.
    pub fn tenant_is_of_a_later_version(&self, tenant: TenantId) {
        self.cues().later_tenants.push(tenant);
    }

    /// How many entries each booking had since the last time this was asked.
    pub fn booked(&self) -> Vec<usize> {
        std::mem::take(&mut self.cues().booked)
    }

    /// Every earlier leader's term is over, by the store's account.
    pub fn depose_before(&self, term: u64) {
        self.cues().term = term;
    }

    /// Somebody else is faster than the next so many edits.
    pub fn edits_are_stale(&self, count: usize) {
        self.cues().stale_edits = count;
    }

    /// The terms in which something was fired, in order.
    pub fn leaders(&self) -> Vec<u64> {
        self.cues().leaders.clone()
    }

    pub fn calls(&self, cue: impl Into<Cue>) -> usize {
        self.cues().calls.get(&cue.into()).copied().unwrap_or(0)
    }

    async fn play<T>(&self, cue: Cue, call: impl Call<T>) -> Answer<T> {
        let (act, mut healed) = {
            let mut cues = self.cues();
            *cues.calls.entry(cue).or_default() += 1;
            let next = cues.next.get_mut(&cue).and_then(VecDeque::pop_front);
            (next.or_else(|| cues.always.get(&cue).cloned()), self.healed.subscribe())
        };
        match act {
            None => call.await,
            Some(Act::Fail(error)) => Err(error),
            Some(Act::LoseAnswer) => {
                call.await?;
                Err(StoreError::Unavailable("the answer was lost".into()))
            }
            Some(Act::FailAfter(error)) => {
                call.await?;
                Err(error)
            }
            Some(Act::Hang) => {
                let _ = healed.changed().await;
                call.await
            }
            Some(Act::HangAfter) => {
                let answer = call.await;
                let _ = healed.changed().await;
                answer
            }
            Some(Act::Panic) => panic!("a bug in the store"),
            Some(Act::Delay(time)) => {
                sleep(time).await;
                call.await
            }
        }
    }

    /// Ends a session behind its worker's back.
    pub async fn inner_end(&self, session: SessionId) {
        self.store.end(session).await.unwrap();
    }

    fn check(&self, mut jobs: impl Iterator<Item = JobId>) -> Answer<()> {
        let cues = self.cues();
        let refused = jobs.find_map(|id| cues.refused.iter().find(|(job, _)| *job == id));
        refused.map_or(Ok(()), |(_, error)| Err(error.clone()))
    }

    /// Terms, as a store that many share has them.
    fn is_deposed(&self, leader: Option<&Leader>) -> bool {
        leader.is_some_and(|leader| leader.term < self.cues().term)
    }
}

impl Hook for Script {
    async fn around<T: Send>(&self, verb: Verb, call: impl Call<T>) -> Answer<T> {
        self.play(Cue::Call(verb), call).await
    }

    async fn submit(&self, jobs: &[NewJob], call: impl Call<Vec<Submitted>>) -> Answer<Vec<Submitted>> {
        self.check(jobs.iter().map(|job| job.id))?;
        self.around(Verb::Submit, call).await
    }

    async fn claim(&self, request: &ClaimRequest, call: impl Call<ClaimAnswer>) -> Answer<ClaimAnswer> {
        let is_late = {
            let mut cues = self.cues();
            let is_late = cues.late_claims > 0;
            cues.late_claims = cues.late_claims.saturating_sub(1);
            is_late
        };
        if is_late {
            self.late.lock().unwrap().push(request.clone());
            return std::future::pending().await;
        }
        self.around(Verb::Claim, call).await
    }

    async fn settle(
        &self,
        _: SessionId,
        settlements: &[Settlement],
        call: impl Call<Vec<Settled>>,
    ) -> Answer<Vec<Settled>> {
        self.check(settlements.iter().map(|one| one.job))?;
        self.around(Verb::Settle, call).await
    }

    async fn prune_kind(
        &self,
        _: Option<&Leader>,
        kind: PruneKind,
        _: &Retention,
        _: usize,
        call: impl Call<Option<PruneStep>>,
    ) -> Answer<Option<PruneStep>> {
        let pruning = match kind {
            PruneKind::Jobs => Pruning::Jobs,
            PruneKind::Partitions => Pruning::Partitions,
            _ => Pruning::Rest,
        };
        self.play(pruning.into(), call).await
    }

    async fn get(&self, _: &TenantId, id: JobId, call: impl Call<Option<JobView>>) -> Answer<Option<JobView>> {
        if self.cues().spoilt.contains(&id) {
            return Err(StoreError::Damaged("scripted".into()));
        }
        self.around(Verb::Get, call).await
    }

    async fn ended_at_once(&self, jobs: &[JobId], call: impl Call<Vec<JobView>>) -> Answer<Vec<JobView>> {
        if jobs.iter().any(|job| self.cues().spoilt.contains(job)) {
            return Err(StoreError::Damaged("scripted".into()));
        }
        self.around(Verb::EndedAtOnce, call).await
    }

    async fn attempts(
        &self,
        _: &TenantId,
        _: JobId,
        _: usize,
        call: impl Call<Option<AttemptPage>>,
    ) -> Answer<Option<AttemptPage>> {
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile.await;
        }
        self.around(Verb::Attempts, call).await
    }

    async fn changes(&self, after: Position, _: usize, call: impl Call<Changes>) -> Answer<Changes> {
        let call = async {
            let changes = call.await?;
            let read = after.0 + 1..=changes.position.0;
            if self.cues().unreadable.iter().any(|place| read.contains(place)) {
                return Err(StoreError::Damaged("scripted".into()));
            }
            Ok(changes)
        };
        self.around(Verb::Changes, call).await
    }

    async fn edit_schedule(&self, _: &TenantId, _: &Edit, call: impl Call<EditAnswer>) -> Answer<EditAnswer> {
        let call = async {
            let is_stale = {
                let mut cues = self.cues();
                let is_stale = cues.stale_edits > 0;
                cues.stale_edits = cues.stale_edits.saturating_sub(1);
                is_stale
            };
            if is_stale { Ok(EditAnswer::Stale) } else { call.await }
        };
        self.around(Verb::EditSchedule, call).await
    }

    async fn fire(
        &self,
        leader: Option<&Leader>,
        _: &[Firing],
        call: impl Call<Option<Vec<Fired>>>,
    ) -> Answer<Option<Vec<Fired>>> {
        let call = async {
            if self.is_deposed(leader) {
                return Ok(None);
            }
            self.cues().leaders.extend(leader.map(|leader| leader.term));
            call.await
        };
        self.around(Verb::Fire, call).await
    }

    async fn advance(
        &self,
        leader: Option<&Leader>,
        advance: &Advance,
        call: impl Call<Option<Advanced>>,
    ) -> Answer<Option<Advanced>> {
        let call = async {
            if self.is_deposed(leader) {
                return Ok(None);
            }
            if let Effect::Counts(entries) = &advance.effect {
                self.cues().booked.push(entries.len());
            }
            call.await
        };
        self.around(Verb::Advance, call).await
    }

    async fn tenant(&self, id: &TenantId, call: impl Call<Option<Tenant>>) -> Answer<Option<Tenant>> {
        if self.cues().later_tenants.contains(id) {
            return Err(StoreError::Damaged("scripted".into()));
        }
        self.around(Verb::Tenant, call).await
    }

    async fn tenants(&self, _: Option<&TenantId>, _: usize, call: impl Call<TenantPage>) -> Answer<TenantPage> {
        let call = async {
            let mut page = call.await?;
            let later = self.cues().later_tenants.clone();
            let is_later = |tenant: &mut Tenant| later.contains(&tenant.id);
            page.unreadable = page.readable.extract_if(.., is_later).map(|tenant| tenant.id).collect();
            Ok(page)
        };
        self.around(Verb::Tenants, call).await
    }

    async fn webhooks_of(&self, _: &[TenantId], call: impl Call<Endpoints>) -> Answer<Endpoints> {
        let call = async {
            let mut found = call.await?;
            let spoilt = self.cues().spoilt_tenants.clone();
            let is_readable =
                |webhook: &Webhook| !spoilt.contains(&webhook.tenant) || webhook.settings.description == "readable";
            let (readable, unreadable): (Vec<_>, Vec<_>) = found.readable.into_iter().partition(is_readable);
            found.readable = readable;
            found.unreadable = unreadable.into_iter().map(|webhook| (webhook.tenant, webhook.id)).collect();
            Ok(found)
        };
        self.around(Verb::WebhooksOf, call).await
    }
}
