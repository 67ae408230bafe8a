//! Passes, by their hash.

use std::collections::HashMap;

use async_trait::async_trait;

use super::Store;
use crate::key::KeyHash;
use crate::ports::{NewPass, Pass, PassKind, PassStore, StoreError};
use crate::time::Timestamp;

#[async_trait]
impl PassStore for Store {
    async fn issue_pass(&self, pass: &NewPass) -> Result<Timestamp, StoreError> {
        Ok(self.write(|places, now| places.passes.issue(pass, now)))
    }

    async fn pass(&self, hash: &KeyHash) -> Result<Option<Pass>, StoreError> {
        Ok(self.read(|places, now| places.passes.get(hash, now)))
    }

    async fn spend_ticket(&self, hash: &KeyHash) -> Result<Option<Pass>, StoreError> {
        Ok(self.write(|places, now| places.passes.spend(hash, now)))
    }

    async fn revoke_pass(&self, hash: &KeyHash) -> Result<bool, StoreError> {
        Ok(self.write(|places, now| places.passes.revoke(hash, now)))
    }
}

#[derive(Default)]
pub(super) struct Passes(HashMap<[u8; 32], Pass>);

impl Passes {
    pub fn issue(&mut self, new: &NewPass, now: Timestamp) -> Timestamp {
        let NewPass { hash, kind, holder, tenant, keep } = new.clone();
        let pass = Pass { kind, holder, tenant, expires_at: now.plus(keep) };
        self.0.entry(*hash.as_bytes()).or_insert(pass).expires_at
    }

    pub fn get(&self, hash: &KeyHash, now: Timestamp) -> Option<Pass> {
        self.0.get(hash.as_bytes()).filter(|pass| pass.expires_at > now).cloned()
    }

    pub fn spend(&mut self, hash: &KeyHash, now: Timestamp) -> Option<Pass> {
        let pass = self.get(hash, now).filter(|pass| pass.kind == PassKind::Ticket)?;
        self.0.remove(hash.as_bytes());
        Some(pass)
    }

    pub fn revoke(&mut self, hash: &KeyHash, now: Timestamp) -> bool {
        self.0.remove(hash.as_bytes()).is_some_and(|pass| pass.expires_at > now)
    }

    pub fn prune(&mut self, now: Timestamp, limit: usize) -> usize {
        let old: Vec<_> =
            self.0.iter().filter(|(_, pass)| pass.expires_at <= now).map(|(hash, _)| *hash).take(limit).collect();
        for hash in &old {
            self.0.remove(hash);
        }
        old.len()
    }
}
