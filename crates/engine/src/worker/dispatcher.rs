//! Takes jobs and starts them: slots first, then a claim of as many as are free.
//!
//! One dispatcher belongs to one session and is the only one that claims under it. Priority is decided at the last
//! moment: nothing is claimed before there is a slot to start it in. A claim whose answer is lost is sent again under
//! the same token; a call that is given up is named with every heartbeat, and released should it ever commit.
//!
//! **Fragile jobs** (their next crash would be their last) run with nothing beside them. A claim that says one was
//! passed over is followed, as soon as nothing runs, by a claim made in nobody's company. A worker that is never idle
//! by itself stops taking work now and then until it is.
//!
//! **What may be asked** is decided in [`crate::claiming`]: whose turn it is among the lanes, how much of which tenant, whether a
//! fragile job may be among it. What was passed over because its tenant is at its limit is looked for again when something,
//! anywhere, has ended.
//!
//! **Where a broker carries announcements** ([`Feed`]) the claim names the jobs that have arrived ([`offers`]), by the same rules:
//! lanes in turn, no more of a tenant than it has room for, no more than there are slots. What is not announced is claimed by
//! order beside it ([`beside`]). Without a broker every claim goes by order.
//!
//! **Where there are several tenants** they share the slots ([`super::shares`]): some claims are for those alone that hold less
//! than their share, and some slots stay free for whoever comes.

mod beside;
mod claim;
mod offers;
mod start;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use foreman_core::lane::LanePlan;
use foreman_core::memory::AskTheStore;
use foreman_core::ports::{ClaimAnswer, ClaimRequest, Company, Queues, Store, StoreError, Topic, Wakeups, WantedJobs};
use foreman_core::target::Route;
use foreman_core::{ClaimToken, TenantId};
use foreman_runtime::{Shutdown, Tasks, Ticker, WakeReason};
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};
use tracing::info;

use super::BrokerFeed;
use super::attempt::AttemptContext;
use super::seats::Seats;
use super::session::Session;
use super::shares::{ClaimLook, SlotDecision, SlotHolder, SlotShares};
use super::{Config, Error};
use crate::claiming::{ClaimRules, DRY_SPELL};
use crate::outage::Outage;
use crate::pool::{Pool, Slots};
use crate::tenants::Tenants;
use beside::BesideFeed;
use claim::ClaimSource;
use offers::Offers;

/// So long at most free slots wait for others, that one claim may fill them.
const MOST_LINGER: Duration = Duration::from_millis(10);

/// So long at most a look waits for few jobs to begin: longer than their targets are called, on one machine.
const LET_START: Duration = Duration::from_millis(3);
/// They are few where at least so many times as many slots were free.
const FEW: usize = 8;

/// So many times as long as [`Config::poll`] it waits while nothing happens, and no longer than that.
const RESTING: (u32, Duration) = (15, Duration::from_secs(15));

pub(crate) struct Dispatcher {
    store: Arc<dyn Store>,
    session: Arc<Session>,
    pool: Pool<Tasks>,
    context: Arc<AttemptContext>,
    config: Arc<Config>,
    shutdown: Shutdown,
    wake: watch::Receiver<u64>,
    rules: ClaimRules,
    /// The next claim, but for its token and what the rules decide.
    request: ClaimRequest,
    routes: Vec<Route>,
    /// What the feed offered.
    offers: Offers,
    /// Looks beside it, where a broker carries the work.
    beside: Option<BesideFeed>,
    /// How long the store takes for a claim of late.
    claims_take: Duration,
    tenants: Option<Arc<Tenants>>,
    seats: Seats,
    shares: SlotShares,
    /// Nothing may be taken before so many slots are free, or before that moment.
    capped: Option<(usize, Option<Instant>)>,
    /// The bell that says that something ended.
    changed: watch::Receiver<u64>,
    released: usize,
}

/// What to do after a look.
enum NextMove {
    /// The store has more: look again as soon as there are slots.
    Claim,
    /// The same, when what was taken has begun.
    ClaimSoon,
    /// Nothing more is due.
    Wait,
    Leave,
}

/// What became of a look.
enum Looked {
    Claim(ClaimLook, ClaimSource, ClaimAnswer),
    /// The slots that are free are kept for others.
    Wait,
}

