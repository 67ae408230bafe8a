//! How the store is opened.

use std::path::PathBuf;
use std::time::Duration;

/// Typed and complete: [`Config::default`] is what `foreman dev` uses below its data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The data file; `-wal` and `-shm` stand beside it while the store is open, and `foreman.lock` always.
    pub path: PathBuf,
    /// How many reads run side by side. Their connections are opened when they are first needed.
    pub readers: usize,
    /// The file may not grow beyond so many pages of 4 KiB. `None`: as far as the disk goes.
    pub max_pages: Option<u32>,
    /// How long SQLite waits for a lock of somebody else, such as a backup.
    pub busy_timeout: Duration,
    /// How long a caller waits for its write to commit, or a read may take. Past it a write's outcome is unknown.
    pub call_timeout: Duration,
    /// How many writes may wait in line; beyond it callers wait for a place.
    pub queue: usize,
    /// The longest look at everything: the census.
    pub census_timeout: Duration,
    /// A write-ahead log longer than this is cut back by force. It grows so long only where reads never pause.
    pub wal_bytes: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            path: PathBuf::from(".foreman/foreman.db"),
            readers: 4,
            max_pages: None,
            busy_timeout: Duration::from_secs(5),
            call_timeout: Duration::from_secs(10),
            queue: 1_024,
            census_timeout: Duration::from_mins(10),
            wal_bytes: 128 << 20,
        }
    }
}

impl Config {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }
}
