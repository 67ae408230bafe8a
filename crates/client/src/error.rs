//! Why a call gave no answer, split by what a caller would do.

use std::error::Error as _;

use foreman_protocol::document::ProblemDocument;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server understood and refused: tell the user, or look at `status` and `kind`.
    #[error("{}", sentence(.0))]
    Problem(Box<ProblemDocument>),
    /// Nobody answered, or not in time: try again later. Whether a write took place is unknown.
    #[error("no response from {url}: {why}")]
    Away { url: String, why: String },
    /// Something answered that does not speak as a Foreman server does: give up and look at the address.
    #[error("{url} did not respond like a Foreman server: {why}")]
    BadAnswer { url: String, why: String },
    /// The client could not be made as asked.
    #[error("{0}")]
    Setup(String),
}

impl Error {
    /// The status of the server's refusal.
    pub fn status(&self) -> Option<u16> {
        match self {
            Error::Problem(problem) => Some(problem.status),
            Error::Away { .. } | Error::BadAnswer { .. } | Error::Setup(_) => None,
        }
    }

    pub fn is_away(&self) -> bool {
        matches!(self, Error::Away { .. })
    }

    pub(crate) fn of_transport(url: &url::Url, error: &reqwest::Error) -> Self {
        Error::Away { url: url.origin().ascii_serialization(), why: reason(error) }
    }
}

/// The innermost cause is what helps: "connection refused", not "error sending request".
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "timed out".into();
    }
    let mut cause = error.source();
    let mut innermost = error.to_string();
    while let Some(inner) = cause {
        innermost = inner.to_string();
        cause = inner.source();
    }
    innermost
}

fn sentence(problem: &ProblemDocument) -> String {
    let mut text = if problem.detail.is_empty() { problem.title.clone() } else { problem.detail.clone() };
    // A detail that already lists them needs no second list.
    let missing = problem.errors.iter().filter(|mistake| !problem.detail.contains(&mistake.detail));
    for mistake in missing {
        text.push_str(&format!("\n  {}: {}", mistake.pointer.trim_start_matches('/'), mistake.detail));
    }
    text
}

#[cfg(test)]
mod tests {
    use foreman_protocol::spec::Mistake;

    use super::*;

    #[test]
    fn a_refusal_tells_every_mistake() {
        let problem = ProblemDocument {
            kind: "/errors/invalid-job".into(),
            title: "Invalid job".into(),
            status: 422,
            detail: "the job has 2 mistakes".into(),
            instance: None,
            errors: vec![
                Mistake { pointer: "/url".into(), detail: "is not a URL".into() },
                Mistake { pointer: "/queue".into(), detail: "is too long".into() },
            ],
            state: None,
            version: None,
            scope: None,
        };
        let error = Error::Problem(Box::new(problem));
        assert_eq!(error.to_string(), "the job has 2 mistakes\n  url: is not a URL\n  queue: is too long");
        assert_eq!(error.status(), Some(422));
    }
}
