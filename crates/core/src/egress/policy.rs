//! The rules in force, and their verdict on a URL and on an address.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use url::{Host, Url};

use super::destination::{Destination, HostPattern};
use super::names;
use super::ranges::{self, Lifted, Network};

/// What may be called. As it comes, everything that is public and nothing else.
///
/// `deny` is stronger than `allow`, and `allow` is stronger than everything else that is refused by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// May be called on every port, wherever it is. The addresses of an allowed host may be private, but not
    /// link-local, metadata, multicast or otherwise special: for those the network itself must be allowed.
    pub allow: Vec<Destination>,
    /// May not be called, though it is public or allowed: Foreman's own database, for one.
    pub deny: Vec<Destination>,
    /// What is not allowed by name or network may be called on these ports only.
    pub ports: Vec<RangeInclusive<u16>>,
    pub is_plain_http_allowed: bool,
    pub reach: Reach,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// What is public, and what is allowed.
    #[default]
    Public,
    /// Whatever there is: none of the other rules holds.
    Everything,
}

/// Ports from 1,024 that speak something else than HTTP and are known to be talked to by mistake: those that browsers
/// refuse (Fetch, "bad port").
const BAD_PORTS: [u16; 19] =
    [1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080];

impl Default for Policy {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            deny: Vec::new(),
            ports: vec![80..=80, 443..=443, 1_024..=u16::MAX],
            is_plain_http_allowed: true,
            reach: Reach::Public,
        }
    }
}

/// Not to be called. Says no more than that, for whoever is refused may be looking for what is there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("target not allowed")]
pub struct EgressRefusal {
    reason: Reason,
}

impl EgressRefusal {
    /// For the operator, and not for whoever asked.
    pub fn reason(&self) -> &Reason {
        &self.reason
    }
}

