//! `foreman audit`: who did what to which object.

use super::registry::Registry;
use crate::cli::AuditLog;
use crate::exit::Exit;
use crate::render::{Screen, audit_list};

pub async fn run(asked: &AuditLog, tenant: Option<&str>, registry: &Registry, screen: &Screen) -> anyhow::Result<Exit> {
    let found = registry.audit(tenant, if asked.all { usize::MAX } else { asked.limit.get() }).await?;
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
