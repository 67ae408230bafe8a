//! Waiting for many jobs to end, over one stream.
//!
//! The stream is opened first and then it is looked how the jobs stand, so nothing falls between the two. A server without a
//! stream, a key that may not open one, a tenant that has too many of them, or a proxy that holds back what it carries: then
//! the jobs are waited for one after the other by long polls, which say the same later.

use std::collections::BTreeMap;
use std::time::Duration;

use foreman_protocol::document::JobDocument;
use tokio::time::{Instant, sleep, timeout_at};

use crate::stream::{Event, Follow, StreamItem};
use crate::wait::{PATIENCE, PAUSE, is_passing, left};
use crate::{Client, Error};

/// More than these do not fit into an address that every proxy lets through. Then everything is followed.
const MOST_NAMED: usize = 100;
/// The server greets at once. A stream on which nothing is heard for so long is held back somewhere.
const GREETING: Duration = Duration::from_secs(5);

impl Client {
    /// Waits until all of these jobs are final, at most for `timeout`, and then answers with the jobs as they are, in the
    /// same order: look at their states.
    pub async fn wait_for(
        &self,
        ids: &[impl AsRef<str>],
        timeout: Option<Duration>,
    ) -> Result<Vec<JobDocument>, Error> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let mut ends = Ends {
            client: self,
            open: ids.iter().map(|id| (id.as_ref().to_owned(), false)).collect(),
            ended: BTreeMap::new(),
        };
        if !ends.open.is_empty() {
            ends.follow(deadline).await?;
        }
        let mut jobs = Vec::with_capacity(ids.len());
        for id in ids.iter().map(AsRef::as_ref) {
            jobs.push(match ends.ended.get(id) {
                Some(job) => job.clone(),
                // No time left, or no stream: the answer is the job as it is.
                None => self.wait(id, deadline.map(left)).await?,
            });
        }
        Ok(jobs)
    }

    /// One job, read through a short outage.
    async fn get_patiently(&self, id: &str) -> Result<JobDocument, Error> {
        let since = Instant::now();
        loop {
            match self.get(id).await {
                Err(error) if is_passing(&error) && since.elapsed() < PATIENCE => sleep(PAUSE).await,
                answer => return answer,
            }
        }
    }
}

struct Ends<'a> {
    client: &'a Client,
    /// Those that are waited for, and whether the stream has named them.
    open: BTreeMap<String, bool>,
    ended: BTreeMap<String, JobDocument>,
}

impl Ends<'_> {
    /// Until all have ended, the time is over, or the stream turns out to be of no use.
    async fn follow(&mut self, deadline: Option<Instant>) -> Result<(), Error> {
        let are_named = self.open.len() <= MOST_NAMED;
        let follow =
            if are_named { Follow::everything().jobs(self.open.keys()).with_snapshot() } else { Follow::everything() };
        let mut stream = match self.client.stream(follow.with_patience(PATIENCE)).await {
            Ok(stream) => stream,
            // Whoever is away for this is away for everything.
            Err(error) if error.is_away() => return Err(error),
            Err(_) => return Ok(()),
        };
        let far = Instant::now() + Duration::from_hours(24 * 365);
        let greeting = Instant::now() + GREETING;
        let (mut is_greeted, mut has_looked) = (false, are_named);
        while !self.open.is_empty() {
            let until = deadline.unwrap_or(far).min(if is_greeted { far } else { greeting });
            let item = match timeout_at(until, stream.next()).await {
                Ok(Ok(item)) => item,
                // It may be the stream alone that is refused by now: the long poll will tell.
                Ok(Err(error)) if !error.is_away() => return Ok(()),
                Ok(Err(error)) => return Err(error),
                Err(_) if deadline.is_none_or(|deadline| Instant::now() < deadline) && is_greeted => continue,
                Err(_) => return Ok(()),
            };
            let StreamItem::Event(received) = item else { continue };
            is_greeted = true;
            match received.event {
                Event::Job(job) => {
                    let Some(is_named) = self.open.get_mut(&job.id) else { continue };
                    *is_named = true;
                    if job.state.is_final() {
                        self.look_at(&job.id).await?;
                    }
                }
                // Those that it did not name are not there, or came to be in this moment.
                Event::Snapshot(_) => self.look(|is_named| !is_named).await?,
                Event::Reset(_) => self.look(|_| true).await?,
                _ => {}
            }
            if !std::mem::replace(&mut has_looked, true) {
                self.look(|_| true).await?;
            }
        }
        Ok(())
    }

    async fn look(&mut self, wanted: impl Fn(bool) -> bool) -> Result<(), Error> {
        let ids: Vec<String> =
            self.open.iter().filter(|(_, named)| wanted(**named)).map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.look_at(&id).await?;
        }
        Ok(())
    }

    /// One that was retried in the meantime is waited for again.
    async fn look_at(&mut self, id: &str) -> Result<(), Error> {
        let job = self.client.get_patiently(id).await?;
        if job.state.is_final() {
            self.open.remove(id);
            self.ended.insert(id.to_owned(), job);
        }
        Ok(())
    }
}
