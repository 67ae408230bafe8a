//! Stands between the store and the server: counts what is asked, and may ask something of its own.
//!
//! One that gathers counts round trips: it passes nothing on before the client has said nothing more for a moment, so whoever waits
//! for an answer before it goes on is counted once more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use foreman_runtime::Tasks;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::given::server;

/// Where the real server is.
pub fn behind() -> String {
    let server = server();
    let (_, host) = server.rsplit_once('@').unwrap_or_else(|| server.split_once("://").unwrap());
    host.split('/').next().unwrap().to_owned()
}

/// Who says nothing for so long waits for an answer.
const QUIET: Duration = Duration::from_millis(20);

/// Counts the statements that go by, whether prepared or plain.
#[derive(Default)]
pub struct Meter {
    executed: AtomicUsize,
    parsed: AtomicUsize,
    gathers: bool,
    trips: AtomicUsize,
    /// A statement that every transaction ends with.
    last: Option<&'static str>,
}

impl Meter {
    pub async fn start(tasks: &Tasks) -> (Arc<Self>, String) {
        Self::serve(tasks, Self::default()).await
    }

    /// The address through which every transaction that commits does this as the last thing.
    pub async fn ending_with(tasks: &Tasks, last: &'static str) -> String {
        Self::serve(tasks, Self { last: Some(last), ..Self::default() }).await.1
    }

    pub async fn gathering(tasks: &Tasks) -> (Arc<Self>, String) {
        Self::serve(tasks, Self { gathers: true, ..Self::default() }).await
    }

    async fn serve(tasks: &Tasks, meter: Self) -> (Arc<Self>, String) {
        let meter = Arc::new(meter);
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

    /// How often somebody waited for an answer, since the last time.
    pub fn take_trips(&self) -> usize {
        self.trips.swap(0, Ordering::SeqCst)
    }

    fn see(&self, kind: u8) {
        match kind {
            b'E' | b'Q' => self.executed.fetch_add(1, Ordering::SeqCst),
            b'P' => self.parsed.fetch_add(1, Ordering::SeqCst),
            _ => 0,
        };
    }

    /// What is passed on instead.
    fn change(&self, kind: u8, body: Vec<u8>) -> Vec<u8> {
        match self.last {
            Some(last) if kind == b'Q' && body == b"COMMIT\0" => format!("{last}; COMMIT\0").into_bytes(),
            _ => body,
        }
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
            let Some(code) = body(&mut from_client, length).await else { return };
            if pass(&mut to_server, None, &code).await.is_none() {
                return;
            }
            if code.get(..4) != Some(&80_877_103_u32.to_be_bytes()) {
                break;
            }
        }
        while pass_some(&meter, &mut from_client, &mut to_server).await.is_some() {}
    };
    tokio::select! {
        () = answers => {}
        () = questions => {}
    }
}

/// Passes on what the client says before it waits for an answer: everything, if the meter gathers.
async fn pass_some(meter: &Meter, from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf) -> Option<()> {
    let mut kind = from.read_u8().await.ok()?;
    meter.trips.fetch_add(1, Ordering::SeqCst);
    let mut said = Vec::new();
    loop {
        let length = from.read_u32().await.ok()?;
        meter.see(kind);
        said.push((kind, body(from, length).await?));
        if !meter.gathers {
            break;
        }
        match timeout(QUIET, from.read_u8()).await {
            Ok(next) => kind = next.ok()?,
            Err(_) => break,
        }
    }
    for (kind, asked) in said {
        pass(to, Some(kind), &meter.change(kind, asked)).await?;
    }
    Some(())
}

/// What a message says, from its length.
async fn body(from: &mut (impl AsyncReadExt + Unpin), length: u32) -> Option<Vec<u8>> {
    let mut body = vec![0; length.checked_sub(4)? as usize];
    from.read_exact(&mut body).await.ok()?;
    Some(body)
}

/// Passes one message on.
async fn pass(to: &mut (impl AsyncWriteExt + Unpin), kind: Option<u8>, body: &[u8]) -> Option<()> {
    let mut message: Vec<u8> = kind.into_iter().collect();
    message.extend(u32::try_from(body.len() + 4).ok()?.to_be_bytes());
    message.extend(body);
    to.write_all(&message).await.ok()
}
