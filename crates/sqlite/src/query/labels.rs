//! What people call jobs, without a look at what they ask for.

use foreman_core::JobId;
use foreman_core::ports::Labels;
use foreman_core::webhook::CALLBACK_TAG;
use rusqlite::{Connection, OptionalExtension};

use crate::error::Fault;

const KIND: &str = "SELECT kind FROM jobs WHERE id = ?1";

/// But for the one that says that somebody is to be called back.
const TAGS: &str = "SELECT tag FROM job_tags INDEXED BY job_tags_of_job WHERE job = ?1 AND tag <> ?2 ORDER BY tag";

pub(super) fn labels(sql: &Connection, jobs: &[JobId]) -> Result<Vec<Labels>, Fault> {
    let (mut kinds, mut tags) = (sql.prepare_cached(KIND)?, sql.prepare_cached(TAGS)?);
    let mut labels = Vec::new();
    for job in jobs {
        let kind: Option<Option<String>> = kinds.query_row([job.0], |row| row.get(0)).optional()?;
        let Some(kind) = kind else { continue };
        let tags = tags.query_map((job.0, CALLBACK_TAG), |row| row.get(0))?.collect::<Result<_, _>>()?;
        labels.push(Labels { job: *job, kind, tags });
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::{bare, plan};

    #[test]
    fn labels_are_found_by_searches() {
        let sql = bare();
        for question in [KIND, TAGS] {
            let plan = plan(&sql, question);
            assert!(plan.iter().all(|step| !step.starts_with("SCAN")), "{question}: {plan:?}");
        }
    }
}
