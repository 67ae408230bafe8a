//! The versions of a schema: what has been applied, what waits, and which binaries still run on it.
//!
//! A store compiles its migrations in as numbered SQL files and keeps a row of each that was applied. Each says which binaries
//! still run on the schema that it makes (`serves`): whoever does not like a new version may go back to the one before. A
//! schema that a newer binary has made and that no longer serves this one is refused rather than guessed at; so is one made
//! by a migration of another text.

use sha2::{Digest, Sha256};

use crate::time::Timestamp;

/// A migration that this binary knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    pub version: i64,
    pub name: &'static str,
    /// The oldest binary, by the newest version that it knows, that still runs on the schema that this makes: the version
    /// before, unless this takes away what that one uses.
    pub serves: i64,
    pub sql: &'static str,
}

/// All migrations that this binary knows, in order.
#[derive(Clone, Copy, Debug)]
pub struct Migrations(&'static [Migration]);

/// A migration that was applied, as its row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    pub version: i64,
    pub name: String,
    pub checksum: String,
    pub serves: i64,
    pub at: Timestamp,
}

/// One migration, and when it was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationStatus {
    pub version: i64,
    pub name: String,
    /// The oldest binary, by the newest version that it knows, that still runs on the schema that this makes.
    pub serves: i64,
    /// `None`: it waits to be applied.
    pub applied_at: Option<Timestamp>,
    /// A newer binary has applied one that is not known here.
    pub is_known: bool,
}

/// Why this binary does not run on a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// A newer binary has taken away what this one uses. The version found, and the oldest that it serves.
    Newer { found: i64, serves: i64 },
    /// A migration was applied whose text is not the one known here.
    Changed { version: i64 },
}

impl Migrations {
    /// Versions ascend one by one, and none brings back what one before it took away: said to the compiler.
    pub const fn new(known: &'static [Migration]) -> Self {
        assert!(!known.is_empty(), "there is a schema");
        let mut place = 0;
        while place < known.len() {
            let Migration { version, serves, .. } = known[place];
            assert!(version == place as i64 + 1, "versions ascend one by one");
            assert!(1 <= serves && serves <= version, "a migration serves itself");
            assert!(place == 0 || known[place - 1].serves <= serves, "what was taken away is not brought back");
            place += 1;
        }
        Self(known)
    }

    /// The newest version this binary knows.
    pub const fn latest(self) -> i64 {
        self.0.len() as i64
    }

    pub fn known(self) -> &'static [Migration] {
        self.0
    }

    /// What has been applied, by newer binaries too, and what waits.
    pub fn overview(self, applied: &[Applied]) -> Vec<MigrationStatus> {
        let when = |version| applied.iter().find(|row| row.version == version).map(|row| row.at);
        let known = self.0.iter().map(|migration| MigrationStatus {
            version: migration.version,
            name: migration.name.to_owned(),
            serves: migration.serves,
            applied_at: when(migration.version),
            is_known: true,
        });
        let newer = newer(applied, self.latest()).map(|row| MigrationStatus {
            version: row.version,
            name: row.name.clone(),
            serves: row.serves,
            applied_at: Some(row.at),
            is_known: false,
        });
        known.chain(newer).collect()
    }

    /// What is still to be applied, in order.
    pub fn waiting(self, applied: &[Applied]) -> impl Iterator<Item = &'static Migration> {
        self.0.iter().filter(|known| applied.iter().all(|row| row.version != known.version))
    }

    /// The version of a schema that is newer than this binary.
    pub fn newer(self, applied: &[Applied]) -> Option<i64> {
        newer(applied, self.latest()).map(|row| row.version).max()
    }

    /// Whether this binary runs on a schema to which these were applied.
    pub fn check(self, applied: &[Applied]) -> Result<(), Unfit> {
        if let Some((found, serves)) = outgrown(applied, self.latest()) {
            return Err(Unfit::Newer { found, serves });
        }
        let is_ours =
            |row: &Applied| self.0.iter().any(|it| it.version == row.version && it.checksum() == row.checksum);
        match applied.iter().find(|row| row.version <= self.latest() && !is_ours(row)) {
            Some(row) => Err(Unfit::Changed { version: row.version }),
            None => Ok(()),
        }
    }
}

