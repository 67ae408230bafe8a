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
//! **Where there are several tenants** they share the slots ([`super::shares`]): some claims are for those alone that hold less
//! than their share, and some slots stay free for whoever comes.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use foreman_core::lane::LanePlan;
use foreman_core::ports::{
    Claim, ClaimAnswer, ClaimRequest, Company, Held, OpenJob, Queues, Store, StoreError, Topic, Wakeups, WantedJobs,
};
use foreman_core::{ClaimToken, TenantId, Verdict};
use foreman_runtime::{Backoff, Shutdown, Tasks, Ticker, WakeReason};
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{debug, info, warn};

use super::attempt::{self, AttemptContext};
use super::seats::Seats;
use super::session::Session;
use super::shares::{ClaimLook, SlotDecision, SlotHolder, SlotShares};
use super::{Config, Error};
use crate::claiming::{ClaimRules, DRY_SPELL, NextClaim, is_used_up, must_run_alone};
use crate::outage::{Outage, bounded};
use crate::pool::{Pool, Slots};
use crate::tenants::Tenants;

/// How often one claim call is sent before it is given up.
const SENDINGS: u32 = 3;

/// So long at most free slots wait for others, that one claim may fill them.
const MOST_LINGER: Duration = Duration::from_millis(10);

/// So many times as long as [`Config::poll`] it waits while nothing happens, and no longer than that.
const RESTING: (u32, Duration) = (15, Duration::from_secs(15));

/// Between two looks for what a tenant at its limit has waiting: things end all the time.
const HELD_BACK_NAP: Duration = Duration::from_millis(20);

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
    /// Nothing more is due.
    Wait,
    Leave,
}

