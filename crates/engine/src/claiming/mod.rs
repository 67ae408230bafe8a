//! The rules of claiming, for one session at a time.
//!
//! A store gives out what it is asked for. What may be asked is decided here, and by nothing that belongs to a process
//! with slots: the dispatcher of a worker keeps these rules, and so can an API that claims for a remote worker.
//!
//! - **Lanes**: high before normal before low, with a guard that gives every lower lane its turn
//!   ([`foreman_core::lane::StarvationGuard`]).
//! - **Headroom**: a tenant near its limit of running jobs gets no more than it has left ([`headroom`]).
//! - **Fragile jobs** (their next crash would be their last) run with nothing beside them ([`fragile`]).
//!
//! One [`ClaimRules`] belongs to one session: [`ClaimRules::prepare`] before each claim, [`ClaimRules::answered`] after
//! it. It is not stored. When it is lost with its process, the next one starts with fresh counts: a lower lane may wait a
//! little longer for its turn, and a fragile job is found again by the first claim that passes it over.

mod fragile;
mod headroom;

use std::sync::Arc;
use std::time::Duration;

use foreman_core::lane::StarvationGuard;
use foreman_core::ports::{
    Claim, ClaimAnswer, ClaimRequest, Company, Headroom, Held, JobQuery, StoreError, WantedJobs,
};

pub use self::fragile::DRY_SPELL;
use self::fragile::Fragile;
pub(crate) use self::headroom::HeadroomLookup;
pub use self::headroom::is_used_up;
use self::headroom::narrowed;
use crate::tenants::Tenants;

pub struct ClaimRules {
    guard: StarvationGuard,
    lookup: HeadroomLookup,
    /// What the limits left when the last claim was prepared.
    headroom: Vec<Headroom>,
    fragile: Fragile,
    company: Company,
    is_held_back: bool,
}

/// What is known about the next claim.
#[derive(Clone, Copy, Debug)]
pub struct NextClaim<'n> {
    /// At most so many jobs.
    pub limit: usize,
    /// Whether anything else runs in the session.
    pub company: Company,
    /// What these tenants may have, for a reason other than their limits.
    pub headroom: &'n [Headroom],
}

impl ClaimRules {
    /// `guard`: one pick in so many goes to each lower lane first; 0: strict priority. No tenant has a limit.
    pub fn new(guard: u64) -> Self {
        Self {
            guard: StarvationGuard::new(guard),
            lookup: HeadroomLookup::unlimited(),
            headroom: Vec::new(),
            fragile: Fragile::default(),
            company: Company::Nobody,
            is_held_back: false,
        }
    }

    /// Keeps the limits that `tenants` have, for a session that runs at most `slots` jobs.
    #[must_use]
    pub fn limited_by(self, tenants: Option<Arc<Tenants>>, slots: usize, call_timeout: Duration) -> Self {
        Self { lookup: HeadroomLookup::new(tenants, slots, call_timeout), ..self }
    }

    /// Writes into `request` what the rules decide: which lanes, in which company, how much of which tenant.
    pub async fn prepare(
        &mut self,
        request: &mut ClaimRequest,
        next: NextClaim<'_>,
        store: &dyn JobQuery,
    ) -> Result<(), StoreError> {
        self.company = next.company;
        request.wanted = WantedJobs::ByOrder { plan: self.guard.plan(next.limit), limit: next.limit };
        request.company = next.company;
        self.headroom = self.lookup.look(store).await?;
        request.rooms = narrowed(&self.headroom, next.headroom);
        // Who has room for all of this claim cannot go beyond it, and a store that need not count per tenant claims faster.
        request.rooms.retain(|room| (room.jobs as usize) < next.limit);
        Ok(())
    }

    /// Looks for what the next claim will have to know, so that it need not.
    pub async fn renew(&mut self, store: &dyn JobQuery) -> Result<(), StoreError> {
        self.lookup.renew(store).await
    }

    /// Learns from the answer to what was prepared. `is_partial`: the claim left tenants out on purpose, so that it says
    /// nothing about their jobs.
    pub fn answered(&mut self, answer: &ClaimAnswer, is_partial: bool) {
        let (claim, is_fragile_waiting) = match answer {
            ClaimAnswer::SessionGone => return,
            ClaimAnswer::Nothing { fragile_waiting, .. } => (None, *fragile_waiting),
            ClaimAnswer::Claimed(claim) => (Some(claim), claim.fragile_waiting),
        };
        if is_fragile_waiting || !is_partial {
            self.fragile.seen(is_fragile_waiting);
        }
        self.is_held_back = is_used_up(&self.headroom, claim);
        self.guard.picked(claim.map_or(0, |claim| claim.jobs.len()));
    }

    /// A tenant had no headroom for all of its jobs, perhaps: look again when any job has ended.
    pub fn is_held_back(&self) -> bool {
        self.is_held_back
    }

    /// A job that must run alone has been passed over.
    pub fn is_fragile_waiting(&self) -> bool {
        self.fragile.is_waiting()
    }

    /// The last claim passed over a job that must run alone: claim again as soon as nothing runs in the session.
    pub fn is_waiting_to_be_alone(&self) -> bool {
        self.fragile.is_waiting() && self.company == Company::Others
    }

    /// A job that must run alone has waited for `patience`. Claim nothing for up to [`DRY_SPELL`], so that what runs can
    /// end. Answers `true` once for each such spell.
    pub fn is_dry_spell_due(&mut self, patience: Duration) -> bool {
        self.fragile.is_dry_spell_due(patience)
    }
}

/// Nothing may be claimed under the session before these have ended.
pub fn must_run_alone(claim: &Claim) -> bool {
    claim.jobs.iter().any(Held::is_fragile)
}
