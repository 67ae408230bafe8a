//! Values that must not be seen: not in `foreman check`, not in a log, not in a panic.

use std::collections::BTreeSet;

use foreman_core::sealed::Keyring;
use foreman_core::secret::Secret;

use super::codec::{self, Codec};

/// Settings whose values are secrets.
const SECRETS: [&str; 9] = [
    "admin_key",
    "secret_key",
    "database.url",
    "database.direct_url",
    "kafka.password",
    "kafka.tls_key_password",
    "redis.url",
    "redis.password",
    "redis.sentinel_password",
];

/// `name=value` as it may be repeated: without its value, if that is a secret.
pub fn without_value(pair: &str) -> &str {
    match pair.split_once('=') {
        Some((name, _)) if SECRETS.contains(&name.trim()) => name,
        _ => pair,
    }
}

/// The shortest admin key. One that a person would think up is not much of a key.
const SHORTEST_KEY: usize = 24;
/// Of 24 random hexadecimal digits fewer are different once in a hundred million times.
const FEWEST_LETTERS: usize = 6;

/// A key, or `"none"`. Shown as `"hidden"`.
pub fn key() -> Codec<Option<Secret>> {
    let Codec { read, .. } = codec::text();
    Codec {
        // What was given is never repeated: it is a key, if perhaps a bad one.
        read: Box::new(move |raw| match read(raw).map_err(|_| "it is not text, or empty")?.as_str() {
            "none" => Ok(None),
            text if text.len() < SHORTEST_KEY => Err(format!(
                "it is too short: it needs at least {SHORTEST_KEY} characters, such as the output of `openssl rand -hex 24`"
            )),
            text if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Err("it has characters that cannot be sent in a header; use letters, digits and punctuation, no spaces"
                    .into())
            }
            text if text.bytes().collect::<BTreeSet<u8>>().len() < FEWEST_LETTERS => Err(format!(
                "it is easy to guess: it has fewer than {FEWEST_LETTERS} different characters; use the output of `openssl rand -hex 24`"
            )),
            text => Ok(Some(Secret::new(text))),
        }),
        show: |value| codec::quoted(if value.is_some() { "hidden" } else { "none" }),
    }
}

/// What somebody else asks us for, or `"none"`. Shown as `"hidden"`.
pub fn password() -> Codec<Option<Secret>> {
    let Codec { read, .. } = codec::text();
    Codec {
        read: Box::new(move |raw| {
            let text = read(raw).map_err(|_| "it is not text, or empty")?;
            Ok(Some(text).filter(|text| text != "none").map(Secret::new))
        }),
        show: |value| codec::quoted(if value.is_some() { "hidden" } else { "none" }),
    }
}

/// Master keys separated by commas, the sealing one first, or `"none"`. Shown as `"hidden"`.
pub fn keyring() -> Codec<Option<Keyring>> {
    let Codec { read, .. } = codec::text();
    Codec {
        read: Box::new(move |raw| match read(raw).map_err(|_| "it is not text, or empty")?.as_str() {
            "none" => Ok(None),
            text => text.parse().map(Some).map_err(|error: foreman_core::sealed::NotAKeyring| error.to_string()),
        }),
        show: |value| codec::quoted(if value.is_some() { "hidden" } else { "none" }),
    }
}

/// Where a Postgres is, or `"none"`. Shown without its password.
pub fn postgres_url() -> Codec<Option<Secret>> {
    let Codec { read, .. } = codec::text();
    Codec {
        read: Box::new(move |raw| match read(raw).map_err(|_| "it is not text, or empty")?.as_str() {
            "none" => Ok(None),
            text if is_postgres(text) => Ok(Some(Secret::new(text))),
            _ => Err("it is not a Postgres URL; write it like postgres://user:password@host:5432/name".into()),
        }),
        show: |value| {
            codec::quoted(&value.as_ref().map_or_else(|| "none".into(), |url| without_password(url.reveal())))
        },
    }
}

/// Where a Redis is, or `"none"`. Shown without its password.
pub fn redis_url() -> Codec<Option<Secret>> {
    let Codec { read, .. } = codec::text();
    Codec {
        read: Box::new(move |raw| match read(raw).map_err(|_| "it is not text, or empty")?.as_str() {
            "none" => Ok(None),
            text if text.starts_with("redis://") || text.starts_with("rediss://") => Ok(Some(Secret::new(text))),
            _ => {
                Err("it is not a Redis URL; write it like redis://user:password@host:6379/0, or rediss:// for TLS"
                    .into())
            }
        }),
        show: |value| {
            codec::quoted(&value.as_ref().map_or_else(|| "none".into(), |url| without_password(url.reveal())))
        },
    }
}

