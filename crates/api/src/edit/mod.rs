//! Edits by version: read, decide, write only if what was read still has its version, and start again if it has not.
//!
//! Of two requests that change the same thing at once, both succeed, one after the other. A request with `If-Match`
//! ([`condition`]) does not start again: it is rejected with the current version.

pub(crate) mod condition;

use crate::problem::Problem;

/// A request does not compete for ever with others that keep changing the same thing.
const ROUNDS: usize = 5;

/// What one round of an edit came to.
pub(crate) enum EditRound<T> {
    Written(T),
    /// Another request was faster: what was read is no longer so.
    Stale,
}

/// Repeats a round until it has written; `busy` is the answer when others were faster every time.
///
/// A round reads, checks what the request expects, decides, and writes at the version that it read.
pub(crate) async fn edit_at_version<T, R>(busy: impl FnOnce() -> Problem, round: impl Fn() -> R) -> Result<T, Problem>
where
    R: Future<Output = Result<EditRound<T>, Problem>>,
{
    for _ in 0..ROUNDS {
        if let EditRound::Written(value) = round().await? {
            return Ok(value);
        }
    }
    Err(busy())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::problem::Kind;

    async fn written_in(round: usize) -> (Result<usize, Problem>, usize) {
        let rounds = Cell::new(0);
        let busy = || Problem::new(Kind::Overloaded, "busy");
        let edited = edit_at_version(busy, || {
            rounds.set(rounds.get() + 1);
            let now = rounds.get();
            async move { Ok(if now == round { EditRound::Written(now) } else { EditRound::Stale }) }
        });
        (edited.await, rounds.get())
    }

    #[tokio::test]
    async fn an_edit_starts_again_while_others_are_faster_and_gives_up_in_the_end() {
        for round in 1..=ROUNDS {
            let (edited, rounds) = written_in(round).await;
            assert_eq!((edited.ok(), rounds), (Some(round), round));
        }
        let (edited, rounds) = written_in(ROUNDS + 1).await;
        assert_eq!((edited.err().map(|problem| problem.kind), rounds), (Some(Kind::Overloaded), ROUNDS));
    }
}
