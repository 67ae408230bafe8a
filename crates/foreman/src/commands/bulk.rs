//! `foreman jobs retry|cancel|delete`: by id, or all that match.
//!
//! What touches many asks first, with the number; where nobody can be asked, `--yes` must say so.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use foreman_client::{BulkAnswer, Client, FilterDocument};

use crate::cli::Many;
use crate::exit::{self, Exit, usage};
use crate::render::{Screen, now};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Retry,
    Cancel,
    Delete,
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Verb::Retry => "retry",
            Verb::Cancel => "cancel",
            Verb::Delete => "delete",
        }
    }

    fn past(self) -> &'static str {
        match self {
            Verb::Retry => "will run again",
            Verb::Cancel => "cancelled",
            Verb::Delete => "deleted",
        }
    }
}

pub async fn run(verb: Verb, many: Many, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let has_filter = !many.filter.is_empty();
    match (many.ids.is_empty(), has_filter || many.all) {
        (false, false) => by_id(verb, &many.ids, client, screen).await,
        (true, true) => by_filter(verb, &many, client, screen).await,
        (false, true) => Err(usage("give job ids or filter flags, not both")),
        (true, false) => Err(usage(format!(
            "no jobs selected: give job ids, or a filter: foreman jobs {} --state STATE, --queue NAME, … or --all",
            verb.name()
        ))),
    }
}

/// One after the other; a refusal does not hold up those after it.
async fn by_id(verb: Verb, ids: &[String], client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let mut exit = Exit::Done;
    let mut documents = Vec::new();
    for id in ids {
        let answer = match verb {
            Verb::Retry => client.retry(id).await.map(Some),
            Verb::Cancel => client.cancel(id).await.map(Some),
            Verb::Delete => client.delete(id).await.map(|()| None),
        };
        match answer {
            Ok(job) => {
                documents.extend(job);
                if !screen.is_json() {
                    screen.line(format!("{id} {}", verb.past()))?;
                }
            }
            Err(error) => {
                let error = anyhow::Error::from(error);
                exit = exit::of_error(&error);
                crate::complain(&error.context(format!("could not {} {id}", verb.name())));
                if exit == Exit::Away {
                    break;
                }
            }
        }
    }
    if screen.is_json() {
        match documents.as_slice() {
            [one] if ids.len() == 1 => screen.json(one)?,
            many => screen.json(&serde_json::json!({ "items": many, "next": null }))?,
        }
    }
    Ok(exit)
}

async fn by_filter(verb: Verb, many: &Many, client: &Client, screen: &Screen) -> anyhow::Result<Exit> {
    let filter = many.filter.document(now());
    if verb == Verb::Retry && filter.state.is_none() {
        return Err(usage("choose which jobs to retry: --state dead, failed, cancelled or completed"));
    }
    if many.dry_run || !many.yes {
        let counted = call(verb, filter.clone(), true, client).await?;
        if many.dry_run {
            return tell(verb, counted, true, screen);
        }
        if counted.matched == 0 {
            return tell(verb, counted, false, screen);
        }
        if !agrees(verb, counted.matched)? {
            screen.talk("nothing was done");
            return Ok(Exit::Failed);
        }
    }
    let done = call(verb, filter, false, client).await?;
    tell(verb, done, false, screen)
}

async fn call(
    verb: Verb,
    filter: FilterDocument,
    dry_run: bool,
    client: &Client,
) -> Result<BulkAnswer, foreman_client::Error> {
    match verb {
        Verb::Retry => client.bulk_retry(filter, dry_run).await,
        Verb::Cancel => client.bulk_cancel(filter, dry_run).await,
        Verb::Delete => client.bulk_delete(filter, dry_run).await,
    }
}

fn tell(verb: Verb, answer: BulkAnswer, dry_run: bool, screen: &Screen) -> anyhow::Result<Exit> {
    if screen.is_json() {
        screen.json(&answer)?;
    } else if dry_run {
        screen.line(format!("{} match; nothing was done (dry run)", jobs(answer.matched)))?;
    } else {
        screen.line(format!("{} {}", jobs(answer.changed), verb.past()))?;
        let BulkAnswer { matched, changed, skipped } = answer;
        if skipped > 0 {
            let why = "the key lacks exec:command, or the server does not allow commands";
            screen.talk(format!("{} skipped: they run commands, and {why}", jobs(skipped)));
        }
        if changed + skipped < matched {
            screen.talk(format!("{} changed state meanwhile and were left alone", jobs(matched - changed - skipped)));
        }
    }
    Ok(Exit::Done)
}

fn agrees(verb: Verb, matched: u64) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let what = jobs(matched);
        return Err(usage(format!("this would {} {what}; confirm with --yes, or count with --dry-run", verb.name())));
    }
    let mut err = io::stderr().lock();
    write!(err, "{} {}? [y/N] ", verb.name(), jobs(matched))?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn jobs(count: u64) -> String {
    if count == 1 { "1 job".into() } else { format!("{count} jobs") }
}
