//! The names of the log's tables, which are the user's choice.
//!
//! A name is small letters, digits and underscores, at most 40 of them, so that it needs no quoting anywhere and leaves room
//! for the names of its indexes. It may begin with a schema (`sales.order_events`). Functions, positions and epochs are named
//! after the table of events and are in its schema.

use std::collections::BTreeSet;

/// Which tables a log uses. Two logs in one database need different names or schemas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableNames {
    schema: String,
    events: String,
    heads: String,
    workers: String,
    assignments: String,
    checkpoints: String,
    parked: String,
    audit: String,
    leader: String,
}

impl Default for TableNames {
    fn default() -> Self {
        Self {
            schema: "public".into(),
            events: "events".into(),
            heads: "stream_heads".into(),
            workers: "worker_nodes".into(),
            assignments: "consumer_assignments".into(),
            checkpoints: "consumer_checkpoints".into(),
            parked: "consumer_parked_events".into(),
            audit: "consumer_audit".into(),
            leader: "worker_leader_election".into(),
        }
    }
}

impl TableNames {
    /// The schema of tables that are named without one. Default `public`; made if it is missing.
    #[must_use]
    pub fn schema(self, schema: impl Into<String>) -> Self {
        Self { schema: schema.into(), ..self }
    }

    /// Default `events`.
    #[must_use]
    pub fn events(self, name: impl Into<String>) -> Self {
        Self { events: name.into(), ..self }
    }

    /// Default `stream_heads`.
    #[must_use]
    pub fn stream_heads(self, name: impl Into<String>) -> Self {
        Self { heads: name.into(), ..self }
    }

    /// Default `worker_nodes`.
    #[must_use]
    pub fn worker_nodes(self, name: impl Into<String>) -> Self {
        Self { workers: name.into(), ..self }
    }

    /// Default `consumer_assignments`.
    #[must_use]
    pub fn consumer_assignments(self, name: impl Into<String>) -> Self {
        Self { assignments: name.into(), ..self }
    }

    /// Default `consumer_checkpoints`.
    #[must_use]
    pub fn consumer_checkpoints(self, name: impl Into<String>) -> Self {
        Self { checkpoints: name.into(), ..self }
    }

    /// Default `consumer_parked_events`.
    #[must_use]
    pub fn consumer_parked_events(self, name: impl Into<String>) -> Self {
        Self { parked: name.into(), ..self }
    }

    /// Default `consumer_audit`.
    #[must_use]
    pub fn consumer_audit(self, name: impl Into<String>) -> Self {
        Self { audit: name.into(), ..self }
    }

    /// Default `worker_leader_election`.
    #[must_use]
    pub fn leader_election(self, name: impl Into<String>) -> Self {
        Self { leader: name.into(), ..self }
    }

    pub(crate) fn resolve(&self) -> Result<ResolvedNames, TableNamesError> {
        check(&self.schema)?;
        let (events_schema, events) = self.split(&self.events)?;
        let mut tables = vec![
            ("events", (events_schema.clone(), events.clone())),
            ("heads", self.split(&self.heads)?),
            ("workers", self.split(&self.workers)?),
            ("assignments", self.split(&self.assignments)?),
            ("checkpoints", self.split(&self.checkpoints)?),
            ("parked", self.split(&self.parked)?),
            ("audit", self.split(&self.audit)?),
            ("leader", self.split(&self.leader)?),
        ];
        for own in ["log", "epochs", "migrations", "positions"] {
            tables.push((own, (events_schema.clone(), format!("{events}_{own}"))));
        }
        let mut seen = BTreeSet::new();
        for (_, name) in &tables {
            if !seen.insert(name.clone()) {
                return Err(TableNamesError::Doubled(format!("{}.{}", name.0, name.1)));
            }
        }
        Ok(ResolvedNames { events_schema, events, tables })
    }

    fn split(&self, name: &str) -> Result<(String, String), TableNamesError> {
        let (schema, table) = name.split_once('.').unwrap_or((&self.schema, name));
        check(schema)?;
        check(table)?;
        Ok((schema.to_owned(), table.to_owned()))
    }
}