impl Migration {
    /// SHA-256 of its text.
    pub fn checksum(&self) -> String {
        use std::fmt::Write;
        Sha256::digest(self.sql.as_bytes()).iter().fold(String::with_capacity(64), |mut text, byte| {
            write!(text, "{byte:02x}").expect("writing to a string cannot fail");
            text
        })
    }
}

/// What binaries newer than one that knows up to `known` have applied.
fn newer(applied: &[Applied], known: i64) -> impl Iterator<Item = &Applied> {
    applied.iter().filter(move |row| row.version > known)
}

/// The version of a schema that no longer serves a binary that knows up to `known`, and the oldest one that it serves. Every
/// newer migration has a say: one that only adds does not bring back what one before it took away.
fn outgrown(applied: &[Applied], known: i64) -> Option<(i64, i64)> {
    let found = newer(applied, known).map(|row| row.version).max()?;
    let serves = newer(applied, known).map(|row| row.serves).max()?;
    (serves > known).then_some((found, serves))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Migration = Migration { version: 1, name: "first", serves: 1, sql: "CREATE TABLE first (id int)" };
    const SECOND: Migration = Migration { version: 2, name: "second", serves: 1, sql: "CREATE TABLE second (id int)" };
    const BOTH: Migrations = Migrations::new(&[FIRST, SECOND]);

    fn row(version: i64, serves: i64) -> Applied {
        let checksum = BOTH.known().iter().find(|it| it.version == version).map(Migration::checksum);
        let (name, at) = (format!("m{version}"), Timestamp::from_micros(version));
        Applied { version, name, checksum: checksum.unwrap_or_default(), serves, at }
    }

    #[test]
    fn a_binary_runs_on_a_newer_schema_while_every_newer_migration_serves_it() {
        // 2 and 3 only add; 4 takes away what 2 had kept for 1; 5 only adds.
        let applied = [row(1, 1), row(2, 1), row(3, 2), row(4, 3), row(5, 3)];
        assert_eq!(outgrown(&applied[..1], 1), None, "the schema it was made for");
        assert_eq!(outgrown(&applied[..2], 1), None, "one newer");
        assert_eq!(outgrown(&applied[..3], 1), Some((3, 2)), "two newer, and the second does not serve it");
        assert_eq!(outgrown(&applied[..3], 2), None);
        assert_eq!(outgrown(&applied, 2), Some((5, 3)), "the last only adds to what was taken away");
        assert_eq!(outgrown(&applied, 3), None, "two newer, and both serve it");
        assert_eq!(outgrown(&applied, 5), None);
    }

    #[test]
    fn a_migration_of_another_text_is_noticed() {
        assert_eq!(BOTH.check(&[]), Ok(()));
        assert_eq!(BOTH.check(&[row(1, 1), row(2, 1)]), Ok(()));
        let other = Applied { checksum: SECOND.checksum(), ..row(1, 1) };
        assert_eq!(BOTH.check(&[other]), Err(Unfit::Changed { version: 1 }));
        let newer = Applied { checksum: "unknown here".into(), ..row(3, 1) };
        assert_eq!(BOTH.check(&[row(1, 1), row(2, 1), newer]), Ok(()), "one that is not known is believed");
        assert_eq!(BOTH.check(&[row(1, 1), row(2, 1), row(3, 3)]), Err(Unfit::Newer { found: 3, serves: 3 }));
    }

    #[test]
    fn the_overview_shows_what_was_applied_and_what_waits() {
        let applied = [row(1, 1), row(3, 2)];
        let seen: Vec<_> =
            BOTH.overview(&applied).into_iter().map(|it| (it.version, it.applied_at.is_some(), it.is_known)).collect();
        assert_eq!(seen, [(1, true, true), (2, false, true), (3, true, false)]);
        assert_eq!(BOTH.waiting(&applied).map(|it| it.version).collect::<Vec<_>>(), [2]);
        assert_eq!((BOTH.latest(), BOTH.newer(&applied), BOTH.newer(&[])), (2, Some(3), None));
    }

    #[test]
    #[should_panic(expected = "versions ascend one by one")]
    fn a_version_that_is_left_out_is_noticed() {
        Migrations::new(&[SECOND]);
    }

    #[test]
    #[should_panic(expected = "what was taken away is not brought back")]
    fn a_migration_serves_no_binary_that_one_before_it_did_not() {
        Migrations::new(&[FIRST, Migration { serves: 2, ..SECOND }, Migration { version: 3, ..SECOND }]);
    }
}
