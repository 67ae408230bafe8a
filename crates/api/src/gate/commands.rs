//! The locks on commands: the operator's flag, the key's scope, the tenant's list of programs. All three must be open.
//!
//! They are looked at when something is submitted, so that whoever submits it learns which one is shut; what runs commands
//! looks again. The first two are also looked at wherever a stored command would run again, now, or at another time: a key that
//! may not submit a command may not repeat one either.

use foreman_core::key::Scope;
use foreman_core::spec::CommandSpec;
use foreman_core::target::Program;
use foreman_core::{Target, TenantId};

use crate::app::{App, CommandPolicy};
use crate::gate::caller::Caller;
use crate::problem::{Kind, Problem};

/// May this caller submit commands at all?
pub(crate) fn may_submit(app: &App, caller: &Caller) -> Result<(), Problem> {
    if app.commands == CommandPolicy::Refused {
        return Err(Problem::new(
            Kind::CommandsDisabled,
            "this server does not run commands; to allow them, start it with --allow-commands",
        ));
    }
    caller.may(Scope::ExecCommand)
}

/// May this caller have stored work run: again, now, or at another time? Only a command asks for more than the access list did.
pub(crate) fn may_start(app: &App, caller: &Caller, target: &Target) -> Result<(), Problem> {
    if target.command().is_some() { may_submit(app, caller) } else { Ok(()) }
}

/// May the caller's tenant run this program? If not, what is to be said about it.
pub(crate) fn may_run(app: &App, caller: &Caller, program: &Program) -> Result<(), String> {
    if is_open(app, caller) || caller.may_run(program) {
        return Ok(());
    }
    let commands = &caller.profile.tenant.settings.commands;
    let what = match program {
        Program::Argv(argv) => format!("the program {:?}", argv.first().map_or("", String::as_str)),
        Program::Shell(_) => "a line for a shell (`sh`)".into(),
    };
    let allowed = if commands.is_empty() { "nothing".to_owned() } else { commands.to_string() };
    Err(format!(
        "is {what}, which the tenant {} may not run; it may run {allowed}, and an operator can change that with \
         `foreman tenants update`",
        caller.tenant
    ))
}

/// May a program of the caller's tenant be given variables of these names? If not: the first that it may not, and what is to be
/// said about it.
pub(crate) fn may_give<'n>(
    app: &App,
    caller: &Caller,
    names: impl IntoIterator<Item = &'n str>,
) -> Result<(), (String, String)> {
    if is_open(app, caller) {
        return Ok(());
    }
    let Some(name) = names.into_iter().find(|name| !caller.may_give(name)) else { return Ok(()) };
    let variables = &caller.profile.tenant.settings.variables;
    let allowed = if variables.is_empty() { "none".to_owned() } else { variables.to_string() };
    let detail = format!(
        "is a variable that the tenant {} may not set: it may only run listed programs, and a variable can make a \
         program run another one; it may set {allowed}, and an operator can change that with `foreman tenants update \
         {} --variables …`",
        caller.tenant, caller.tenant
    );
    Err((format!("/env/{name}"), detail))
}

fn is_open(app: &App, caller: &Caller) -> bool {
    app.commands == CommandPolicy::Open && caller.tenant == TenantId::default()
}

pub(crate) fn program(command: &CommandSpec) -> Program {
    match command {
        CommandSpec::Argv(argv) => Program::Argv(argv.clone()),
        CommandSpec::Shell(line) => Program::Shell(line.clone()),
    }
}
