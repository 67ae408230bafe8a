//! Stands between the store and the server, and counts what is asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foreman_runtime::Tasks;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::given::server;

/// Where the real server is.
pub fn behind() -> String {
    let server = server();
    let (_, host) = server.rsplit_once('@').unwrap_or_else(|| server.split_once("://").unwrap());
    host.split('/').next().unwrap().to_owned()
}

/// Counts the statements that go by, whether prepared or plain.
#[derive(Default)]
pub struct Meter {
    executed: AtomicUsize,
    parsed: AtomicUsize,
}

impl Meter {
    pub async fn start(tasks: &Tasks) -> (Arc<Self>, String) {
        let meter = Arc::new(Self::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (shared, connections) = (Arc::clone(&meter), tasks.clone());
        drop(tasks.spawn("meter", async move {
            loop {
                let (near, _) = listener.accept().await.unwrap();
                let far = TcpStream::connect(behind()).await.unwrap();
                drop(connections.spawn("a connection through the meter", carry(Arc::clone(&shared), near, far)));
            }
        }));
        (meter, address)
    }

    /// How many were executed, and how many had to be made known to the server first, since the last time.
    pub fn take(&self) -> (usize, usize) {
        (self.executed.swap(0, Ordering::SeqCst), self.parsed.swap(0, Ordering::SeqCst))
    }

    fn see(&self, kind: u8) {
        match kind {
            b'E' | b'Q' => self.executed.fetch_add(1, Ordering::SeqCst),
            b'P' => self.parsed.fetch_add(1, Ordering::SeqCst),
            _ => 0,
        };
    }
}

async fn carry(meter: Arc<Meter>, near: TcpStream, far: TcpStream) {
    let (mut from_client, mut to_client) = near.into_split();
    let (mut from_server, mut to_server) = far.into_split();
    let answers = async move {
        let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
    };
    let questions = async move {
        // The first messages have no kind: maybe a request for TLS, which is refused here, then who one is.
        loop {
            let Ok(length) = from_client.read_u32().await else { return };
            let Some(code) = pass(&mut from_client, &mut to_server, None, length).await else { return };
            if code.get(..4) != Some(&80_877_103_u32.to_be_bytes()) {
                break;
            }
        }
        loop {
            let Ok(kind) = from_client.read_u8().await else { return };
            let Ok(length) = from_client.read_u32().await else { return };
            meter.see(kind);
            if pass(&mut from_client, &mut to_server, Some(kind), length).await.is_none() {
                return;
            }
        }
    };
    tokio::select! {
        () = answers => {}
        () = questions => {}
    }
}

/// Passes one message on; its body.
async fn pass(
    from: &mut (impl AsyncReadExt + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    kind: Option<u8>,
    length: u32,
) -> Option<Vec<u8>> {
    let mut body = vec![0; length.checked_sub(4)? as usize];
    from.read_exact(&mut body).await.ok()?;
    let mut message: Vec<u8> = kind.into_iter().collect();
    message.extend(length.to_be_bytes());
    message.extend(&body);
    to.write_all(&message).await.ok()?;
    Some(body)
}
