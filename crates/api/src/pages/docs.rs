//! The reference: the OpenAPI document, a page that shows it, and a page for each problem.
//!
//! Everything is in the binary; a page loads nothing from anywhere else, and its policy forbids it to.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue};

use crate::app::App;
use crate::openapi::openapi;
use crate::problem::{Kind, Problem};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/openapi.json", get(document))
        .route("/docs", page("text/html; charset=utf-8", include_str!("../../assets/docs.html")))
        .route("/docs/app.js", page("text/javascript; charset=utf-8", include_str!("../../assets/docs.js")))
        .route("/docs/style.css", page("text/css; charset=utf-8", include_str!("../../assets/style.css")))
        .route("/errors/{name}", get(explanation))
}

fn page(media_type: &'static str, text: &'static str) -> MethodRouter<App> {
    get(move || async move { served(media_type, Bytes::from_static(text.as_bytes())) })
}

/// A page of ours: shown as what it is, and nothing from elsewhere in it.
pub(crate) fn served(media_type: &'static str, text: Bytes) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (
            CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("default-src 'self'; frame-ancestors 'none'; base-uri 'none'"),
        ),
    ];
    (headers, text).into_response()
}

async fn document() -> Response {
    static DOCUMENT: LazyLock<Bytes> =
        LazyLock::new(|| openapi().to_json().expect("the document is plain data with text keys").into());
    served("application/json", DOCUMENT.clone())
}

/// The page of a problem: for a browser as HTML, for anyone else as it was written.
async fn explanation(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, Problem> {
    let text = Kind::ALL.into_iter().find(|kind| kind.slug() == name).map(Kind::page).ok_or_else(|| {
        Problem::new(Kind::NotFound, format!("there is no problem named {name:?}; /docs lists all of them"))
    })?;
    let wants_html =
        headers.get(ACCEPT).is_some_and(|accept| accept.as_bytes().windows(9).any(|part| part == b"text/html"));
    Ok(if wants_html {
        served("text/html; charset=utf-8", html(text).into())
    } else {
        served("text/markdown; charset=utf-8", Bytes::from_static(text.as_bytes()))
    })
}

/// As much of Markdown as our pages use: headings, paragraphs, lists, fenced code, and `code`.
fn html(markdown: &str) -> String {
    let mut out = String::from(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Foreman: a problem</title><link rel=\"stylesheet\" \
         href=\"/docs/style.css\"></head><body><main>\n",
    );
    let mut open = "";
    let mut in_code = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            close(&mut out, &mut open);
            out.push_str(if in_code { "</code></pre>\n" } else { "<pre><code>" });
            in_code = !in_code;
        } else if in_code {
            out.push_str(&escaped(line));
            out.push('\n');
        } else if line.is_empty() {
            close(&mut out, &mut open);
        } else if let Some(title) = line.strip_prefix("# ") {
            out.push_str(&format!("<h1>{}</h1>\n", inline(title)));
        } else if let Some(title) = line.strip_prefix("## ") {
            out.push_str(&format!("<h2>{}</h2>\n", inline(title)));
        } else if let Some(item) = line.strip_prefix("- ") {
            if open != "ul" {
                close(&mut out, &mut open);
                out.push_str("<ul>\n");
                open = "ul";
            }
            out.push_str(&format!("<li>{}\n", inline(item)));
        } else {
            if open.is_empty() {
                out.push_str("<p>");
                open = "p";
            }
            out.push_str(&inline(line));
            out.push('\n');
        }
    }
    close(&mut out, &mut open);
    out.push_str("<p><a href=\"/docs\">All operations</a></p></main></body></html>\n");
    out
}

fn close(out: &mut String, open: &mut &str) {
    if !open.is_empty() {
        out.push_str(&format!("</{open}>\n"));
        *open = "";
    }
}

/// Every second piece between backticks is code.
fn inline(line: &str) -> String {
    let mut out = String::new();
    for (place, piece) in line.split('`').enumerate() {
        let piece = escaped(piece);
        if place % 2 == 1 {
            out.push_str(&format!("<code>{piece}</code>"));
        } else {
            out.push_str(&piece);
        }
    }
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_shown_as_html_and_nothing_in_it_becomes_markup() {
        let page = html("# A `b` c\n\nOne\ntwo <x>.\n\n- first\n- second `<y>`\n\n```json\n{\"a\": \"<z>\"}\n```\n");
        for part in [
            "<h1>A <code>b</code> c</h1>",
            "<p>One\ntwo &lt;x&gt;.\n</p>",
            "<ul>\n<li>first\n<li>second <code>&lt;y&gt;</code>\n</ul>",
            "<pre><code>{\"a\": \"&lt;z&gt;\"}\n</code></pre>",
        ] {
            assert!(page.contains(part), "{part} not in {page}");
        }
    }
}
