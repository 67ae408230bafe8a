//! How many requests of one tenant are served at once.
//!
//! A request counts until its answer has been taken: long polls, streams, bodies that drip and answers that nobody
//! takes each keep a connection, and connections are limited in number. One tenant may have three quarters of them, so
//! that another is served whatever the first one does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foreman_core::TenantId;

use crate::problem::{Kind, Problem};

/// Clones count together.
#[derive(Clone)]
pub(crate) struct ConnectionShares {
    most: usize,
    under_way: Arc<Mutex<HashMap<TenantId, usize>>>,
}

impl ConnectionShares {
    /// Of so many connections.
    pub fn of(connections: usize) -> Self {
        Self { most: (connections - connections / 4).max(1), under_way: Arc::default() }
    }

    pub fn begin(&self, tenant: &TenantId) -> Result<UnderWay, Problem> {
        let mut under_way = self.lock();
        let own = under_way.get(tenant).copied().unwrap_or_default();
        if own >= self.most {
            let most = self.most;
            return Err(Problem::new(
                Kind::TooManyRequests,
                format!(
                    "this tenant has {most} requests in progress on this server, which is the limit; wait for some of \
                     them to finish"
                ),
            )
            .with_header(http::header::RETRY_AFTER, "1"));
        }
        under_way.insert(tenant.clone(), own + 1);
        Ok(UnderWay { shares: self.clone(), tenant: tenant.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TenantId, usize>> {
        // Nothing in here can panic half way through a change.
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request; over when dropped.
pub(crate) struct UnderWay {
    shares: ConnectionShares,
    tenant: TenantId,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut under_way = self.shares.lock();
        if let Some(own) = under_way.get_mut(&self.tenant) {
            *own -= 1;
            if *own == 0 {
                under_way.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tenant_has_three_quarters_and_gets_them_back() {
        let (shares, ours) = (ConnectionShares::of(8), TenantId::new("ours"));
        let all: Vec<UnderWay> = (0..6).map(|_| shares.begin(&ours).expect("within the share")).collect();
        assert_eq!(shares.begin(&ours).err().map(|problem| problem.kind), Some(Kind::TooManyRequests));
        assert!(shares.begin(&TenantId::new("theirs")).is_ok());
        drop(all);
        assert!(shares.begin(&ours).is_ok());
        assert_eq!(shares.lock().len(), 0, "nothing is kept of a tenant that asks for nothing");
    }
}
