//! Networks, and the blocks of addresses that are not simply somewhere on the internet.
//!
//! IPv4 has been given out whole, so its special blocks are listed (IANA's special-purpose registry, and the addresses
//! where clouds answer to their own machines). IPv6 is the other way around: only 2000::/3 is in use by the public, and
//! everything outside of it is refused, listed or not.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// All addresses that begin alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network {
    first: IpAddr,
    prefix: u8,
}

impl Network {
    /// `None` if the prefix is longer than an address, or the address has bits beyond the prefix.
    pub fn new(first: IpAddr, prefix: u8) -> Option<Self> {
        let network = Self { first, prefix };
        (prefix <= network.width() && network.masked(first) == network.bits()).then_some(network)
    }

    /// The network of this address that has this prefix.
    pub fn around(address: IpAddr, prefix: u8) -> Option<Self> {
        let network = Self { first: address, prefix };
        if prefix > network.width() {
            return None;
        }
        let first = network.masked(address);
        let first = match address {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from_bits(first as u32)),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(first)),
        };
        Some(Self { first, prefix })
    }

    /// This address and no other.
    pub fn only(address: IpAddr) -> Self {
        Self { first: address, prefix: if address.is_ipv4() { 32 } else { 128 } }
    }

    const fn v4(first: [u8; 4], prefix: u8) -> Self {
        let [a, b, c, d] = first;
        Self { first: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), prefix }
    }

    const fn v6(first: [u16; 8], prefix: u8) -> Self {
        let [s0, s1, s2, s3, s4, s5, s6, s7] = first;
        Self { first: IpAddr::V6(Ipv6Addr::new(s0, s1, s2, s3, s4, s5, s6, s7)), prefix }
    }

    /// The two families never contain each other: `::/0` says nothing about IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.first.is_ipv4() == address.is_ipv4() && self.masked(address) == self.bits()
    }

    fn width(&self) -> u8 {
        if self.first.is_ipv4() { 32 } else { 128 }
    }

    fn bits(&self) -> u128 {
        bits(self.first)
    }

    fn masked(&self, address: IpAddr) -> u128 {
        let beyond = u32::from(self.width().saturating_sub(self.prefix));
        // Shifting by the whole width is no shift at all, so the empty prefix is a case of its own.
        bits(address).checked_shr(beyond).map_or(0, |kept| kept << beyond)
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A block of addresses that is not called unless somebody says so.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) network: Network,
    pub(super) what: &'static str,
    pub(super) lifted_by: Lifted,
}

/// What an operator has to allow for such an address to be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifted {
    /// The host, or the network: these are where an operator's own services live.
    ByHost,
    /// The network only. No service that a job has business with is there, so an allowed name that suddenly points here
    /// has more likely been turned than moved.
    ByNetwork,
}

const fn inside(network: Network, what: &'static str) -> Block {
    Block { network, what, lifted_by: Lifted::ByHost }
}

const fn special(network: Network, what: &'static str) -> Block {
    Block { network, what, lifted_by: Lifted::ByNetwork }
}

/// The first that contains an address says what it is.
static V4: [Block; 19] = [
    special(Network::v4([100, 100, 100, 200], 32), "metadata"),
    special(Network::v4([168, 63, 129, 16], 32), "metadata"),
    special(Network::v4([169, 254, 169, 254], 32), "metadata"),
    special(Network::v4([0, 0, 0, 0], 8), "this network"),
    inside(Network::v4([10, 0, 0, 0], 8), "private"),
    inside(Network::v4([100, 64, 0, 0], 10), "carrier-grade NAT"),
    inside(LOOPBACK[0], "loopback"),
    special(Network::v4([169, 254, 0, 0], 16), "link-local"),
    inside(Network::v4([172, 16, 0, 0], 12), "private"),
    special(Network::v4([192, 0, 0, 0], 24), "protocol assignments"),
    special(Network::v4([192, 0, 2, 0], 24), "documentation"),
    special(Network::v4([192, 88, 99, 0], 24), "6to4 relays"),
    inside(Network::v4([192, 168, 0, 0], 16), "private"),
    special(Network::v4([198, 18, 0, 0], 15), "benchmarking"),
    special(Network::v4([198, 51, 100, 0], 24), "documentation"),
    special(Network::v4([203, 0, 113, 0], 24), "documentation"),
    special(Network::v4([224, 0, 0, 0], 4), "multicast"),
    special(Network::v4([255, 255, 255, 255], 32), "broadcast"),
    special(Network::v4([240, 0, 0, 0], 4), "reserved"),
];