impl From<Reason> for EgressRefusal {
    fn from(reason: Reason) -> Self {
        Self { reason }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("the scheme {0:?} is not allowed")]
    Scheme(String),
    #[error("the URL contains a user name or password")]
    Credentials,
    #[error("the URL has no host")]
    NoHost,
    #[error("the host {host:?} has {problem}")]
    NotAName { host: String, problem: &'static str },
    #[error("the name {host} is internal ({rule})")]
    Inside { host: String, rule: &'static str },
    #[error("{address} is in {network} ({what})")]
    Address { address: IpAddr, network: Network, what: &'static str },
    #[error("the port {0} is not allowed")]
    Port(u16),
    #[error("{0} is denied")]
    Denied(String),
}

/// Whether what passes does so because an operator said so, or because it is public anyway.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Passed {
    Allowed,
    Public,
}

impl Policy {
    /// No rules at all: for whoever is alone on a machine, or calls through something that has rules of its own.
    pub fn everything() -> Self {
        Self { reach: Reach::Everything, ..Self::default() }
    }

    /// For a laptop: what is public, and this machine.
    pub fn dev() -> Self {
        let localhost = || "localhost".to_owned();
        let hosts = [HostPattern::Exactly(localhost()), HostPattern::Under(localhost())].map(Destination::Host);
        let allow = ranges::LOOPBACK.map(Destination::Network).into_iter().chain(hosts).collect();
        Self { allow, ..Self::default() }
    }

    /// Judges a URL by what is written in it. A name that passes may still lead anywhere: judge its addresses too.
    pub fn judge_url(&self, url: &Url) -> Result<(), EgressRefusal> {
        if self.reach == Reach::Everything {
            return Ok(());
        }
        match url.scheme() {
            "https" => {}
            "http" if self.is_plain_http_allowed => {}
            other => return Err(Reason::Scheme(other.into()).into()),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Reason::Credentials.into());
        }
        let passed = match url.host() {
            None => return Err(Reason::NoHost.into()),
            Some(Host::Ipv4(address)) => self.judge_any(address.into(), false)?,
            Some(Host::Ipv6(address)) => self.judge_any(address.into(), false)?,
            Some(Host::Domain(name)) => self.judge_name(name)?,
        };
        // Every URL with a scheme that came this far has a port.
        let port = url.port_or_known_default().unwrap_or_default();
        let is_fit = passed == Passed::Allowed || self.is_open(port);
        if is_fit { Ok(()) } else { Err(Reason::Port(port).into()) }
    }

    /// Judges an address that nobody gave a name to.
    pub fn judge_address(&self, address: IpAddr) -> Result<(), EgressRefusal> {
        if self.reach == Reach::Everything {
            return Ok(());
        }
        self.judge_any(address, false).map(drop)
    }

    /// Judges one of the addresses of `host`, whose URL has passed. One that is refused refuses them all: a name with an
    /// address inside and one outside belongs to somebody who would like to choose later.
    pub fn judge_resolved(&self, host: &str, address: IpAddr) -> Result<(), EgressRefusal> {
        if self.reach == Reach::Everything {
            return Ok(());
        }
        let is_named = names::normal(host).is_ok_and(|name| self.allows_name(name));
        self.judge_any(address, is_named).map(drop)
    }

    fn judge_name(&self, host: &str) -> Result<Passed, EgressRefusal> {
        let name = names::normal(host).map_err(|problem| Reason::NotAName { host: host.into(), problem })?;
        if covers_name(&self.deny, name) {
            return Err(Reason::Denied(host.into()).into());
        }
        if self.allows_name(name) {
            return Ok(Passed::Allowed);
        }
        match names::inside(name) {
            Some(rule) => Err(Reason::Inside { host: host.into(), rule }.into()),
            None => Ok(Passed::Public),
        }
    }

    fn judge_any(&self, address: IpAddr, is_named: bool) -> Result<Passed, EgressRefusal> {
        // ::ffff:10.0.0.1 is 10.0.0.1: that is where the packets go.
        let address = address.to_canonical();
        if covers_address(&self.deny, address) {
            return Err(Reason::Denied(address.to_string()).into());
        }
        if covers_address(&self.allow, address) {
            // Whoever lives behind NAT64 has to allow it as a whole. The gateway calls the address inside of it, so that
            // one must pass for itself.
            return match ranges::behind_nat64(address) {
                Some(called) => self.judge_any(called, is_named),
                None => Ok(Passed::Allowed),
            };
        }
        match ranges::block(address) {
            None => Ok(Passed::Public),
            Some(block) if is_named && block.lifted_by == Lifted::ByHost => Ok(Passed::Allowed),
            Some(block) => Err(Reason::Address { address, network: block.network, what: block.what }.into()),
        }
    }

    fn allows_name(&self, name: &str) -> bool {
        covers_name(&self.allow, name)
    }

    fn is_open(&self, port: u16) -> bool {
        self.ports.iter().any(|ports| ports.contains(&port)) && !BAD_PORTS.contains(&port)
    }
}

fn covers_name(destinations: &[Destination], name: &str) -> bool {
    destinations.iter().any(|destination| matches!(destination, Destination::Host(host) if host.matches(name)))
}

fn covers_address(destinations: &[Destination], address: IpAddr) -> bool {
    let covers = |network: &Network| network.contains(address);
    destinations.iter().any(|destination| matches!(destination, Destination::Network(network) if covers(network)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::destinations;

    fn allowing(text: &str) -> Policy {
        Policy { allow: destinations(text).expect("valid"), ..Policy::default() }
    }

    fn passes(policy: &Policy, url: &str) -> bool {
        policy.judge_url(&url.parse().expect(url)).is_ok()
    }

    fn resolves(policy: &Policy, host: &str, address: &str) -> bool {
        policy.judge_resolved(host, address.parse().expect(address)).is_ok()
    }

    #[test]
    fn whoever_is_refused_learns_nothing_and_the_operator_everything() {
        let mut reasons = Vec::new();
        for url in [
            "ftp://example.com/",
            "http://user@example.com/",
            "http://10.0.0.1/",
            "http://localhost/",
            "http://a..b/",
            "http://example.com:25/",
        ] {
            let refused = Policy::default().judge_url(&url.parse().expect(url)).expect_err(url);
            assert_eq!(refused.to_string(), "target not allowed");
            reasons.push(refused.reason().to_string());
        }
        assert_eq!(
            reasons,
            [
                "the scheme \"ftp\" is not allowed",
                "the URL contains a user name or password",
                "10.0.0.1 is in 10.0.0.0/8 (private)",
                "the name localhost is internal (localhost)",
                "the host \"a..b\" has an empty label",
                "the port 25 is not allowed",
            ]
        );
    }

    #[test]
    fn an_allowed_network_is_called_by_address_and_by_name_and_on_every_port() {
        let policy = allowing("10.20.0.0/16");
        assert!(passes(&policy, "http://10.20.3.4:22/"));
        assert!(passes(&policy, "http://[::ffff:10.20.3.4]/"), "the same address in another spelling");
        assert!(!passes(&policy, "http://10.21.0.1/"));
        assert!(resolves(&policy, "billing.example.com", "10.20.3.4"));
        assert!(!resolves(&policy, "billing.example.com", "10.21.0.1"));
    }

    #[test]
    fn an_allowed_host_may_live_in_a_private_network_but_not_at_a_metadata_address() {
        let policy = allowing("billing.internal,*.svc.cluster.local");
        assert!(passes(&policy, "http://billing.internal:81/"));
        assert!(passes(&policy, "http://BILLING.internal./"), "case and the last dot make no difference");
        assert!(passes(&policy, "http://a.b.svc.cluster.local/"));
        assert!(!passes(&policy, "http://svc.cluster.local/"));
        assert!(!passes(&policy, "http://other.internal/"));
        for address in ["10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "127.0.0.1", "::1", "fd00::1", "8.8.8.8"]
        {
            assert!(resolves(&policy, "billing.internal", address), "{address}");
        }
        for address in ["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16", "0.0.0.0", "224.0.0.1"]
        {
            assert!(!resolves(&policy, "billing.internal", address), "{address}");
        }
        assert!(!resolves(&policy, "example.com", "10.0.0.1"), "what one host may, another may not");
        assert!(!passes(&policy, "http://10.0.0.1/"), "nor the address without the name");
    }

    #[test]
    fn what_is_denied_stays_denied_though_it_is_public_or_allowed() {
        let deny = destinations("10.20.0.5,8.8.8.8,db.example.com,*.ops.example.com").expect("valid");
        let policy = Policy { deny, ..allowing("10.20.0.0/16,*.example.com") };
        assert!(passes(&policy, "http://10.20.0.4/") && passes(&policy, "http://a.example.com/"));
        for url in ["http://10.20.0.5/", "http://8.8.8.8/", "http://db.example.com./", "http://x.ops.example.com/"] {
            assert!(!passes(&policy, url), "{url}");
        }
        assert!(!resolves(&policy, "a.example.com", "10.20.0.5"));
        assert!(!resolves(&policy, "a.example.com", "::ffff:10.20.0.5"));
    }

    #[test]
    fn behind_nat64_the_address_that_is_called_is_the_one_that_is_judged() {
        assert!(!resolves(&Policy::default(), "example.com", "64:ff9b::8.8.8.8"));
        let policy = allowing("64:ff9b::/96");
        assert!(resolves(&policy, "example.com", "64:ff9b::8.8.8.8"));
        for inner in ["64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254"] {
            assert!(!resolves(&policy, "example.com", inner), "{inner}");
        }
        assert!(!resolves(&allowing("::/0"), "example.com", "64:ff9b::127.0.0.1"));
    }

    #[test]
    fn a_laptop_calls_itself_and_the_internet_and_not_its_neighbours() {
        let policy = Policy::dev();
        for url in [
            "http://127.0.0.1:9/",
            "http://127.9.9.9/",
            "http://[::1]:3000/",
            "http://localhost:22/",
            "http://a.localhost/",
        ] {
            assert!(passes(&policy, url), "{url}");
        }
        assert!(resolves(&policy, "localhost", "::1") && resolves(&policy, "localtest.example.com", "127.0.0.1"));
        for url in ["http://192.168.1.1/", "http://0.0.0.0/", "http://169.254.169.254/", "http://printer.local/"] {
            assert!(!passes(&policy, url), "{url}");
        }
    }

    #[test]
    fn plain_http_and_ports_can_be_held_tighter() {
        let policy = Policy { is_plain_http_allowed: false, ports: vec![443..=443], ..Policy::default() };
        assert!(passes(&policy, "https://example.com/"));
        assert!(!passes(&policy, "http://example.com:443/") && !passes(&policy, "https://example.com:8443/"));
    }

    #[test]
    fn without_rules_everything_is_called_as_it_ever_was() {
        let policy = Policy::everything();
        assert!(passes(&policy, "http://user@127.0.0.1:1/") && passes(&policy, "http://localhost/"));
        assert!(policy.judge_address("169.254.169.254".parse().expect("valid")).is_ok());
        assert!(resolves(&policy, "a..b", "::1"));
    }
}
