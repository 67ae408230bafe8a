//! Waking workers: after a commit, once for many appends, and hearing it.
//!
//! A notification is a hint. It may be lost, come twice or come late; workers ask every second besides.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Pool;
use foreman_runtime::{Backoff, Shutdown};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, NoTls};
use tracing::{info, warn};

use super::control::Control;
use super::error::LogError;
use crate::failure::chain;

/// Appends within this time are one notification.
const DEBOUNCE: Duration = Duration::from_millis(10);

/// Notifies a channel after commits, debounced. Call [`Notifier::appended`] after each commit, and run [`Notifier::run`] in a task.
#[derive(Clone)]
pub struct Notifier {
    control: Arc<Control>,
    channel: String,
    wake: Arc<Notify>,
}

impl Notifier {
    /// With a connection of its own, made like those of the pool.
    pub fn new(pool: Pool, channel: impl Into<String>) -> Self {
        let control = Arc::new(Control::new(pool, Duration::from_secs(5)));
        Self { control, channel: channel.into(), wake: Arc::new(Notify::new()) }
    }

    /// Something was committed. Returns at once.
    pub fn appended(&self) {
        self.wake.notify_one();
    }

    /// Until draining. A notification that fails is only logged: workers look by themselves a second later.
    pub async fn run(self, shutdown: Shutdown) {
        loop {
            tokio::select! {
                () = shutdown.draining() => return,
                () = self.wake.notified() => {}
            }
            sleep(DEBOUNCE).await;
            if let Err(error) = self.notify().await {
                warn!(error = chain(&error), "workers could not be notified of new events");
            }
        }
    }

    async fn notify(&self) -> Result<(), LogError> {
        self.control.execute("SELECT pg_notify($1, '')", &[(&self.channel, Type::TEXT)]).await.map(drop)
    }
}

/// Listens and rings the bell for each notification, and once when it has connected, because something may have been missed.
pub(crate) async fn listen(address: String, channel: String, bell: Arc<Notify>, shutdown: Shutdown) {
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
    loop {
        tokio::select! {
            () = shutdown.draining() => return,
            ended = listen_once(&address, &channel, &bell) => {
                let was_connected = matches!(ended, Ok(()));
                let error = ended.err().map(|error| chain(&error)).unwrap_or_default();
                if was_connected {
                    backoff.reset();
                }
                warn!(error, "not listening for new events: asking every second instead");
            }
        }
        tokio::select! {
            () = shutdown.draining() => return,
            () = sleep(backoff.next()) => {}
        }
    }
}

/// `Ok`: it had connected, and lost the connection.
async fn listen_once(address: &str, channel: &str, bell: &Notify) -> Result<(), LogError> {
    let connected = timeout(Duration::from_secs(10), tokio_postgres::connect(address, NoTls)).await;
    let (client, mut connection) = connected.map_err(|_| LogError::Unavailable("no answer in time".into()))??;
    let quoted = channel.replace('"', "\"\"");
    let statement = format!("LISTEN \"{quoted}\"");
    let mut listening = pin!(client.batch_execute(&statement));
    let mut is_listening = false;
    loop {
        tokio::select! {
            done = &mut listening, if !is_listening => {
                done?;
                is_listening = true;
                info!(channel, "listening for new events");
                bell.notify_one();
            }
            message = poll_fn(|cx| connection.poll_message(cx)) => match message {
                Some(Ok(AsyncMessage::Notification(_))) => bell.notify_one(),
                Some(Ok(_)) => {}
                Some(Err(error)) if is_listening => {
                    warn!(error = chain(&error), "the connection that listens for new events was lost");
                    return Ok(());
                }
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(()),
            },
        }
    }
}
