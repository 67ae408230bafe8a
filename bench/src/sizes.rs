//! How much of everything a run measures.

use crate::jobs::BATCH;

#[derive(Clone, Debug)]
pub struct Sizes {
    /// Of a drain. Pushes and single submissions take half as many.
    pub jobs: usize,
    /// Of a worker whose jobs do nothing.
    pub slots: usize,
    /// Of a worker whose jobs call a URL.
    pub push_slots: usize,
    /// For single submissions.
    pub connections: Vec<usize>,
    /// Single jobs whose pick-up is timed.
    pub picks: usize,
}

impl Sizes {
    pub fn smoke() -> Self {
        Self { jobs: 4 * BATCH, slots: 64, push_slots: 32, connections: vec![1, 8], picks: 10 }
    }
}