/// The first that contains an address says what it is. Those outside of 2000::/3 are here for the sake of their names.
static V6: [Block; 20] = [
    special(Network::v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128), "metadata"),
    special(Network::v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128), "metadata"),
    special(Network::v6([0, 0, 0, 0, 0, 0, 0, 0], 128), "unspecified"),
    inside(LOOPBACK[1], "loopback"),
    special(Network::v6([0, 0, 0, 0, 0, 0, 0, 0], 96), "IPv4-compatible"),
    special(Network::v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96), "IPv4-mapped"),
    special(Network::v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96), "IPv4-translated"),
    special(NAT64, "NAT64"),
    special(Network::v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), "NAT64"),
    special(Network::v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64), "discard"),
    special(Network::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), "Teredo"),
    special(Network::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), "protocol assignments"),
    special(Network::v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), "documentation"),
    special(Network::v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), "6to4"),
    special(Network::v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), "documentation"),
    special(Network::v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16), "segment routing"),
    inside(Network::v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), "private"),
    special(Network::v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), "link-local"),
    special(Network::v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), "site-local"),
    special(Network::v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), "multicast"),
];

pub(super) const LOOPBACK: [Network; 2] = [Network::v4([127, 0, 0, 0], 8), Network::v6([0, 0, 0, 0, 0, 0, 0, 1], 128)];
const NAT64: Network = Network::v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);
const PUBLIC: Network = Network::v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);
static NOT_PUBLIC: Block = special(Network::v6([0, 0, 0, 0, 0, 0, 0, 0], 0), "outside of 2000::/3");

/// The block an address lies in, if it is not simply somewhere on the internet.
pub(super) fn block(address: IpAddr) -> Option<&'static Block> {
    let listed = |blocks: &'static [Block]| blocks.iter().find(|block| block.network.contains(address));
    match address {
        IpAddr::V4(_) => listed(&V4),
        IpAddr::V6(_) => listed(&V6).or_else(|| (!PUBLIC.contains(address)).then_some(&NOT_PUBLIC)),
    }
}

