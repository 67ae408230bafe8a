//! Whatever the rules, the URL and the name server say: no address is connected to that is not allowed.
//!
//! The houses are real and count who comes. What may be called is worked out here from two sets of addresses, without
//! asking the policy.

use std::cell::Cell;
use std::net::IpAddr;

use foreman_core::egress::{Destination, Network, Policy};
use foreman_core::outcome::AttemptEnd;
use foreman_engine::target::Runner;
use foreman_engine::target::http::{Config, HttpRunner};
use proptest::prelude::*;
use proptest::test_runner::{Config as Cases, TestRunner};
use serde_json::json;

use crate::dns::{NameServer, Record};
use crate::given::{attempt, error_of, in_time};
use crate::street::Street;

/// A set of houses: a bit each.
type Houses = u8;

#[derive(Clone, Debug)]
struct Case {
    allow: Houses,
    deny: Houses,
    target: Target,
}

#[derive(Clone, Debug)]
enum Target {
    /// A name that leads to these; those of IPv4 perhaps in the clothes of IPv6.
    Name { houses: Houses, is_mapped: bool },
    /// One house, in one of several spellings.
    Address { house: usize, spelling: u8 },
}

fn cases(count: usize) -> impl Strategy<Value = Case> {
    let all = u8::MAX >> (8 - count);
    let name = (1..=all, any::<bool>()).prop_map(|(houses, is_mapped)| Target::Name { houses, is_mapped });
    let address = (0..count, 0_u8..4).prop_map(|(house, spelling)| Target::Address { house, spelling });
    // Mostly much is allowed and little is denied: otherwise hardly anything would get out.
    let allow = prop_oneof![0..=all, Just(all), (0..count).prop_map(move |house| all & !(1 << house))];
    let deny = prop_oneof![3 => Just(0), 1 => 0..=all];
    (allow, deny, prop_oneof![3 => name, 1 => address]).prop_map(|(allow, deny, target)| Case { allow, deny, target })
}

fn has(houses: Houses, index: usize) -> bool {
    houses >> index & 1 == 1
}

fn those(houses: Houses, addresses: &[IpAddr]) -> Vec<IpAddr> {
    let chosen = |(index, address): (usize, &IpAddr)| has(houses, index).then_some(*address);
    addresses.iter().enumerate().filter_map(chosen).collect()
}

fn mapped(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().into(),
        IpAddr::V6(_) => address,
    }
}

fn spelt(address: IpAddr, spelling: u8) -> String {
    match (address, spelling) {
        (IpAddr::V4(address), 1) => address.to_bits().to_string(),
        (IpAddr::V4(address), 2) => format!("{:#x}", address.to_bits()),
        (IpAddr::V4(_), 3) => format!("[{}]", mapped(address)),
        (IpAddr::V4(address), _) => address.to_string(),
        (IpAddr::V6(address), _) => format!("[{address}]"),
    }
}

/// `n2c-1.example.com` leads to the houses 0x2c, in the clothes of IPv6.
fn name(houses: Houses, is_mapped: bool) -> String {
    format!("n{houses:x}-{}.example.com", u8::from(is_mapped))
}

fn answer(name: &str, addresses: &[IpAddr]) -> Vec<Record> {
    let read = name.strip_prefix('n').and_then(|rest| rest.strip_suffix(".example.com"));
    let (houses, is_mapped) = read.and_then(|rest| rest.split_once('-')).expect("a name of ours");
    let houses = those(Houses::from_str_radix(houses, 16).expect("hexadecimal"), addresses);
    let clothed = |address| if is_mapped == "1" { mapped(address) } else { address };
    houses.into_iter().map(clothed).map(Record::Address).collect()
}

#[test]
fn no_address_that_is_not_allowed_is_ever_connected_to() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let street = runtime.block_on(Street::closing());
    let addresses = street.addresses();
    let known = addresses.clone();
    let names = runtime.block_on(NameServer::start(0, move |name, _| answer(name, &known)));
    let (completed, refused) = (Cell::new(0), Cell::new(0));
    // It waits for real sockets, so shrinking is kept short.
    let settings = Cases { cases: 300, max_shrink_iters: 60, failure_persistence: None, ..Cases::default() };

    let judged = TestRunner::new(settings).run(&cases(addresses.len()), |case| {
        let networks =
            |houses| those(houses, &addresses).into_iter().map(Network::only).map(Destination::Network).collect();
        let egress = Policy { allow: networks(case.allow), deny: networks(case.deny), ..Policy::default() };
        let (host, houses) = match case.target {
            Target::Name { houses, is_mapped } => (name(houses, is_mapped), houses),
            Target::Address { house, spelling } => (spelt(addresses[house], spelling), 1 << house),
        };
        let may_be_called = houses & !(case.allow & !case.deny) == 0;
        let runner = HttpRunner::new(Config { egress, dns_servers: vec![names.address], ..Config::default() });

        let (ending, before, after) = runtime.block_on(async {
            let before = street.connections().await;
            let ending = in_time(runner.run(&attempt(&json!({"url": street.url(&host)})))).await;
            (ending, before, street.connections().await)
        });
        let called: Vec<usize> = before.iter().zip(&after).map(|((_, before), (_, after))| after - before).collect();
        if may_be_called {
            prop_assert_eq!(ending.ended, AttemptEnd::Completed, "{:?}", ending);
            prop_assert_eq!(called.iter().sum::<usize>(), 1, "{:?}", called);
            prop_assert!(
                called.iter().enumerate().all(|(index, count)| *count == 0 || has(houses, index)),
                "{:?}",
                called
            );
            completed.set(completed.get() + 1);
        } else {
            prop_assert_eq!((ending.ended, error_of(&ending)), (AttemptEnd::Failed, "target not allowed"));
            prop_assert_eq!(called.iter().sum::<usize>(), 0, "{:?}", called);
            refused.set(refused.get() + 1);
        }
        Ok(())
    });

    judged.unwrap();
    assert!(completed.get() > 20 && refused.get() > 20, "{completed:?} completed and {refused:?} were refused");
}
