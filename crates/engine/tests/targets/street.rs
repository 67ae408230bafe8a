//! Servers on several addresses of this machine, all on one port: a name can lead to any of them.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::given::in_time;
use crate::server::Server;

const ADDRESSES: [&str; 7] = ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6", "::1"];

pub struct Street {
    pub port: u16,
    houses: Vec<(IpAddr, Server)>,
    knocks: AtomicUsize,
}

impl Street {
    /// Every house gives every request this answer, on connections that are kept unless it says otherwise.
    pub async fn answering(answer: &'static [u8]) -> Self {
        let listeners = loop {
            if let Some(listeners) = on_one_port().await {
                break listeners;
            }
        };
        let port = listeners[0].local_addr().unwrap().port();
        let house = |listener: TcpListener| {
            let address = listener.local_addr().unwrap().ip();
            let server = Server::behind(listener, move |mut peer| async move {
                while peer.request().await.is_some() {
                    peer.send(answer).await;
                }
            });
            (address, server)
        };
        Self { port, houses: listeners.into_iter().map(house).collect(), knocks: AtomicUsize::new(0) }
    }

    pub async fn closing() -> Self {
        Self::answering(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await
    }

    pub async fn keeping() -> Self {
        Self::answering(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await
    }

    pub fn addresses(&self) -> Vec<IpAddr> {
        self.houses.iter().map(|(address, _)| *address).collect()
    }

    pub fn house(&self, address: &str) -> &Server {
        let address: IpAddr = address.parse().expect(address);
        &self.houses.iter().find(|(there, _)| *there == address).expect("a house").1
    }

    pub fn url(&self, host: &str) -> String {
        format!("http://{host}:{}/", self.port)
    }

    /// How many connections each house has had, besides those that this makes. Connections are accepted in turn, so when
    /// ours is answered all that were made before it have been counted.
    pub async fn connections(&self) -> Vec<(IpAddr, usize)> {
        let knocks = self.knocks.fetch_add(1, Ordering::SeqCst) + 1;
        let mut counted = Vec::new();
        for (address, server) in &self.houses {
            let mut ours = TcpStream::connect(SocketAddr::new(*address, self.port)).await.unwrap();
            ours.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
            in_time(ours.read_u8()).await.unwrap();
            counted.push((*address, server.seen.connections() - knocks));
        }
        counted
    }

    pub async fn connections_to(&self, address: &str) -> usize {
        let address: IpAddr = address.parse().expect(address);
        self.connections().await.iter().find(|(there, _)| *there == address).expect("a house").1
    }

    pub async fn total(&self) -> usize {
        self.connections().await.iter().map(|(_, count)| count).sum()
    }
}

/// `None` when another process has one of them.
async fn on_one_port() -> Option<Vec<TcpListener>> {
    let first = TcpListener::bind((ADDRESSES[0], 0)).await.unwrap();
    let port = first.local_addr().unwrap().port();
    let mut listeners = vec![first];
    for address in &ADDRESSES[1..] {
        match TcpListener::bind((*address, port)).await {
            Ok(listener) => listeners.push(listener),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => return None,
            Err(error) => panic!("cannot listen on {address}, which every machine has: {error}"),
        }
    }
    Some(listeners)
}
