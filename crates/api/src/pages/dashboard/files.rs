//! The files, and how one is answered: as what it is, again only when it has changed, and small to whoever takes it so.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use foreman_runtime::Tasks;
use http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};
use rust_embed::RustEmbed;
use tokio::sync::OnceCell;

/// What `make dashboard` makes.
#[derive(RustEmbed)]
#[folder = "../../dashboard/dist"]
#[allow_missing = true]
struct Built;

/// Below this the header of the smaller answer costs more than it saves.
const WORTH_IT: usize = 1_024;

/// A build of the dashboard, or none. Clones are the same.
#[derive(Clone, Default)]
pub struct Dashboard(Arc<BTreeMap<String, File>>);

pub(super) struct File {
    media_type: &'static str,
    /// Of what is in it, without quotes.
    tag: String,
    /// Its name changes with what is in it: whoever has it need not ask again.
    is_named_by_content: bool,
    bytes: Bytes,
    /// The same compressed, made when it is first asked for; none when that would be no smaller.
    small: OnceCell<Option<Bytes>>,
}

impl Dashboard {
    /// What was built before this binary was; in a debug build, what is built now.
    pub fn built() -> Self {
        let files = Built::iter().filter_map(|path| {
            let file = Built::get(&path)?;
            Some((path.into_owned(), file.data, file.metadata.sha256_hash()))
        });
        Self::of(files)
    }

    /// These files: path, content, and a hash of it.
    pub fn of(files: impl IntoIterator<Item = (String, Cow<'static, [u8]>, [u8; 32])>) -> Self {
        let files = files.into_iter().map(|(path, content, hash)| {
            let file = File::new(&path, content, hash);
            (path, file)
        });
        Self(Arc::new(files.collect()))
    }

    /// The document behind every page.
    pub(super) fn page(&self) -> Option<&File> {
        self.0.get("index.html")
    }

    /// One of the files that it loads.
    pub(super) fn asset(&self, path: &str) -> Option<&File> {
        self.0.get(&format!("assets/{path}"))
    }
}

impl File {
    fn new(path: &str, content: Cow<'static, [u8]>, hash: [u8; 32]) -> Self {
        Self {
            media_type: media_type(path),
            tag: format!("{:x}", u128::from_be_bytes(std::array::from_fn(|place| hash[place]))),
            is_named_by_content: is_named_by_content(path),
            bytes: match content {
                Cow::Borrowed(bytes) => Bytes::from_static(bytes),
                Cow::Owned(bytes) => bytes.into(),
            },
            small: OnceCell::new(),
        }
    }

    pub(super) async fn answer(&self, headers: &HeaderMap, tasks: &Tasks) -> Response {
        let small = if takes_gzip(headers) { self.small(tasks).await } else { None };
        // Two answers that differ in a byte have different tags.
        let tag = if small.is_some() { format!("\"{}-gzip\"", self.tag) } else { format!("\"{}\"", self.tag) };
        let mut response = if is_known(headers, &tag) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let mut response = Response::new(Body::from(small.as_ref().unwrap_or(&self.bytes).clone()));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.media_type));
            if small.is_some() {
                response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            response
        };
        let cached = if self.is_named_by_content { "public, max-age=31536000, immutable" } else { "no-cache" };
        let headers = response.headers_mut();
        headers.insert(ETAG, HeaderValue::try_from(tag).expect("hex digits in quotes are visible"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(cached));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        response
    }

    async fn small(&self, tasks: &Tasks) -> Option<Bytes> {
        if self.bytes.len() < WORTH_IT || !is_text(self.media_type) {
            return None;
        }
        let make = || async {
            let bytes = self.bytes.clone();
            // Half a megabyte takes as long as many requests do.
            tasks.spawn_blocking("compress", move || compressed(&bytes)).await.ok().flatten()
        };
        self.small.get_or_init(make).await.clone()
    }
}

fn compressed(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    let small = encoder.finish().ok()?;
    (small.len() < bytes.len()).then(|| small.into())
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json" | "map") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("txt") => "text/plain; charset=utf-8",
        Some("woff2") => "font/woff2",
        Some("png") => "image/png",
        Some("ico") => "image/vnd.microsoft.icon",
        _ => "application/octet-stream",
    }
}

/// What is not compressed already.
fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/") || media_type.contains("json") || media_type == "image/svg+xml"
}

/// As Vite names what it builds: `index-D0o6KwHs.js`. A word of eight small letters is a word, and asked for again.
fn is_named_by_content(path: &str) -> bool {
    let Some(name) = path.strip_prefix("assets/") else { return false };
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let Some((rest, hash)) = stem.len().checked_sub(8).and_then(|place| stem.split_at_checked(place)) else {
        return false;
    };
    rest.ends_with('-')
        && hash.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        && hash.bytes().any(|byte| !byte.is_ascii_lowercase())
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_it = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip") || name == "*");
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        is_it && weight.is_none_or(|weight| weight.parse().is_ok_and(|weight: f64| weight > 0.0))
    })
}

fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let lists = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|one| {
        let one = one.trim();
        one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_vite_named_by_its_content_is_never_asked_for_again() {
        for (path, expected) in [
            ("assets/index-DEdepR4r.js", true),
            ("assets/DeadPage-BNc-7bQ4.js", true),
            ("assets/feed.worker-BtVpzakB.js", true),
            ("assets/SignInPage-D_bWRw_O.js", true),
            ("assets/favicon-Dpuv-9QT.svg", true),
            ("assets/some-lettered.js", false),
            ("assets/index.js", false),
            ("assets/abc.js", false),
            ("assets/ümlaut-ümlautüm.js", false),
            ("index-DEdepR4r.html", false),
            ("index.html", false),
        ] {
            assert_eq!(is_named_by_content(path), expected, "{path}");
        }
    }

    #[test]
    fn only_who_says_so_is_sent_gzip() {
        for (value, expected) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("*", true),
            ("gzip;q=0", false),
            ("gzip; q=0.000, br", false),
            ("gzip;q=much", false),
            ("br, zstd", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(value))]);
            assert_eq!(takes_gzip(&headers), expected, "{value}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
