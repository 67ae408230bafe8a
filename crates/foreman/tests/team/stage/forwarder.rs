//! An address that leads to one server, and then to another: what clients see of a failover.

use foreman_runtime::Tasks;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub struct Forwarder {
    /// Host and port.
    pub address: String,
    target: watch::Sender<String>,
}

impl Forwarder {
    pub async fn start(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (target, seen) = watch::channel(target.to_owned());
        let (tasks, connections) = (Tasks::new(), Tasks::new());
        drop(tasks.spawn("forwarder", async move {
            loop {
                let (near, _) = listener.accept().await.unwrap();
                drop(connections.spawn("a forwarded connection", carry(near, seen.clone())));
            }
        }));
        Self { address, target }
    }

    /// Cuts every connection; those that are made from now on lead there.
    pub fn lead_to(&self, target: &str) {
        self.target.send_replace(target.to_owned());
    }
}

async fn carry(mut near: TcpStream, mut target: watch::Receiver<String>) {
    let address = target.borrow_and_update().clone();
    // Nobody there: the client finds its connection closed.
    let Ok(mut far) = TcpStream::connect(address).await else { return };
    tokio::select! {
        _ = copy_bidirectional(&mut near, &mut far) => {}
        _ = target.changed() => {}
    }
}
