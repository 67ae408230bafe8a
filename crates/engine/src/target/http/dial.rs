//! Opens a TCP connection to one of several addresses, and to no other.
//!
//! As browsers do it (RFC 8305): one address after the other, the families in turn, the next as soon as one fails or has
//! been silent for a moment. The first to answer wins and the others are dropped.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::net::TcpStream;

/// How long an address may be silent before the next is tried beside it.
const HEAD_START: Duration = Duration::from_millis(250);
/// A name can have thousands of addresses, and whoever owns it must not have us knock at all of them.
const MAX_TRIED: usize = 8;

pub(super) async fn dial(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut waiting = in_turn(addresses).into_iter().take(MAX_TRIED);
    let mut trying = FuturesUnordered::new();
    let mut failed = None;
    loop {
        if let Some(address) = waiting.next() {
            trying.push(TcpStream::connect(address));
        }
        let patience = tokio::time::sleep(HEAD_START);
        tokio::select! {
            biased;
            connected = trying.next() => match connected {
                Some(Ok(stream)) => return Ok(stream),
                // What the first of them said: it is the one that everybody else would have called.
                Some(Err(error)) => failed = failed.or(Some(error)),
                None => return Err(failed.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into())),
            },
            () = patience => {}
        }
    }
}

/// The families by turns, beginning with that of the first.
fn in_turn(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let is_like_the_first =
        |address: &&SocketAddr| Some(address.is_ipv4()) == addresses.first().map(SocketAddr::is_ipv4);
    let (ours, others): (Vec<&SocketAddr>, Vec<&SocketAddr>) = addresses.iter().partition(is_like_the_first);
    let longest = ours.len().max(others.len());
    (0..longest).flat_map(|index| [ours.get(index), others.get(index)]).flatten().map(|address| **address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_families_take_turns_and_none_is_forgotten() {
        let parse = |texts: &[&str]| texts.iter().map(|text| text.parse().expect(text)).collect::<Vec<SocketAddr>>();
        let given = parse(&["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1"]);
        assert_eq!(in_turn(&given), parse(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "[::3]:1"]));
        assert_eq!(in_turn(&[]), []);
    }
}
