//! `foreman schedules preview`: on the clocks of its zone, in UTC, and what a change of the clocks does to it.

use foreman_client::{Client, ScheduleFields};

use super::spec::of_time;
use crate::cli::{Preview, WhenFlags};
use crate::exit::{Exit, usage};
use crate::render::{Screen, preview_list};

pub async fn run(asked: Preview, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let Preview { name, when, n, from } = asked;
    let shown = match name {
        Some(name) => {
            if !is_empty(when) {
                return Err(usage("give either the name of a schedule or a time, not both"));
            }
            client.preview_schedule(&name, n, from).await?
        }
        None => client.preview(&of_time(when), n, from).await?,
    };
    if screen.is_json() {
        screen.json(&shown)?;
        return Ok(Exit::Done);
    }
    screen.talk(&shown.description);
    if shown.items.is_empty() {
        screen.talk("the schedule does not fire again");
    } else {
        screen.line(preview_list(screen, &shown.items))?;
    }
    Ok(Exit::Done)
}

fn is_empty(when: WhenFlags) -> bool {
    let ScheduleFields { timezone, dst_gap, dst_overlap, start_at, end_at, .. } = of_time(when);
    timezone.is_none() && dst_gap.is_none() && dst_overlap.is_none() && start_at.is_none() && end_at.is_none()
}
