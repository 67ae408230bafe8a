//! `foreman schedules`.

mod import;
mod preview;
mod spec;

use foreman_client::{Client, ListDocument, ScheduleDocument};

use super::wait;
use crate::cli::{DeleteSchedule, ListSchedules, RunSchedule, SchedulesCommand, Ticks, Update, Whole};
use crate::exit::{self, Exit, usage};
use crate::render::{Screen, now, schedule_list, schedule_page, tick_list};

/// The most the server gives at once.
const PAGE: usize = 500;

pub async fn run(command: SchedulesCommand, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    match command {
        SchedulesCommand::Create(whole) => told(create(*whole, client, screen).await),
        SchedulesCommand::Get { name } => show(&client.schedule(&name).await?, screen),
        SchedulesCommand::List(asked) => list(&asked, client, screen).await,
        SchedulesCommand::Replace(whole) => told(replace(*whole, client, screen).await),
        SchedulesCommand::Update(update) => told(change(*update, client, screen).await),
        SchedulesCommand::Delete(asked) => delete(&asked, client, screen).await,
        SchedulesCommand::Pause { name } => {
            let schedule = client.pause_schedule(&name).await?;
            said(&schedule, &format!("schedule {name} is paused; it does not fire until resumed"), screen)
        }
        SchedulesCommand::Resume { name } => {
            let schedule = client.resume_schedule(&name).await?;
            said(&schedule, &next_of(&schedule), screen)
        }
        SchedulesCommand::Run(asked) => run_now(&asked, client, screen).await,
        SchedulesCommand::Preview(asked) => told(preview::run(*asked, client, screen).await),
        SchedulesCommand::Ticks(asked) => ticks(&asked, client, screen).await,
        SchedulesCommand::Import(asked) => import::run(&asked, client, screen).await,
    }
}

/// A schedule that is refused for what it says is a mistake of whoever typed it.
fn told(done: anyhow::Result<Exit>) -> anyhow::Result<Exit> {
    done.or_else(|error| {
        let status = error.downcast_ref::<foreman_client::Error>().and_then(foreman_client::Error::status);
        if !matches!(status, Some(400 | 403 | 413 | 422)) {
            return Err(error);
        }
        crate::complain(&error);
        Ok(exit::of_submission(&error))
    })
}

async fn create(whole: Whole, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    if whole.if_version.is_some() {
        return Err(usage("--if-version works only with `schedules replace`: a new schedule has no version yet"));
    }
    let schedule = client.create_schedule(&spec::whole(whole)?).await?;
    written(&schedule, screen)
}

async fn replace(whole: Whole, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let version = whole.if_version;
    let schedule = client.replace_schedule(&spec::whole(whole)?, version).await?;
    written(&schedule, screen)
}

async fn change(update: Update, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let (name, version) = (update.name.clone(), update.if_version);
    let schedule = client.update_schedule(&name, &spec::patch(update)?, version).await?;
    written(&schedule, screen)
}

fn written(schedule: &ScheduleDocument, screen: &Screen) -> anyhow::Result<Exit> {
    if screen.is_json() {
        screen.json(schedule)?;
    } else {
        screen.line(&schedule.name)?;
        screen.talk(format!("{}; {}", schedule.description, next_of(schedule)));
    }
    Ok(Exit::Done)
}

/// In words, or as the document.
fn said(schedule: &ScheduleDocument, words: &str, screen: &Screen) -> anyhow::Result<Exit> {
    if screen.is_json() {
        screen.json(schedule)?;
    } else {
        screen.talk(words);
    }
    Ok(Exit::Done)
}

fn next_of(schedule: &ScheduleDocument) -> String {
    match schedule.next_fire_at {
        Some(next) => format!("schedule {} fires next at {next}", schedule.name),
        None => format!("schedule {} is {}", schedule.name, schedule.state.as_str()),
    }
}

fn show(schedule: &ScheduleDocument, screen: &Screen) -> anyhow::Result<Exit> {
    if screen.is_json() {
        screen.json(schedule)?;
    } else {
        screen.line(schedule_page(schedule, now()))?;
    }
    Ok(Exit::Done)
}

async fn list(asked: &ListSchedules, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let wanted = if asked.all { usize::MAX } else { asked.limit.get() };
    let mut found = ListDocument { items: Vec::new(), next: None };
    while found.items.len() < wanted {
        let limit = (wanted - found.items.len()).min(PAGE);
        let page = client.schedules(limit, found.next.as_deref()).await?;
        found.items.extend(page.items);
        found.next = page.next;
        if found.next.is_none() {
            break;
        }
    }
    if screen.is_json() {
        screen.json(&found)?;
    } else if found.items.is_empty() {
        screen.talk("no schedules yet; create one with `foreman schedules create`");
    } else {
        screen.line(schedule_list(screen, &found.items, now()))?;
        if found.next.is_some() {
            screen.talk(format!("showing the first {}; --all shows all", found.items.len()));
        }
    }
    Ok(Exit::Done)
}

async fn delete(asked: &DeleteSchedule, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    if asked.names.len() > 1 && asked.if_version.is_some() {
        return Err(usage("--if-version works only with a single schedule"));
    }
    for name in &asked.names {
        client.delete_schedule(name, asked.if_version).await?;
        screen.talk(format!("schedule {name} deleted; its jobs are kept"));
    }
    Ok(Exit::Done)
}

async fn run_now(asked: &RunSchedule, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let job = client.run_schedule(&asked.name).await?;
    if asked.wait {
        screen.talk(format!("created job {}", job.id));
        return wait::run(&job.id, asked.wait_timeout, client, screen).await;
    }
    if screen.is_json() {
        screen.json(&job)?;
    } else {
        screen.line(&job.id)?;
        screen.talk(format!("{} in queue {}; follow it with: foreman jobs wait {}", job.state, job.queue, job.id));
    }
    Ok(Exit::Done)
}

async fn ticks(asked: &Ticks, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let mut found = ListDocument { items: Vec::new(), next: None };
    while found.items.len() < asked.limit.get() {
        let limit = (asked.limit.get() - found.items.len()).min(PAGE);
        let page = client.ticks(&asked.name, limit, found.next.as_deref()).await?;
        found.items.extend(page.items);
        found.next = page.next;
        if found.next.is_none() {
            break;
        }
    }
    if screen.is_json() {
        screen.json(&found)?;
    } else if found.items.is_empty() {
        screen.talk("no ticks yet");
    } else {
        screen.line(tick_list(screen, &found.items))?;
    }
    Ok(Exit::Done)
}
