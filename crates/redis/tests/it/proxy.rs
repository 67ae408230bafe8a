//! A way to a server on which answers can be late, or never come.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use foreman_runtime::{Task, Tasks};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    AtOnce,
    /// Answers come so much later.
    Late(Duration),
    /// What is asked is taken, and nothing comes back.
    Never,
}

pub struct Proxy {
    pub address: SocketAddr,
    how: watch::Sender<Pass>,
    /// Connections that were made to it.
    pub connections: Arc<AtomicUsize>,
    task: Task<()>,
}

impl Proxy {
    pub async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (how, seen) = watch::channel(Pass::AtOnce);
        let connections = Arc::new(AtomicUsize::new(0));
        let (count, tasks) = (connections.clone(), Tasks::new());
        let task = Tasks::new().spawn("proxy", async move {
            loop {
                let (near, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                drop(tasks.spawn("a proxied connection", carry(near, server, seen.clone())));
            }
        });
        Self { address, how, connections, task }
    }

    pub fn pass(&self, how: Pass) {
        self.how.send_replace(how);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(near: TcpStream, server: SocketAddr, mut how: watch::Receiver<Pass>) {
    let Ok(far) = TcpStream::connect(server).await else { return };
    let ((mut near_in, mut near_out), (mut far_in, mut far_out)) = (near.into_split(), far.into_split());
    let there = async {
        let _ = tokio::io::copy(&mut near_in, &mut far_out).await;
    };
    let back = async {
        let mut buffer = vec![0; 65_536];
        loop {
            let Ok(read) = far_in.read(&mut buffer).await else { return };
            if read == 0 {
                return;
            }
            let pass = *how.borrow();
            match pass {
                Pass::AtOnce => {}
                Pass::Late(late) => sleep(late).await,
                Pass::Never => {
                    let _ = how.wait_for(|how| *how != Pass::Never).await;
                }
            }
            if near_out.write_all(&buffer[..read]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = there => {}
        () = back => {}
    }
}
