//! Commands that write to the database without a server: for its operator, and to create the first key.

use std::path::PathBuf;

use clap::Args;

use super::ServerFlags;

/// Where the database is, in the same settings that a server reads.
#[derive(Clone, Debug, Default, Args)]
pub struct DirectFlags {
    /// Bypass the server and write directly to the database named in the server's settings. With SQLite, only while no server runs
    #[arg(long, global = true, help_heading = "Direct database access")]
    pub direct: bool,
    /// Settings file [default: ./foreman.toml, if it exists]
    #[arg(long, global = true, value_name = "FILE", env = "FOREMAN_CONFIG", help_heading = "Direct database access")]
    pub config: Option<PathBuf>,
    /// Directory of the database file [env: FOREMAN_DATA_DIR] [default: ./.foreman]
    #[arg(long, global = true, value_name = "DIR", requires = "direct", help_heading = "Direct database access")]
    pub data_dir: Option<String>,
    /// Set any setting by name, such as database.schema=jobs
    #[arg(
        long = "set",
        global = true,
        value_name = "NAME=VALUE",
        requires = "direct",
        help_heading = "Direct database access"
    )]
    pub set: Vec<String>,
}

impl From<&DirectFlags> for ServerFlags {
    fn from(flags: &DirectFlags) -> Self {
        let DirectFlags { direct: _, config, data_dir, set } = flags.clone();
        Self { config, data_dir, set, ..Self::default() }
    }
}
