//! The locks on commands: the operator's flag, the key's scope, the tenant's list of programs. All three must be open.
//!
//! They are looked at when something is submitted, so that whoever submits it learns which one is shut; what runs commands
//! looks again.

use foreman_core::key::Scope;
use foreman_core::spec::CommandSpec;
use foreman_core::target::Program;

use crate::app::{App, Commands};
use crate::caller::Caller;
use crate::problem::{Kind, Problem};

/// May this caller submit commands at all?
pub(crate) fn may_submit(app: &App, caller: &Caller) -> Result<(), Problem> {
    if app.commands == Commands::Refused {
        return Err(Problem::new(
            Kind::CommandsDisabled,
            "this server runs no commands; start it with --allow-commands if whoever can reach it may run programs",
        ));
    }
    caller.may(Scope::ExecCommand)
}

/// May the caller's tenant run this program? If not, what is to be said about it.
pub(crate) fn may_run(caller: &Caller, program: &Program) -> Result<(), String> {
    if caller.may_run(program) {
        return Ok(());
    }
    let commands = &caller.standing.tenant.settings.commands;
    let what = match program {
        Program::Argv(argv) => format!("the program {:?}", argv.first().map_or("", String::as_str)),
        Program::Shell(_) => "a line for a shell (`sh`)".into(),
    };
    let allowed = if commands.is_empty() { "nothing".to_owned() } else { commands.to_string() };
    Err(format!(
        "is {what}, which the tenant {} may not run; it may run {allowed}, and an operator changes that with `foreman tenants \
         update`",
        caller.tenant
    ))
}

/// May a program of the caller's tenant be given variables of these names? If not: the first that it may not, and what is to be
/// said about it.
pub(crate) fn may_give<'n>(caller: &Caller, names: impl IntoIterator<Item = &'n str>) -> Result<(), (String, String)> {
    let Some(name) = names.into_iter().find(|name| !caller.may_give(name)) else { return Ok(()) };
    let detail = format!(
        "can make a program run another, and the tenant {} may run what is on its list alone; an operator changes that with \
         `foreman tenants update`",
        caller.tenant
    );
    Err((format!("/env/{name}"), detail))
}

pub(crate) fn program(command: &CommandSpec) -> Program {
    match command {
        CommandSpec::Argv(argv) => Program::Argv(argv.clone()),
        CommandSpec::Shell(line) => Program::Shell(line.clone()),
    }
}
