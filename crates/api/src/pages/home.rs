//! What a browser finds where there is no dashboard: what this is, where to go on, and how to build one.

use axum::extract::Request;
use axum::response::Response;

use crate::gate::host::host;
use crate::pages::docs::served;

const HOME: &str = include_str!("../../assets/home.html");

/// What the page says when it does not know how it was reached.
const USUAL: &str = "127.0.0.1:8080";

/// With the address it was reached by, so that the lines can be copied as they stand.
pub(crate) fn home(request: &Request) -> Response {
    let here = host(request).filter(|host| is_plain(host)).unwrap_or(USUAL);
    served("text/html; charset=utf-8", HOME.replace(USUAL, here).into())
}

/// Nothing that a page or a shell would read as more than an address.
fn is_plain(host: &str) -> bool {
    !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:[]-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_usual_address_to_put_the_real_one_in_place_of() {
        assert!(HOME.contains(USUAL));
    }

    #[test]
    fn an_address_that_means_more_is_not_repeated() {
        for (host, expected) in
            [("localhost:9090", true), ("[::1]:80", true), ("<b>", false), ("a'b.localhost", false), ("", false)]
        {
            assert_eq!(is_plain(host), expected, "{host}");
        }
    }
}
