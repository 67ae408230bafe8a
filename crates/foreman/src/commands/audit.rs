//! `foreman audit`: who did what to which object.

use foreman_client::Client;

use super::gather::gather;
use crate::cli::AuditLog;
use crate::exit::Exit;
use crate::render::{Screen, audit_list};

pub async fn run(asked: &AuditLog, tenant: Option<&str>, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let wanted = if asked.all { usize::MAX } else { asked.limit.get() };
    let found = gather(wanted, async |limit, after| Ok(client.audit(tenant, limit, after).await?)).await?;
    if screen.is_json() {
        screen.json(&found)?;
    } else if found.items.is_empty() {
        screen.talk("the audit log is empty");
    } else {
        screen.line(audit_list(screen, &found.items))?;
        if found.next.is_some() {
            screen.talk(format!("showing the latest {}; --all shows all", found.items.len()));
        }
    }
    Ok(Exit::Done)
}
