//! Rows as the store writes them, learned from rows that it wrote.
//!
//! The raw bound inserts rows by hand. Which columns they have is not written down here: a job is taken through its
//! life by the store first, and its rows are the pattern. A migration that adds a column, or a store that fills one
//! more, changes the pattern with it.

use anyhow::{Context as _, Result, ensure};
use tokio_postgres::Client;

/// The columns of a table that the store fills, each with a value of it as SQL.
pub struct Pattern {
    pub table: &'static str,
    columns: Vec<PatternColumn>,
}

struct PatternColumn {
    name: String,
    kind: String,
    literal: String,
}

impl Pattern {
    /// Of one row of the table.
    pub async fn of(sql: &Client, table: &'static str) -> Result<Self> {
        let described = sql
            .query(
                "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute
                 WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attidentity = ''
                 ORDER BY attnum",
                &[&table],
            )
            .await?;
        let described: Vec<(String, String)> = described.iter().map(|row| (row.get(0), row.get(1))).collect();
        let values: Vec<String> = described.iter().map(|(name, _)| format!("quote_literal({name}::text)")).collect();
        let row = sql.query_opt(&format!("SELECT {} FROM {table} LIMIT 1", values.join(", ")), &[]).await?;
        let row = row.with_context(|| format!("the store wrote no row of {table}"))?;
        let columns = described.into_iter().enumerate().filter_map(|(place, (name, kind))| {
            let literal = row.get::<_, Option<String>>(place)?;
            Some(PatternColumn { literal: format!("{literal}::{kind}"), name, kind })
        });
        Ok(Self { table, columns: columns.collect() })
    }

    /// The value that a column has, as SQL.
    pub fn literal(&self, column: &str) -> Result<&str> {
        let found = self.columns.iter().find(|known| known.name == column);
        Ok(&found.with_context(|| format!("{} has no value in {column}", self.table))?.literal)
    }

    /// An insert that selects `given` (column, expression) and otherwise what the pattern has, from `from`.
    pub fn insert(&self, given: &[(&str, &str)], from: &str) -> Result<String> {
        self.insert_into(self.table, given, from)
    }

    /// The same into another table that has its columns.
    pub fn insert_into(&self, table: &str, given: &[(&str, &str)], from: &str) -> Result<String> {
        for (name, _) in given {
            ensure!(self.columns.iter().any(|column| column.name == *name), "{} has no {name}", self.table);
        }
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        let value = |column: &PatternColumn| {
            let expression = given.iter().find(|(name, _)| *name == column.name);
            expression
                .map_or_else(|| column.literal.clone(), |(_, expression)| format!("({expression})::{}", column.kind))
        };
        let values: Vec<String> = self.columns.iter().map(value).collect();
        Ok(format!("INSERT INTO {table} ({}) SELECT {} FROM {from}", names.join(", "), values.join(", ")))
    }
}