/// The IPv4 address that a NAT64 gateway would call for this one.
pub(super) fn behind_nat64(address: IpAddr) -> Option<IpAddr> {
    let is_translated = NAT64.contains(address);
    is_translated.then(|| IpAddr::V4(Ipv4Addr::from_bits(bits(address) as u32)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(address: &str) -> Option<&'static str> {
        block(address.parse().expect(address)).map(|block| block.what)
    }

    #[test]
    fn every_block_ends_where_it_ends() {
        // The last address before, the first, the last, and the first after.
        for (before, first, last, after, what) in [
            ("9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0", "private"),
            ("100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0", "carrier-grade NAT"),
            ("126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0", "loopback"),
            ("169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0", "link-local"),
            ("172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0", "private"),
            ("191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0", "protocol assignments"),
            ("192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0", "documentation"),
            ("192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0", "6to4 relays"),
            ("192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0", "private"),
            ("198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0", "benchmarking"),
            ("198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0", "documentation"),
            ("203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0", "documentation"),
            ("168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17", "metadata"),
            ("2001:200::", "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::1", "Teredo"),
            ("2001:200::", "2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::1", "protocol assignments"),
            ("2001:db7:ffff::", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::", "documentation"),
            (
                "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "2002::",
                "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "2003::",
                "6to4",
            ),
            (
                "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "3fff::",
                "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
                "3fff:1000::",
                "documentation",
            ),
        ] {
            assert_eq!((of(before), of(after)), (None, None), "around {first} to {last}");
            assert_eq!((of(first), of(last)), (Some(what), Some(what)), "{first} to {last}");
        }
        assert_eq!(
            (of("0.0.0.0"), of("0.255.255.255"), of("1.0.0.0")),
            (Some("this network"), Some("this network"), None)
        );
        assert_eq!(
            (of("223.255.255.255"), of("224.0.0.0"), of("239.255.255.255")),
            (None, Some("multicast"), Some("multicast"))
        );
        assert_eq!(
            (of("240.0.0.0"), of("255.255.255.254"), of("255.255.255.255")),
            (Some("reserved"), Some("reserved"), Some("broadcast"))
        );
    }

    #[test]
    fn what_is_outside_of_the_public_sixth_version_has_no_gaps() {
        for (address, what) in [
            ("::", "unspecified"),
            ("::1", "loopback"),
            ("::2", "IPv4-compatible"),
            ("::127.0.0.1", "IPv4-compatible"),
            ("::ffff:0:127.0.0.1", "IPv4-translated"),
            ("64:ff9b::10.0.0.1", "NAT64"),
            ("64:ff9b:1::1", "NAT64"),
            ("100::1", "discard"),
            ("1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "outside of 2000::/3"),
            ("4000::", "outside of 2000::/3"),
            ("5f00::1", "segment routing"),
            ("fc00::1", "private"),
            ("fdff::1", "private"),
            ("fd00:ec2::254", "metadata"),
            ("fd20:ce::254", "metadata"),
            ("fe80::1", "link-local"),
            ("fec0::1", "site-local"),
            ("ff02::1", "multicast"),
        ] {
            assert_eq!(of(address), Some(what), "{address}");
        }
        assert_eq!((of("2000::"), of("3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")), (None, None));
    }

    #[test]
    fn a_network_has_no_bits_beyond_its_prefix() {
        let parse = |text: &str, prefix| Network::new(text.parse().expect(text), prefix);
        assert!(parse("10.0.0.0", 8).is_some());
        assert!(parse("0.0.0.0", 0).is_some_and(|all| all.contains(IpAddr::V4(Ipv4Addr::BROADCAST))));
        assert!(parse("::", 0).is_some_and(|all| !all.contains(IpAddr::V4(Ipv4Addr::LOCALHOST))));
        assert_eq!(parse("10.0.0.1", 8), None);
        assert_eq!(parse("10.0.0.0", 33), None);
        assert_eq!(parse("2001:db8::1", 64), None);
        assert_eq!(parse("::", 129), None);
        assert_eq!(Network::around("10.1.2.3".parse().expect("valid"), 8), parse("10.0.0.0", 8));
        assert_eq!(Network::around("2001:db8:1::1".parse().expect("valid"), 32), parse("2001:db8::", 32));
    }

    proptest! {
        /// The standard library's opinion, where it has one.
        #[test]
        fn what_the_standard_library_calls_special_is_never_public(bits: u32) {
            let address = Ipv4Addr::from_bits(bits);
            let is_special = address.is_private() || address.is_loopback() || address.is_link_local()
                || address.is_multicast() || address.is_broadcast() || address.is_documentation() || address.is_unspecified();
            prop_assert!(!is_special || block(address.into()).is_some(), "{address}");
        }

        #[test]
        fn only_one_eighth_of_the_sixth_version_can_be_public(bits: u128) {
            let address = Ipv6Addr::from_bits(bits);
            prop_assert!(bits >> 125 == 0b001 || block(address.into()).is_some(), "{address}");
        }

        #[test]
        fn a_network_contains_what_begins_like_it(first: u128, other: u128, prefix in 1_u8..=128) {
            let network = Network::around(Ipv6Addr::from_bits(first).into(), prefix).expect("the prefix fits");
            let begins_alike = first >> (128 - prefix) == other >> (128 - prefix);
            prop_assert_eq!(network.contains(Ipv6Addr::from_bits(other).into()), begins_alike);
            prop_assert!(network.contains(Ipv6Addr::from_bits(first).into()));
        }
    }
}
