//! One turn of each ratio that CI watches on SQLite: the same rows by plain SQL, or the same requests to a server that keeps
//! nothing, beside `foreman dev`.

use anyhow::Result;

use super::raw::Raw;
use super::{Dev, SLOTS};
use crate::jobs::BATCH;
use crate::load::{self, per_second};
use crate::postgres::submit;
use crate::process::scratch;
use crate::quick::{Turn, TurnSize};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqliteGate {
    EndToEnd,
    SubmitSingle,
}

const CONNECTIONS: usize = 64;

impl SqliteGate {
    pub const ALL: [Self; 2] = [Self::EndToEnd, Self::SubmitSingle];

    pub fn key(self) -> &'static str {
        match self {
            Self::EndToEnd => "sqlite.end_to_end",
            Self::SubmitSingle => "sqlite.submit_single",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            Self::EndToEnd => "submitted in batches, run, settled / rows inserted and moved by plain SQL",
            Self::SubmitSingle => "one job per request, 64 connections / a bare server that answers 202",
        }
    }

    pub async fn turn(self, size: TurnSize) -> Result<Turn> {
        let jobs = (size.jobs / 2).next_multiple_of(BATCH);
        match self {
            Self::EndToEnd => {
                let directory = tempfile::tempdir_in(scratch()?)?;
                let mut raw = Raw::learn(&directory.path().join("foreman.db")).await?;
                let floor = per_second(jobs, raw.fill(jobs)? + raw.drain(jobs)?);
                let dev = Dev::start(&["--slots", &SLOTS.to_string()]).await?;
                let ours = load::end_to_end(dev.address(), &[dev.address()], jobs).await?;
                dev.stop().await?;
                Ok(Turn { floor, ours, cpu: None })
            }
            Self::SubmitSingle => {
                let floor = submit::to_bare_server(4 * jobs, CONNECTIONS).await?;
                let dev = Dev::start(&[]).await?;
                let ours = load::submit_single(dev.address(), jobs, CONNECTIONS).await?;
                dev.stop().await?;
                Ok(Turn { floor, ours, cpu: None })
            }
        }
    }
}
