//! Where targets may lie, as an operator writes it, and what is added without being asked: Foreman's own hosts.
//!
//! `egress.deny` begins with what a tenant has no business calling though it be public or allowed: the database's host and the
//! address that this process listens on. Loopback is left out of that: it is refused unless somebody allows it, and whoever allows
//! it means the programs on this machine, of which the database may be one.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use foreman_core::egress::{Destination, Policy};

use super::Settings;
use super::codec::{self, Codec};
use crate::role::Role;

type Ports = RangeInclusive<u16>;

const DNS_PORT: u16 = 53;

pub fn destinations() -> Codec<Vec<Destination>> {
    codec::list(|text| text.parse().map_err(|error: foreman_core::egress::NotADestination| error.to_string()))
}

/// `443`, or `1024-65535`.
pub fn ports() -> Codec<Vec<Ports>> {
    codec::list_shown(port_range, |ranges| codec::show_list(ranges.iter().map(show_ports)))
}

fn port_range(text: &str) -> Result<Ports, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(first..=last),
        _ => Err(format!("{text:?} is not a port or a range of ports; write it like 443 or 1024-65535")),
    }
}

fn show_ports(ports: &Ports) -> String {
    match (ports.start(), ports.end()) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    }
}

/// Servers to ask for names: `10.0.0.2`, `[::1]:5353`.
pub fn name_servers() -> Codec<Vec<SocketAddr>> {
    codec::list(|text| {
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        bare.parse::<IpAddr>().map(|address| SocketAddr::new(address, DNS_PORT)).or_else(|_| text.parse()).map_err(
            |_| format!("{text:?} is not the address of a name server; write it like 10.0.0.2 or 127.0.0.1:5353"),
        )
    })
}

/// The rules in force for a process of this role.
pub fn in_force(settings: &Settings, role: Role) -> Policy {
    let mut policy = settings.egress.clone();
    let urls = [&settings.database.url, &settings.database.direct_url];
    let databases = urls.into_iter().flatten().flat_map(|url| database_hosts(url.reveal()));
    policy.deny.extend(databases.filter_map(|host| own(&host)));
    let listens = if role.serves_the_api() { settings.listen } else { settings.health_listen };
    if let Some(here) = own(&listens.ip().to_string()) {
        // `dev` serves what its own jobs call, to try things out.
        let rules = if role == Role::Dev { &mut policy.allow } else { &mut policy.deny };
        rules.push(here);
    }
    policy
}

/// A host of ours, unless it is this machine under a name that every machine has for itself.
fn own(host: &str) -> Option<Destination> {
    let is_this_machine = match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback() || address.is_unspecified(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    };
    if is_this_machine { None } else { host.parse().ok() }
}

/// The hosts of a connection string: several may stand before the path, or in `host` and `hostaddr`. Sockets are files.
fn database_hosts(url: &str) -> Vec<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (authority, query) = rest.split_once('?').unwrap_or((rest, ""));
    // A password in the clear may hold a slash; the last @ ends it.
    let authority = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let places = authority.split('/').next().unwrap_or_default();
    let named = query.split('&').filter_map(|pair| match pair.split_once('=') {
        Some(("host" | "hostaddr", hosts)) => Some(hosts),
        _ => None,
    });
    let hosts = std::iter::once(places).chain(named).flat_map(|hosts| hosts.split(','));
    hosts.map(without_port).filter(|host| !host.is_empty() && !host.contains(['/', '%'])).map(str::to_owned).collect()
}

fn without_port(place: &str) -> &str {
    match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => place.rsplit_once(':').filter(|(host, _)| !host.contains(':')).map_or(place, |(host, _)| host),
    }
}

#[cfg(test)]
mod tests {
    use foreman_core::secret::Secret;

    use super::*;
    use crate::config::codec::Raw;

    #[test]
    fn the_hosts_of_a_database_are_found_in_every_spelling() {
        for (url, expected) in [
            ("postgres://u:p@db.internal:5432/d", vec!["db.internal"]),
            ("postgres://u:p@ss/w@h1:5432,h2:5433/d?sslmode=require", vec!["h1", "h2"]),
            ("postgres://u@[fd00::5]:5432/d", vec!["fd00::5"]),
            ("postgres:///d?host=h3&hostaddr=10.0.0.5", vec!["h3", "10.0.0.5"]),
            ("postgres:///d?host=/run/postgresql", vec![]),
            ("postgres://%2Frun%2Fpostgresql/d", vec![]),
            ("postgresql://db/d", vec!["db"]),
        ] {
            assert_eq!(database_hosts(url), expected, "{url}");
        }
    }

    #[test]
    fn our_own_hosts_are_denied_and_this_machine_is_left_to_what_is_allowed() {
        let mut settings = Settings::default();
        settings.database.url = Some(Secret::new("postgres://u:p@db.internal:5432,10.0.0.5/d"));
        settings.listen = "10.0.0.9:8080".parse().expect("an address");
        let denied = |settings: &Settings, role| {
            let deny = in_force(settings, role).deny;
            deny.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(denied(&settings, Role::Api), ["db.internal", "10.0.0.5/32", "10.0.0.9/32"]);
        assert_eq!(denied(&settings, Role::Worker), ["db.internal", "10.0.0.5/32"], "it listens elsewhere");
        assert_eq!(denied(&settings, Role::Dev), ["db.internal", "10.0.0.5/32"], "its own echo can be called");
        let echo = "http://10.0.0.9:8080/dev/echo".parse().expect("a URL");
        assert!(in_force(&settings, Role::Dev).judge_url(&echo).is_ok());
        assert!(in_force(&settings, Role::Api).judge_url(&echo).is_err());
        settings.database.url = Some(Secret::new("postgres://u:p@127.0.0.1,localhost,[::1]/d"));
        settings.listen = "0.0.0.0:8080".parse().expect("an address");
        assert!(denied(&settings, Role::Api).is_empty());
    }

    #[test]
    fn ports_and_name_servers_are_read_as_they_are_shown() {
        let codec = ports();
        let read = (codec.read)(Raw::Text("443, 1024-65535")).expect("ports");
        assert_eq!(read, [443..=443, 1024..=65535]);
        assert_eq!((codec.show)(&read), "[\"443\", \"1024-65535\"]");
        let said = (codec.read)(Raw::Text("0,9-8,x")).expect_err("three mistakes");
        assert!(["\"0\"", "\"9-8\"", "\"x\""].iter().all(|text| said.contains(text)), "{said}");
        let codec = name_servers();
        let read = (codec.read)(Raw::Text("10.0.0.2,[::1]:5353,fd00::1")).expect("servers");
        assert_eq!((codec.show)(&read), "[\"10.0.0.2:53\", \"[::1]:5353\", \"[fd00::1]:53\"]");
        assert!((codec.read)(Raw::Text("dns.example")).is_err());
    }
}
