//! `foreman secrets`: the master key, and what is sealed with it.

use foreman_core::sealed::MasterKey;
use serde_json::json;

use super::direct::{Direct, Resealed};
use crate::cli::{Secrets, SecretsCommand};
use crate::config::Environment;
use crate::exit::{Exit, usage};
use crate::render::Screen;

pub fn run(asked: &Secrets, environment: &Environment, screen: &Screen) -> anyhow::Result<Exit> {
    match asked.command {
        SecretsCommand::Generate => {
            screen.line(MasterKey::fresh().text().reveal())?;
            Ok(Exit::Done)
        }
        SecretsCommand::Reseal if !asked.direct.direct => Err(usage(
            "a server seals nothing anew while it serves: do it on its database, with --direct and the settings of a server",
        )),
        SecretsCommand::Reseal => {
            let done = super::wait_for(async {
                let direct = Direct::open(&asked.direct, environment).await?;
                let done = direct.reseal().await;
                direct.close().await;
                done
            })?;
            tell(&done, screen)
        }
    }
}

fn tell(done: &Resealed, screen: &Screen) -> anyhow::Result<Exit> {
    let Resealed { tenants, webhooks, schedules, failed } = done;
    if screen.is_json() {
        let failed: Vec<_> = failed.iter().map(|(object, why)| json!({ "object": object, "why": why })).collect();
        screen.json(&json!({ "tenants": tenants, "webhooks": webhooks, "schedules": schedules, "failed": failed }))?;
    } else {
        screen.line(format!("sealed anew: {tenants} tenants, {webhooks} webhooks, {schedules} schedules"))?;
        for (object, why) in failed {
            screen.line(format!("not {object}: {why}"))?;
        }
        screen.talk(
            "jobs that wait keep what they were sealed with: leave the old key in the ring until they are over, and dead ones are deleted",
        );
    }
    Ok(if failed.is_empty() { Exit::Done } else { Exit::Failed })
}
