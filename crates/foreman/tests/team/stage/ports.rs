//! Loopback ports that a process finds free again when it is started again.
//!
//! Below those that the system hands out to whoever asks for any, so that no connection of anybody takes one between a
//! kill and the restart. Each is given once in this process; another run of the tests begins elsewhere.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

const FIRST: u32 = 10_000;

pub fn free() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let room = ephemeral() - FIRST;
    let offset = std::process::id().wrapping_mul(7919);
    for _ in 0..room {
        let port = FIRST + offset.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % room;
        let port = u16::try_from(port).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no free port on the loopback address");
}

/// The first port that the system hands out by itself.
fn ephemeral() -> u32 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let first = range.split_whitespace().next().and_then(|text| text.parse().ok()).unwrap_or(0);
    if first > FIRST + 1_000 { first } else { 32_768 }
}