/// What became of a look.
enum Looked {
    Claim(ClaimLook, ClaimAnswer),
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
        let request = ClaimRequest {
            session: session.id,
            token: ClaimToken::fresh(),
            wanted: WantedJobs::ByOrder { plan: LanePlan::strict(0), limit: 0 },
            queues,
            routes: context.targets.routes(),
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

    /// Whose attempts run.
    pub fn seats(&self) -> Seats {
        self.seats.clone()
    }

    /// Runs until draining, or until the session is lost. Answers how many jobs were claimed and handed back unstarted.
    pub async fn run(mut self) -> Result<usize, Error> {
        let mut ticker = Ticker::new(self.config.poll, 0.2).resting((self.config.poll * RESTING.0).min(RESTING.1));
        let mut outage = Outage::new("dispatcher");
        let mut next = NextMove::Claim;
        let mut has_more = false;
        loop {
            match next {
                NextMove::Leave => return Ok(self.released),
                NextMove::Wait => {
                    // Where slots are kept free on purpose there is more to take as soon as others are.
                    has_more = self.capped.is_some();
                    if self.wait(&mut ticker).await == WakeReason::Draining {
                        return Ok(self.released);
                    }
                }
                NextMove::Claim => {}
            }
            self.run_dry_if_due().await;
            let Some(slots) = self.slots(has_more).await else { return Ok(self.released) };
            if self.wake.has_changed().unwrap_or_default() {
                self.shares.rung();
            }
            // Register for the wake-up before looking: what is rung during the claim wakes the next wait.
            self.wake.mark_unchanged();
            self.changed.mark_unchanged();
            next = match self.look(slots.count()).await {
                Ok(Looked::Claim(look, answer)) => {
                    outage.is_over();
                    has_more = true;
                    let is_nothing = matches!(answer, ClaimAnswer::Nothing { fragile_waiting: false, .. });
                    let next = self.start(answer, slots, &look).await;
                    // What waits and may not be taken now, nobody rings for when it may.
                    if !is_nothing || self.rules.is_held_back() {
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
                let answer = self.claim(&look).await?;
                Ok(Looked::Claim(look, answer))
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

    /// One claim, sent again under the same token while its answer is lost.
    async fn claim(&mut self, look: &ClaimLook) -> Result<ClaimAnswer, StoreError> {
        self.request.token = ClaimToken::fresh();
        let company = if self.is_alone() { Company::Nobody } else { Company::Others };
        let next = NextClaim { limit: look.limit, company, headroom: &look.rooms };
        let lost = self.session.lost.clone();
        tokio::select! {
            biased;
            () = lost.cancelled() => return Ok(ClaimAnswer::SessionGone),
            prepared = self.rules.prepare(&mut self.request, next, &*self.store) => prepared?,
        }
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

    async fn start(&mut self, answer: ClaimAnswer, slots: Slots<Tasks>, look: &ClaimLook) -> NextMove {
        let taken = if let ClaimAnswer::Claimed(claim) = &answer { claim.jobs.len() } else { 0 };
        self.shares.looked(look, slots.count(), taken, Instant::now());
        // Somebody was left out for the sake of others: after these, everyone.
        let claim = if let ClaimAnswer::Claimed(claim) = &answer { Some(claim) } else { None };
        let is_second_due = look.is_for_others && is_used_up(&look.rooms, claim);
        // A claim for the others says nothing about those it leaves out.
        self.rules.answered(&answer, look.is_for_others);
        match answer {
            ClaimAnswer::SessionGone => {
                if !self.session.is_lost() {
                    warn!(session.id = %self.session.id, "session {} no longer exists: stopping its work", self.session.id);
                    self.session.lost.cancel();
                }
                NextMove::Leave
            }
            ClaimAnswer::Nothing { .. } => {
                self.session.claim_calls.end_all();
                if is_second_due { NextMove::Claim } else { NextMove::Wait }
            }
            ClaimAnswer::Claimed(claim) => {
                let (count, asked, has_more) = (claim.jobs.len(), look.limit, claim.has_more);
                self.shares.served(claim.jobs.iter().map(|held| &held.job.tenant), Instant::now());
                if must_run_alone(&claim) {
                    self.start_alone(claim, slots).await;
                    return NextMove::Claim;
                }
                self.start_all(claim, slots).await;
                // Less than was asked for: the store has no more for now, and rings when it does. But where somebody had no
                // room for more, others may have been passed over with them: the next claim leaves the former out.
                if count < asked && !has_more && !self.rules.is_held_back() && !is_second_due {
                    NextMove::Wait
                } else {
                    NextMove::Claim
                }
            }
        }
    }

    async fn start_all(&mut self, claim: Claim, slots: Slots<Tasks>) {
        self.start_each(claim, slots).await;
        self.session.claim_calls.end_all();
    }

    async fn start_each(&mut self, claim: Claim, mut slots: Slots<Tasks>) {
        if Instant::now() >= self.session.valid_until() {
            // The process was held up between the claim and now. Nothing may begin; the heartbeat finds out as well.
            self.session.lost.cancel();
            return;
        }
        // A claim that was on its way when draining began: nothing new is started, so it goes back unspent.
        if self.shutdown.is_draining() {
            drop(slots);
            for held in claim.jobs {
                self.release(held).await;
            }
            return;
        }
        for held in claim.jobs {
            let open = OpenJob { fence: held.fence, job: held.job.id };
            let ticket = self.session.running.enter(open, self.pool.stop().child_token());
            let seat = self.seats.take(&held.job.tenant, ticket.stop.clone());
            let (expected, context) = (self.context.settle.expect(), Arc::clone(&self.context));
            let work = |(held, ticket, seat)| async move { attempt::run(held, ticket, seat, expected, &context).await };
            if let Err((held, ..)) = slots.run((held, ticket, seat), work) {
                self.release(held).await;
            }
        }
    }

    /// Runs a fragile job with nothing beside it, until it ends.
    async fn start_alone(&mut self, claim: Claim, slots: Slots<Tasks>) {
        for held in &claim.jobs {
            let (id, crashes) = (held.job.id, held.crashes);
            info!(job.id = %id, crashes, "job {id} runs alone: it crashed its worker {crashes} times");
        }
        self.start_all(claim, slots).await;
        let pool = self.pool.clone();
        self.unless_stopped(pool.idle()).await;
    }

    /// Hands a job back unstarted.
    async fn release(&mut self, held: Held) {
        self.released += 1;
        let id = held.job.id;
        if let Err(error) = self.context.settle.outgoing(held.settle(Verdict::Released)).send().await {
            debug!(job.id = %id, "job {id} will be handed back with its session: {error}");
        }
    }

    /// Waits until there may be something to take.
    async fn wait(&mut self, ticker: &mut Ticker) -> WakeReason {
        let passed_over = self.rules.is_waiting_to_be_alone();
        let (pool, settle) = (self.pool.clone(), self.context.settle.clone());
        let alone = async {
            if !passed_over {
                pending::<()>().await;
            }
            pool.idle().await;
            settle.idle().await;
        };
        let (free, until) = self.capped.take().map_or((None, None), |(free, until)| (Some(free), until));
        let freed = async {
            match free {
                Some(free) => pool.has_free(free).await,
                None => pending().await,
            }
        };
        let others = async {
            match until {
                Some(until) => sleep_until(until).await,
                None => pending().await,
            }
        };
        let (is_held_back, changed) = (self.rules.is_held_back(), &mut self.changed);
        let room = async {
            if !is_held_back {
                pending::<()>().await;
            }
            sleep(HELD_BACK_NAP).await;
            if changed.changed().await.is_err() {
                pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            () = self.session.lost.cancelled() => WakeReason::Draining,
            () = alone => WakeReason::Woken,
            () = room => WakeReason::Woken,
            () = freed => WakeReason::Woken,
            () = others => WakeReason::Woken,
            tick = ticker.next(&mut self.wake, &self.shutdown) => {
                if tick == WakeReason::Woken {
                    self.shares.rung();
                }
                tick
            }
        }
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