impl Dispatcher {
    pub fn new(
        store: Arc<dyn Store>,
        wakeups: &dyn Wakeups,
        session: Arc<Session>,
        pool: Pool<Tasks>,
        context: Arc<AttemptContext>,
        config: Arc<Config>,
        shutdown: Shutdown,
    ) -> Self {
        let queues = if config.queues.is_empty() { Queues::All } else { Queues::Named(config.queues.clone()) };
        let routes = context.targets.routes();
        let request = ClaimRequest {
            session: session.id,
            token: ClaimToken::fresh(),
            wanted: WantedJobs::ByOrder { plan: LanePlan::strict(0), limit: 0 },
            queues,
            routes: routes.clone(),
            company: Company::Nobody,
            rooms: Vec::new(),
        };
        Self {
            rules: ClaimRules::new(config.guard),
            claims_take: Duration::ZERO,
            tenants: None,
            seats: Seats::default(),
            shares: SlotShares::new(pool.size()),
            capped: None,
            wake: wakeups.listen(Topic::Ready),
            changed: wakeups.listen(Topic::Changed),
            released: 0,
            routes,
            offers: Offers::new(Arc::new(AskTheStore::new(wakeups))),
            beside: None,
            store,
            session,
            pool,
            context,
            config,
            shutdown,
            request,
        }
    }

    /// Takes no more of a tenant than it may have running, and shares the slots between them.
    pub fn limited_by(self, tenants: Option<Arc<Tenants>>) -> Self {
        let rules = self.rules.limited_by(tenants.clone(), self.config.slots, self.config.call_timeout);
        Self { rules, tenants, ..self }
    }

    /// Takes what this feed names, and only the rest by order.
    pub fn fed_by(self, broker: Option<&BrokerFeed>) -> Self {
        let Some(BrokerFeed { feed, announced }) = broker else { return self };
        let Config { poll, call_timeout, .. } = *self.config;
        let beside = BesideFeed::new(
            Arc::clone(announced),
            self.request.queues.clone(),
            self.routes.clone(),
            poll,
            call_timeout,
        );
        Self { offers: Offers::new(Arc::clone(feed)), beside: Some(beside), ..self }
    }

    /// Whose attempts run.
    pub fn seats(&self) -> Seats {
        self.seats.clone()
    }

    /// Runs until draining, or until the session is lost. Answers how many jobs were claimed and handed back unstarted.
    pub async fn run(mut self) -> Result<usize, Error> {
        let mut ticker = Ticker::new(self.config.poll, 0.2).resting((self.config.poll * RESTING.0).min(RESTING.1));
        let mut outage = Outage::new("dispatcher");
        let mut next = NextMove::Claim;
        let (mut has_more, mut has_taken) = (false, false);
        loop {
            match next {
                NextMove::Leave => return Ok(self.released),
                NextMove::Wait => {
                    if std::mem::take(&mut has_taken) {
                        self.renew().await;
                    }
                    // Where slots are kept free on purpose there is more to take as soon as others are.
                    has_more = self.capped.is_some();
                    if self.wait(&mut ticker).await == WakeReason::Draining {
                        return Ok(self.released);
                    }
                }
                NextMove::Claim => {}
                NextMove::ClaimSoon => self.let_start().await,
            }
            self.run_dry_if_due().await;
            let Some(slots) = self.slots(has_more).await else { return Ok(self.released) };
            if self.wake.has_changed().unwrap_or_default() {
                self.rung();
            }
            // Register for the wake-up before looking: what is rung during the claim wakes the next wait.
            self.wake.mark_unchanged();
            self.changed.mark_unchanged();
            next = match self.look(slots.count()).await {
                Ok(Looked::Claim(look, source, answer)) => {
                    outage.is_over();
                    has_more = source != ClaimSource::Nobody;
                    has_taken |= matches!(answer, ClaimAnswer::Claimed(_));
                    let is_nothing = matches!(answer, ClaimAnswer::Nothing { fragile_waiting: false, .. });
                    let next = self.start(answer, slots, &look, &source).await;
                    // What waits and may not be taken now, nobody rings for when it may.
                    if !is_nothing || self.is_held_back() {
                        ticker.hurry();
                    }
                    next
                }
                Ok(Looked::Wait) => NextMove::Wait,
                Err(error) => {
                    self.session.claim_calls.end_all();
                    drop(slots);
                    let wait = outage.goes_on(error)?;
                    self.unless_stopped(sleep(wait)).await.map_or(NextMove::Leave, |()| NextMove::Claim)
                }
            };
        }
    }

