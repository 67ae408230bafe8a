//! Walks through a listing, one page at a time, so that a million jobs need the memory of one page.

use foreman_protocol::document::{FilterDocument, JobDocument};

use crate::{Client, Error};

/// The most the server gives at once.
const PAGE: usize = 500;

#[derive(Debug)]
pub struct Pages<'a> {
    client: &'a Client,
    filter: FilterDocument,
    next: NextPage,
}

#[derive(Debug)]
enum NextPage {
    First,
    After(String),
    Over,
}

impl<'a> Pages<'a> {
    pub(crate) fn new(client: &'a Client, filter: FilterDocument) -> Self {
        Self { client, filter, next: NextPage::First }
    }

    /// The next page; `None` after the last. After an error the same page is asked for again.
    pub async fn next(&mut self) -> Result<Option<Vec<JobDocument>>, Error> {
        let after = match &self.next {
            NextPage::First => None,
            NextPage::After(cursor) => Some(cursor.as_str()),
            NextPage::Over => return Ok(None),
        };
        let page = self.client.list(&self.filter, PAGE, after).await?;
        self.next = page.next.map_or(NextPage::Over, NextPage::After);
        Ok(Some(page.items))
    }
}
