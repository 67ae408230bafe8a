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
        SecretsCommand::Reseal if !asked.direct.direct => {
            Err(usage("secrets are re-encrypted directly in the database: use --direct with the settings of a server"))
        }
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
        screen.line(format!("re-encrypted: {tenants} tenants, {webhooks} webhooks, {schedules} schedules"))?;
        for (object, why) in failed {
            screen.line(format!("could not re-encrypt {object}: {why}"))?;
        }
        screen.talk(
            "existing jobs stay encrypted with the old key: keep it in FOREMAN_SECRET_KEY until they have finished and dead ones are deleted",
        );
    }
    Ok(if failed.is_empty() { Exit::Done } else { Exit::Failed })
}
