//! What must be done regularly and is safe from anywhere: every worker and every scheduler does it.

use std::sync::Arc;

use foreman_core::ports::{SessionStore, Upkeep};
use foreman_engine::{Promoter, Sweeper};

use super::{ServerPart, StorePorts, Wiring, nothing, part};

pub(super) fn parts(wiring: &Wiring<'_>, shared: &StorePorts) -> Vec<ServerPart> {
    let upkeep = Arc::clone(&shared.store) as Arc<dyn Upkeep>;
    let promoter = Promoter::new(upkeep, Arc::clone(&shared.wakeups), wiring.settings.promoter.clone());
    let sweeper = Sweeper::new(Arc::clone(&shared.store) as Arc<dyn SessionStore>, wiring.settings.sweeper.clone());
    vec![
        part("promoter", |shutdown| async move { Ok(promoter.run(shutdown).await.map(nothing)?) }),
        part("sweeper", |shutdown| async move { Ok(sweeper.run(shutdown).await.map(nothing)?) }),
    ]
}