fn is_postgres(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// The address with everything that could be a password replaced.
pub fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    // A password in the clear may hold anything: the last @ ends it, wherever it stands. Too much hidden is no harm.
    let (who, place) = match rest.rsplit_once('@') {
        Some((who, place)) if who.contains(['=', '?']) => (Some("hidden".to_owned()), place),
        Some((who, place)) => {
            (Some(who.split_once(':').map_or_else(|| who.to_owned(), |(user, _)| format!("{user}:hidden"))), place)
        }
        None => (None, rest),
    };
    let (place, query) = place.split_once('?').map_or((place, None), |(place, query)| (place, Some(query)));
    let rest = who.map_or_else(|| place.to_owned(), |who| format!("{who}@{place}"));
    let query: Option<Vec<String>> = query.map(|query| {
        query
            .split('&')
            .map(|pair| match pair.split_once('=') {
                Some((name, _)) if name.to_lowercase().contains("password") => format!("{name}=hidden"),
                _ => pair.to_owned(),
            })
            .collect()
    });
    match query {
        Some(query) => format!("{scheme}://{rest}?{}", query.join("&")),
        None => format!("{scheme}://{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::codec::Raw;

    #[test]
    fn no_password_is_ever_shown() {
        for (url, shown) in [
            ("postgres://u:p@h:5432/d", "postgres://u:hidden@h:5432/d"),
            ("postgres://u:p@ss:w@h/d?sslmode=require", "postgres://u:hidden@h/d?sslmode=require"),
            ("postgresql://u@h1,h2/d", "postgresql://u@h1,h2/d"),
            ("postgres://h/d?user=u&password=p&x=1", "postgres://h/d?user=u&password=hidden&x=1"),
            ("postgres://h/d?sslpassword=p", "postgres://h/d?sslpassword=hidden"),
            ("postgres:///d", "postgres:///d"),
            ("postgres://u:p?q@h/d", "postgres://hidden@h/d"),
            ("postgres://h/d?password=p@q", "postgres://hidden@q"),
        ] {
            assert_eq!(without_password(url), shown);
        }
        let codec = postgres_url();
        let read = (codec.read)(Raw::Text("postgres://u:sesame@h/d")).expect("an address");
        assert!(!(codec.show)(&read).contains("sesame") && !format!("{read:?}").contains("sesame"));
        let key = key();
        let read = (key.read)(Raw::Text("open-sesame-open-sesame-open")).expect("a key");
        assert_eq!((key.show)(&read), "\"hidden\"");
        assert!(!format!("{read:?}").contains("sesame"));
    }

    #[test]
    fn a_ring_of_master_keys_is_read_and_never_shown() {
        let ring = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
        let codec = keyring();
        let read = (codec.read)(Raw::Text(ring)).expect("a ring");
        assert_eq!((codec.show)(&read), "\"hidden\"");
        assert!(!format!("{read:?}").contains(ring));
        assert!((codec.read)(Raw::Text("none")).expect("none").is_none());
        let said = (codec.read)(Raw::Text("sesame")).expect_err("too short");
        assert!(said.contains("openssl rand -base64 32") && !said.contains("sesame"), "{said}");
    }

    #[test]
    fn a_key_is_long_and_can_be_sent() {
        for (given, expected) in [
            ("sesame", "24 characters"),
            ("sesame sesame sesame sesame", "no spaces"),
            ("sesamesesamesesamesesamesesame", "easy to guess"),
            ("aaaaaaaaaaaaaaaaaaaaaaaa", "easy to guess"),
        ] {
            let said = (key().read)(Raw::Text(given)).expect_err(given);
            assert!(said.contains(expected) && !said.contains("sesame"), "{said}");
        }
    }

    #[test]
    fn neither_the_address_of_redis_nor_its_passwords_give_anything_away() {
        for (url, shown) in [
            ("redis://default:sesame@h:6379/0", "\"redis://default:hidden@h:6379/0\""),
            ("rediss://:sesame@h", "\"rediss://:hidden@h\""),
            ("redis://h:6379", "\"redis://h:6379\""),
        ] {
            let codec = redis_url();
            assert_eq!((codec.show)(&(codec.read)(Raw::Text(url)).expect("an address")), shown);
        }
        for given in ["http://u:sesame@h", "h:6379", "sesame"] {
            let said = (redis_url().read)(Raw::Text(given)).expect_err(given);
            assert!(said.contains("redis://") && !said.contains("sesame"), "{said}");
        }
        let codec = password();
        assert_eq!((codec.show)(&(codec.read)(Raw::Text("sesame")).expect("a password")), "\"hidden\"");
    }

    #[test]
    fn an_address_of_something_else_is_refused_without_repeating_it() {
        for given in ["mysql://u:sesame@h/d", "h/d", "postgres:sesame"] {
            let said = (postgres_url().read)(Raw::Text(given)).expect_err(given);
            assert!(said.contains("postgres://") && !said.contains("sesame"), "{said}");
        }
    }
}