    /// Free slots; `None` when nothing more is to be taken. While the store has more to give, waits for half of the slots,
    /// or a worker under load would claim job by job; but no longer than a claim takes, counted from the first free slot,
    /// or slots whose work is slow would stand idle for it.
    async fn slots(&self, has_more: bool) -> Option<Slots<Tasks>> {
        let most = self.pool.size();
        let linger = self.claims_take.clamp(self.config.linger, MOST_LINGER.max(self.config.linger));
        self.unless_stopped(async {
            if has_more {
                self.pool.has_free(1).await;
                if timeout(linger, self.pool.has_free(most.div_ceil(2))).await.is_ok() {
                    // Work that ends in no time at all is ending right now: let it.
                    let mut free = 0;
                    while free < self.pool.free() {
                        free = self.pool.free();
                        yield_now().await;
                    }
                }
            }
            self.pool.slots(most).await
        })
        .await
        .flatten()
    }

    /// Claims as much as the tenants' shares of so many free slots allow.
    async fn look(&mut self, free: usize) -> Result<Looked, StoreError> {
        let step = match self.unless_lost(self.share(free)).await {
            Some(step) => step?,
            None => SlotDecision::Claim(ClaimLook::whole(free)),
        };
        match step {
            SlotDecision::Claim(look) => {
                let (source, answer) = self.claim(&look).await?;
                Ok(Looked::Claim(look, source, answer))
            }
            SlotDecision::Wait { free, until } => {
                self.capped = Some((free, until));
                Ok(Looked::Wait)
            }
        }
    }

    async fn share(&self, free: usize) -> Result<SlotDecision, StoreError> {
        let Some(tenants) = &self.tenants else { return Ok(SlotDecision::Claim(ClaimLook::whole(free))) };
        let limits = tenants.running_limits().await?;
        if !limits.is_shared() {
            return Ok(SlotDecision::Claim(ClaimLook::whole(free)));
        }
        let (held, now) = (self.seats.held(), Instant::now());
        let recent = self.shares.recent(&held, now).map(|tenant| (tenant.clone(), 0));
        let holder = |(tenant, slots): (TenantId, usize)| SlotHolder { weight: limits.weight(&tenant), tenant, slots };
        let holders: Vec<SlotHolder> = held.iter().cloned().chain(recent).map(holder).collect();
        Ok(self.shares.next(free, &holders, now))
    }

    /// What every claim has to know now and then is found out when nobody waits for it. In an outage the next claim says so.
    async fn renew(&mut self) {
        tokio::select! {
            biased;
            () = self.shutdown.draining() => {}
            () = self.session.lost.cancelled() => {}
            known = self.rules.renew(&*self.store) => drop(known),
        }
    }

    /// A few jobs were taken of many slots: they begin before the next look takes the machine and the store from them.
    async fn let_start(&mut self) {
        let mut wake = self.wake.clone();
        self.unless_stopped(async { timeout(LET_START, wake.changed()).await }).await;
    }

    /// Lets the pool run dry when a fragile job has waited long enough.
    async fn run_dry_if_due(&mut self) {
        if !self.rules.is_dry_spell_due(self.config.fragile_patience) || self.is_alone() {
            return;
        }
        info!("taking no new work for up to 10s: a job that must run alone is waiting");
        let (pool, settle) = (self.pool.clone(), self.context.settle.clone());
        let alone = async {
            pool.idle().await;
            settle.idle().await;
        };
        self.unless_stopped(async { timeout(DRY_SPELL, alone).await }).await;
    }

    /// The store says that something is due.
    fn rung(&mut self) {
        match &mut self.beside {
            // Whether it comes this way is for the feed to say.
            Some(beside) => beside.rung(Instant::now()),
            None => self.shares.rung(),
        }
    }

    /// A tenant had no headroom for all of its jobs, and nobody but this worker looks for them again.
    fn is_held_back(&self) -> bool {
        self.beside.is_none() && self.rules.is_held_back()
    }

    /// Nothing runs and nothing waits to be recorded: a crash now would take nobody along.
    fn is_alone(&self) -> bool {
        self.pool.is_idle() && self.context.settle.pending() == 0
    }

    /// `None` when the worker drains or the session is lost meanwhile.
    async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.shutdown.draining() => None,
            () = self.session.lost.cancelled() => None,
            done = work => Some(done),
        }
    }

    /// A claim call is let go only with its session: whatever it takes then is handed back when that is ended.
    async fn unless_lost<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.session.lost.cancelled() => None,
            done = work => Some(done),
        }
    }
}