fn check(name: &str) -> Result<(), TableNamesError> {
    let is_plain = (1..=40).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        && !name.as_bytes()[0].is_ascii_digit();
    if is_plain { Ok(()) } else { Err(TableNamesError::Invalid(name.to_owned())) }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableNamesError {
    #[error(
        "{0:?} cannot name a table or schema: use 1 to 40 small letters, digits and underscores, not a digit first"
    )]
    Invalid(String),
    #[error("two tables have the name {0}")]
    Doubled(String),
}

/// Names that fit, each with its schema.
pub(crate) struct ResolvedNames {
    pub events_schema: String,
    pub events: String,
    tables: Vec<(&'static str, (String, String))>,
}

const FUNCTIONS: [&str; 6] = ["append", "try_append", "frontier", "read", "holders", "announcement"];

impl ResolvedNames {
    pub fn schemas(&self) -> BTreeSet<&str> {
        self.tables.iter().map(|(_, (schema, _))| schema.as_str()).collect()
    }

    /// Replaces `@name@` by what it is called here. Every such name is one of ours, and a wrong one is left for the
    /// database to refuse.
    pub fn render(&self, template: &str) -> String {
        let mut text = String::with_capacity(template.len() * 2);
        for (nth, part) in template.split('@').enumerate() {
            match (nth % 2 == 1).then(|| self.named(part)).flatten() {
                Some(name) => text.push_str(&name),
                None => text.push_str(part),
            }
        }
        text
    }

    fn named(&self, name: &str) -> Option<String> {
        if let Some((table, index)) = name.split_once('.') {
            let (_, table) = self.table(table)?;
            return Some(format!("\"{table}_{index}\""));
        }
        if FUNCTIONS.contains(&name) {
            return Some(format!("\"{}\".\"{}_{name}\"", self.events_schema, self.events));
        }
        if name == "announced_setting" {
            return Some(format!("'foreman_eventlog.{}_{}'", self.events_schema, self.events));
        }
        if let Some(table) = name.strip_suffix("_text") {
            let (schema, table) = self.table(table)?;
            return Some(format!("'\"{schema}\".\"{table}\"'"));
        }
        let (schema, table) = self.table(name)?;
        Some(format!("\"{schema}\".\"{table}\""))
    }

    pub fn table(&self, name: &str) -> Option<&(String, String)> {
        self.tables.iter().find(|(known, _)| *known == name).map(|(_, table)| table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_in_the_schema_it_names_or_else_in_that_of_the_log() {
        let names = TableNames::default().schema("sales").events("history.orders").resolve().expect("they fit");
        assert_eq!(names.render("@events@ @heads@"), "\"history\".\"orders\" \"sales\".\"stream_heads\"");
        assert_eq!(
            names.render("@append@ @positions@"),
            "\"history\".\"orders_append\" \"history\".\"orders_positions\""
        );
        assert_eq!(names.render("@events.x_idx@ @events_text@"), "\"orders_x_idx\" '\"history\".\"orders\"'");
        assert_eq!(names.schemas().into_iter().collect::<Vec<_>>(), ["history", "sales"]);
    }

    #[test]
    fn a_name_that_needs_quoting_is_refused() {
        for name in ["", "Events", "a b", "a\"b", "1st", "a.b.c", "a.", ".a", "a;drop", &"x".repeat(41)] {
            let refused = TableNames::default().events(name).resolve();
            assert!(matches!(refused, Err(TableNamesError::Invalid(_))), "{name:?}");
        }
    }

    #[test]
    fn two_tables_cannot_have_one_name() {
        let refused = TableNames::default().worker_nodes("events").resolve();
        assert_eq!(refused.err(), Some(TableNamesError::Doubled("public.events".into())));
        assert!(TableNames::default().worker_nodes("events_log").resolve().is_err(), "one that is made from another");
    }
}
