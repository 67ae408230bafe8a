//! What a browser shows instead of a key: the text of a session or of a ticket.
//!
//! 256 random bits behind a prefix that says what it is; like a key it is shown once and kept as its hash.

use std::time::Duration;

use foreman_core::key::KeyHash;
use foreman_core::ports::PassKind;
use foreman_core::secret::Secret;
use rand::RngExt as _;
use rand::distr::Alphanumeric;

/// 62^43 > 2^256.
const LETTERS: usize = 43;

pub(crate) struct PassText {
    kind: PassKind,
    text: Secret,
}

impl PassText {
    /// One that nobody has seen before.
    pub fn fresh(kind: PassKind) -> Self {
        let letters: String = rand::rng().sample_iter(Alphanumeric).take(LETTERS).map(char::from).collect();
        Self { kind, text: Secret::new(format!("{}{letters}", prefix(kind))) }
    }

    /// Text that could be one; whether it is, the store knows.
    pub fn read(kind: PassKind, text: &str) -> Option<Self> {
        let letters = text.strip_prefix(prefix(kind))?;
        let fits = letters.len() == LETTERS && letters.bytes().all(|byte| byte.is_ascii_alphanumeric());
        fits.then(|| Self { kind, text: Secret::new(text) })
    }

    pub fn kind(&self) -> PassKind {
        self.kind
    }

    pub fn hash(&self) -> KeyHash {
        KeyHash::of(self.text.reveal().as_bytes())
    }

    /// What is kept of the configured key beside this pass. Only who has the pass can compute it: a reader of the database, who has
    /// no more than its hash, cannot try out guesses at the key.
    pub fn bound_to(&self, admin: &KeyHash) -> KeyHash {
        admin.under(self.text.reveal().as_bytes())
    }

    /// For its holder.
    pub fn reveal(&self) -> &str {
        self.text.reveal()
    }
}

const fn prefix(kind: PassKind) -> &'static str {
    match kind {
        PassKind::Session => "fs_",
        PassKind::Ticket => "ft_",
    }
}

/// How long one is good.
pub(crate) const fn keep(kind: PassKind) -> Duration {
    match kind {
        PassKind::Session => Duration::from_hours(12),
        PassKind::Ticket => Duration::from_secs(30),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn what_was_made_is_read_and_nothing_else_is() {
        for (kind, other) in [(PassKind::Session, PassKind::Ticket), (PassKind::Ticket, PassKind::Session)] {
            let text = PassText::fresh(kind);
            let shown = text.reveal().to_owned();
            let read = PassText::read(kind, &shown).expect("fits");
            assert_eq!((read.hash(), read.kind()), (text.hash(), kind));
            assert!(PassText::read(other, &shown).is_none());
            for wrong in
                [&shown[..shown.len() - 1], &format!("{shown}a"), "", prefix(kind), &format!("{}ü", &shown[..44])]
            {
                assert!(PassText::read(kind, wrong).is_none(), "{wrong}");
            }
        }
        let (one, other) = (PassText::fresh(PassKind::Session), PassText::fresh(PassKind::Session));
        let admin = KeyHash::of(b"the key of the configuration");
        assert!(one.bound_to(&admin) == one.bound_to(&admin) && one.bound_to(&admin) != other.bound_to(&admin));
        assert!(one.bound_to(&admin) != admin && one.bound_to(&admin) != one.bound_to(&KeyHash::of(b"another")));
        let many: HashSet<String> = (0..1_000).map(|_| PassText::fresh(PassKind::Ticket).reveal().to_owned()).collect();
        assert_eq!(many.len(), 1_000);
    }
}
