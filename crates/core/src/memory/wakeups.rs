//! Wake-ups inside one process: a bell per topic that wakes at once.

use tokio::sync::watch;

use crate::ports::{Topic, Wakeups};

#[derive(Debug)]
pub struct LocalWakeups([watch::Sender<u64>; Topic::ALL.len()]);

impl LocalWakeups {
    pub fn new() -> Self {
        Self(std::array::from_fn(|_| watch::Sender::new(0)))
    }

    /// For a process that may have missed rings: its loops look at everything.
    pub fn ring_all(&self) {
        Topic::ALL.into_iter().filter(|topic| topic.is_about_work()).for_each(|topic| self.ring(topic));
    }

    fn bell(&self, topic: Topic) -> &watch::Sender<u64> {
        let place = Topic::ALL.iter().position(|known| *known == topic).expect("every topic is in ALL");
        &self.0[place]
    }
}

impl Default for LocalWakeups {
    fn default() -> Self {
        Self::new()
    }
}

impl Wakeups for LocalWakeups {
    fn ring(&self, topic: Topic) {
        self.bell(topic).send_modify(|rings| *rings += 1);
    }

    fn listen(&self, topic: Topic) -> watch::Receiver<u64> {
        self.bell(topic).subscribe()
    }
}
