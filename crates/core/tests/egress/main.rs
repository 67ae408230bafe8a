//! Every spelling that we know of, against the policy as it comes.

use std::collections::HashSet;

use foreman_core::egress::Policy;
use url::{Host, Url};

const SPELLINGS: &str = include_str!("spellings.txt");

struct Line<'a> {
    number: usize,
    is_allowed: bool,
    url: String,
    why: &'a str,
}

fn lines() -> impl Iterator<Item = Line<'static>> {
    let kept = |(_, line): &(usize, &str)| !line.is_empty() && !line.starts_with('#');
    SPELLINGS.lines().enumerate().filter(kept).map(|(index, line)| {
        let number = index + 1;
        let (verdict, rest) = line.split_once(" | ").unwrap_or_else(|| panic!("line {number} has no columns"));
        let (url, why) = rest.rsplit_once(" | ").unwrap_or_else(|| panic!("line {number} says no reason"));
        let is_allowed = match verdict {
            "allowed" => true,
            "refused" => false,
            other => panic!("line {number} says {other:?}"),
        };
        Line { number, is_allowed, url: unescaped(url), why }
    })
}

/// `\t`, `\n` and `\u{…}`; any other backslash is one.
fn unescaped(text: &str) -> String {
    let mut text = text.replace("\\t", "\t").replace("\\n", "\n");
    while let Some(start) = text.find("\\u{") {
        let end = start + text[start..].find('}').expect("it is closed");
        let character = u32::from_str_radix(&text[start + 3..end], 16).ok().and_then(char::from_u32);
        text.replace_range(start..=end, &character.expect("a character").to_string());
    }
    text
}

fn judge(policy: &Policy, text: &str) -> Result<(), String> {
    let url = Url::parse(text).map_err(|error| format!("not a URL: {error}"))?;
    policy.judge_url(&url).map_err(|refused| {
        assert_eq!(refused.to_string(), "target not allowed", "{text}");
        refused.reason().to_string()
    })
}

#[test]
fn every_spelling_is_judged_as_it_says_and_for_the_reason_it_says() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for Line { number, is_allowed, url, why } in lines() {
        count += 1;
        match (judge(&Policy::default(), &url), is_allowed) {
            (Ok(()), true) => {}
            (Err(reason), false) if reason.contains(why) => {}
            (verdict, _) => wrong.push(format!("line {number}: {url:?} ({why}): {verdict:?}")),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(count >= 150, "there are only {count} spellings");
}

#[test]
fn no_spelling_stands_there_twice() {
    let mut seen = HashSet::new();
    for line in lines() {
        assert!(seen.insert(line.url.clone()), "line {}: {:?}", line.number, line.url);
    }
}

/// A URL whose host is an address and whose address are one and the same question, unless port or credentials decide.
#[test]
fn an_address_is_judged_alike_in_a_url_and_alone() {
    let mut count = 0;
    for line in lines().filter(|line| !line.why.starts_with("the port") && !line.why.starts_with("user name")) {
        let address = match Url::parse(&line.url).ok().filter(|url| matches!(url.scheme(), "http" | "https")) {
            Some(url) => match url.host() {
                Some(Host::Ipv4(address)) => address.into(),
                Some(Host::Ipv6(address)) => address.into(),
                _ => continue,
            },
            None => continue,
        };
        count += 1;
        assert_eq!(
            Policy::default().judge_address(address).is_ok(),
            line.is_allowed,
            "line {}: {}",
            line.number,
            address
        );
    }
    assert!(count >= 100, "only {count} addresses");
}

/// What comes out of a parsed URL is what a store keeps and a worker reads: it must be judged as the first text was.
#[test]
fn a_url_is_judged_alike_after_it_was_kept_and_read_again() {
    for line in lines() {
        if let Ok(url) = Url::parse(&line.url) {
            let policy = Policy::default();
            let again = judge(&policy, url.as_str());
            assert_eq!(again, judge(&policy, &line.url), "line {}", line.number);
        }
    }
}

/// The protection is in the rules and not in the parser: without rules the same spellings pass.
#[test]
fn without_rules_whatever_is_a_url_passes() {
    for line in lines() {
        if let Ok(url) = Url::parse(&line.url) {
            assert_eq!(Policy::everything().judge_url(&url), Ok(()), "line {}", line.number);
        }
    }
}
