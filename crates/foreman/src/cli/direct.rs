//! Past every server, straight to its database: for who has it in hand, and for the first key of all.

use std::path::PathBuf;

use clap::Args;

use super::ServerFlags;

/// Where the database is, said as it is said to a server.
#[derive(Clone, Debug, Default, Args)]
pub struct DirectFlags {
    /// Ask no server: write to the database itself, where a server's settings say it is. A SQLite file only while no server has it
    #[arg(long, global = true, help_heading = "Straight to the database")]
    pub direct: bool,
    /// The file of settings [default: ./foreman.toml, if it is there]
    #[arg(long, global = true, value_name = "FILE", env = "FOREMAN_CONFIG", help_heading = "Straight to the database")]
    pub config: Option<PathBuf>,
    /// Where the database file lies [env: FOREMAN_DATA_DIR] [default: ./.foreman]
    #[arg(long, global = true, value_name = "DIR", requires = "direct", help_heading = "Straight to the database")]
    pub data_dir: Option<String>,
    /// Any setting by its name, such as database.schema=jobs
    #[arg(
        long = "set",
        global = true,
        value_name = "NAME=VALUE",
        requires = "direct",
        help_heading = "Straight to the database"
    )]
    pub set: Vec<String>,
}

impl From<&DirectFlags> for ServerFlags {
    fn from(flags: &DirectFlags) -> Self {
        let DirectFlags { direct: _, config, data_dir, set } = flags.clone();
        Self { config, data_dir, set, ..Self::default() }
    }
}
