//! Accepting jobs, and stopping a queue.

use super::places::{KeyRow, Places};
use crate::id::TenantId;
use crate::job::{Job, NewJob, QueueName};
use crate::ports::{Note, Submitted, Topic};
use crate::storage::Counters;
use crate::time::Timestamp;

impl Places {
    pub fn submit(&mut self, new: &NewJob, now: Timestamp) -> Submitted {
        if let Some(job) = self.jobs.get(&new.id) {
            return Submitted::Accepted(job.created_at);
        }
        if let Some(known) = self.known_by_key(new, now) {
            return known;
        }
        if let Some(idempotency) = &new.idempotency {
            let row =
                KeyRow { job: new.id, fingerprint: idempotency.fingerprint, expires_at: now.plus(idempotency.keep) };
            self.keys.insert((new.tenant.clone(), idempotency.key.clone()), row);
        }
        let job = Job { id: new.id, tenant: new.tenant.clone(), work: new.work.clone(), created_at: now };
        self.note_use(&job.tenant, &job.work.queue, now);
        let expires_at = job.work.expires_at;
        self.jobs.insert(job.id, job);
        self.put_back(new.id, (new.start.run_at(now), expires_at), Counters::default(), None, now);
        Submitted::Accepted(now)
    }

    fn known_by_key(&self, new: &NewJob, now: Timestamp) -> Option<Submitted> {
        let idempotency = new.idempotency.as_ref()?;
        let row = self.keys.get(&(new.tenant.clone(), idempotency.key.clone())).filter(|row| row.expires_at > now)?;
        Some(if idempotency.stands_for(&row.fingerprint) {
            Submitted::Duplicate(row.job)
        } else {
            Submitted::KeyReused(row.job)
        })
    }

    pub fn pause(&mut self, tenant: &TenantId, queue: &QueueName, now: Timestamp) -> bool {
        self.note_use(tenant, queue, now);
        let is_new = self.paused.insert((tenant.clone(), queue.clone()));
        if is_new {
            self.tell(Note::Queue { tenant: tenant.clone(), queue: queue.clone(), is_paused: true });
        }
        is_new
    }

    pub fn resume(&mut self, tenant: &TenantId, queue: &QueueName, now: Timestamp) -> bool {
        self.rung.push(Topic::Ready);
        let was_paused = self.paused.remove(&(tenant.clone(), queue.clone()));
        if was_paused {
            self.tell(Note::Queue { tenant: tenant.clone(), queue: queue.clone(), is_paused: false });
            self.note_use(tenant, queue, now);
        }
        was_paused
    }
}
