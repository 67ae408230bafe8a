//! Networks and hosts as an operator writes them: `10.20.0.0/16, billing.internal, *.partners.example`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::names;
use super::ranges::Network;

/// A part of the world that an operator allows or denies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    Network(Network),
    Host(HostPattern),
}

/// A name, or all names under one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostPattern {
    Exactly(String),
    /// `*.example.com`: every name that ends so, and not `example.com` itself.
    Under(String),
}

impl HostPattern {
    /// `name` as [`names::normal`] gives it.
    pub(super) fn matches(&self, name: &str) -> bool {
        match self {
            HostPattern::Exactly(exactly) => name == exactly,
            HostPattern::Under(suffix) => names::is_under(name, suffix),
        }
    }
}

/// An entry that is neither a network nor a host, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{entry:?} {problem}")]
pub struct NotADestination {
    pub entry: String,
    pub problem: String,
}

/// Reads a list with commas, and reports every mistake in it at once.
pub fn destinations(text: &str) -> Result<Vec<Destination>, Vec<NotADestination>> {
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let (mut read, mut mistakes) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry.parse() {
            Ok(destination) => read.push(destination),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if mistakes.is_empty() { Ok(read) } else { Err(mistakes) }
}

impl FromStr for Destination {
    type Err = NotADestination;

    fn from_str(entry: &str) -> Result<Self, NotADestination> {
        let read = if entry.contains("://") {
            Err("is a URL; give its host alone, such as billing.internal".into())
        } else if let Some((address, prefix)) = entry.split_once('/') {
            network(address, prefix).map(Destination::Network)
        } else if let Some(address) = address(entry) {
            Ok(Destination::Network(Network::only(address)))
        } else if let Some(suffix) = entry.strip_prefix("*.") {
            host(suffix).map(HostPattern::Under).map(Destination::Host)
        } else {
            host(entry).map(HostPattern::Exactly).map(Destination::Host)
        };
        read.map_err(|problem| NotADestination { entry: entry.into(), problem })
    }
}

fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

fn network(address: &str, prefix: &str) -> Result<Network, String> {
    let Ok(first) = address.parse::<IpAddr>() else {
        return Err("is not a network; write one like 10.20.0.0/16 or fd00:1::/48".into());
    };
    let longest = if first.is_ipv4() { 32 } else { 128 };
    let is_number = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
    let prefix = prefix.parse::<u8>().ok().filter(|prefix| is_number && *prefix <= longest);
    let Some(prefix) = prefix else {
        return Err(format!("has no prefix length from 0 to {longest} after its slash"));
    };
    let Some(around) = Network::around(first, prefix) else {
        return Err(format!("has no prefix length from 0 to {longest} after its slash"));
    };
    Network::new(first, prefix).ok_or_else(|| format!("has bits set beyond its prefix; did you mean {around}?"))
}

fn host(text: &str) -> Result<String, String> {
    if text.contains('*') {
        return Err("has a * that is not its whole first label; write *.example.com, or networks such as \
                    0.0.0.0/0 and ::/0"
            .into());
    }
    if let Some((host, port)) = text.rsplit_once(':')
        && !host.contains(':')
    {
        return Err(format!("has the port {port:?}; an entry applies to every port, so leave it out"));
    }
    // Read as a URL's host is, so that both sides of the comparison are spelt alike.
    match url::Host::parse(text) {
        Ok(url::Host::Domain(name)) => match names::normal(&name) {
            Ok(name) => Ok(name.to_owned()),
            Err(problem) => Err(format!("is not a host name: it has {problem}")),
        },
        Ok(address) => Err(format!("is another spelling of an address; write {address}")),
        Err(_) => Err("is neither a network, such as 10.20.0.0/16, nor a host, such as billing.internal".into()),
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::Network(network) => network.fmt(f),
            Destination::Host(HostPattern::Exactly(name)) => name.fmt(f),
            Destination::Host(HostPattern::Under(suffix)) => write!(f, "*.{suffix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_and_hosts_are_read_from_one_line() {
        let read = destinations(" 10.20.0.0/16, 192.168.1.7,[::1], fd00:1::/48 ,Billing.Internal.,*.Bücher.example,")
            .expect("valid");
        let written: Vec<String> = read.iter().map(ToString::to_string).collect();
        assert_eq!(
            written,
            ["10.20.0.0/16", "192.168.1.7/32", "::1/128", "fd00:1::/48", "billing.internal", "*.xn--bcher-kva.example"]
        );
        assert_eq!(destinations(&written.join(",")).expect("what is written can be read"), read);
        assert_eq!(destinations(""), Ok(Vec::new()));
    }

    #[test]
    fn each_mistake_says_what_to_write_instead_and_all_are_said_at_once() {
        for (entry, says) in [
            ("10.20.0.1/16", "did you mean 10.20.0.0/16?"),
            ("10.0.0.0/33", "from 0 to 32"),
            ("10.0.0.0/+8", "from 0 to 32"),
            ("10.0.0.0/", "from 0 to 32"),
            ("fd00::/129", "from 0 to 128"),
            ("intern/8", "is not a network"),
            ("http://billing.internal", "give its host alone"),
            ("billing.internal:8080", "leave it out"),
            ("*", "write *.example.com"),
            ("a.*.example", "write *.example.com"),
            ("0x7f.1", "write 127.0.0.1"),
            ("2130706433", "write 127.0.0.1"),
            ("a b", "is neither"),
            ("a..b", "an empty label"),
            ("*.", "is neither"),
        ] {
            let mistake = entry.parse::<Destination>().expect_err(entry).to_string();
            assert!(mistake.contains(says), "{entry}: {mistake}");
        }
        let mistakes = destinations("10.0.0.0/99,fine.example,*").expect_err("two mistakes");
        assert_eq!(mistakes.iter().map(|mistake| mistake.entry.as_str()).collect::<Vec<_>>(), ["10.0.0.0/99", "*"]);
    }

    #[test]
    fn a_pattern_covers_names_below_it_and_nothing_that_only_looks_so() {
        let under: Destination = "*.example.com".parse().expect("valid");
        let Destination::Host(under) = under else { panic!("a host") };
        assert!(under.matches("a.example.com") && under.matches("a.b.example.com"));
        for name in ["example.com", "badexample.com", "a.example.com.evil.org", "com", ""] {
            assert!(!under.matches(name), "{name}");
        }
    }
}
