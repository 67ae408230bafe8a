//! Many reasons, few messages: the first goes out at once, and while there are more they share one per pause.

use std::time::Duration;

use tokio::time::sleep;

/// The pause after a message. It doubles while there is more to send, up to its longest.
#[derive(Clone, Copy, Debug)]
pub struct Debounce {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Debounce {
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, next: first }
    }

    /// For wake-ups between processes: at most one message per 10 ms under load, which costs a waiting job little.
    pub fn of_wakeups() -> Self {
        Self::new(Duration::from_millis(5), Duration::from_millis(10))
    }

    /// Waits after a message was sent. `has_more` is asked when the pause is over.
    pub async fn pause(&mut self, has_more: impl FnOnce() -> bool) {
        sleep(self.next).await;
        self.next = if has_more() { (self.next * 2).min(self.longest) } else { self.first };
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_while_there_is_more_and_then_begin_anew() {
        let mut debounce = Debounce::of_wakeups();
        let mut pauses = Vec::new();
        for has_more in [true, true, true, false, false] {
            let began = Instant::now();
            debounce.pause(|| has_more).await;
            pauses.push(began.elapsed().as_millis());
        }
        assert_eq!(pauses, [5, 10, 10, 10, 5]);
    }
}
