//! `foreman completions`.

use clap::CommandFactory as _;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::render::Screen;

pub fn run(shell: clap_complete::Shell, screen: &Screen) -> anyhow::Result<Exit> {
    // Into memory first: the generator panics where a pipe was closed.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "foreman", &mut script);
    screen.raw(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
