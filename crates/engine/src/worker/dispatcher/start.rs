//! Starts what was claimed: each job in a slot of its own, a fragile one alone.

use std::sync::Arc;

use foreman_core::Verdict;
use foreman_core::ports::{Claim, ClaimAnswer, Company, Held, OpenJob};
use foreman_runtime::Tasks;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::claim::ClaimSource;
use super::{Dispatcher, FEW, NextMove};
use crate::claiming::{is_used_up, must_run_alone};
use crate::pool::Slots;
use crate::worker::attempt;
use crate::worker::shares::ClaimLook;

impl Dispatcher {
    pub(super) async fn start(
        &mut self,
        answer: ClaimAnswer,
        slots: Slots<Tasks>,
        look: &ClaimLook,
        source: &ClaimSource,
    ) -> NextMove {
        let is_first = self.request.company == Company::Nobody;
        let taken = if let ClaimAnswer::Claimed(claim) = &answer { claim.jobs.len() } else { 0 };
        self.shares.looked(look, slots.count(), taken, Instant::now());
        // Somebody was left out for the sake of others: after these, everyone.
        let claim = if let ClaimAnswer::Claimed(claim) = &answer { Some(claim) } else { None };
        let is_second_due = look.is_for_others && is_used_up(&look.rooms, claim);
        if *source != ClaimSource::Nobody {
            // A claim for the others says nothing about those it leaves out.
            self.rules.answered(&answer, look.is_for_others || source.is_partial());
        }
        if let (ClaimSource::Beside(beside_look), Some(beside)) = (source, &mut self.beside) {
            let is_full = taken > 0 && (taken >= look.limit || claim.is_some_and(|claim| claim.has_more));
            beside.looked(beside_look, taken, is_full, Instant::now());
        }
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
                if count < asked && !has_more && !self.is_held_back() && !is_second_due {
                    NextMove::Wait
                } else if is_first && count * FEW <= asked {
                    NextMove::ClaimSoon
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
}
