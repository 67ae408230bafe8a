//! Pages of lists that are walked by a name or a time.

use foreman_core::document::ListDocument;
use serde::Deserialize;

use crate::problem::Problem;

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 500;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageParams {
    /// How many per page.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<usize>,
    /// `next` of the previous page, unchanged.
    #[serde(alias = "after")]
    cursor: Option<String>,
}

impl PageParams {
    pub fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit)
    }

    pub fn cursor<T: std::str::FromStr>(&self) -> Result<Option<T>, Problem> {
        cursor(self.cursor.as_deref())
    }
}

pub(crate) fn limit(given: Option<usize>) -> Result<usize, Problem> {
    let limit = given.unwrap_or(DEFAULT_LIMIT);
    if (1..=MAX_LIMIT).contains(&limit) {
        return Ok(limit);
    }
    Err(Problem::invalid_request(format!("in the query: limit: must be between 1 and {MAX_LIMIT}")))
}

pub(crate) fn cursor<T: std::str::FromStr>(given: Option<&str>) -> Result<Option<T>, Problem> {
    let read = given.map(str::parse).transpose();
    read.map_err(|_| Problem::invalid_request("in the query: cursor: is not the `next` of an earlier page"))
}

/// One more than was asked for tells whether there is a next page.
pub(crate) fn page_of<T>(mut items: Vec<T>, limit: usize, cursor: impl Fn(&T) -> String) -> ListDocument<T> {
    let is_more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| is_more).map(cursor);
    ListDocument { items, next }
}
