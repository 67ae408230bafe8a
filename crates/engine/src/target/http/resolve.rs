//! Finds the addresses of a name.
//!
//! Nothing is remembered from one attempt to the next: a name that has moved is found where it is now, and how long its
//! owner says that an answer holds makes no difference to what is judged.
//!
//! The machine's own resolver blocks a thread until it has an answer, for as long as the machine is set up to wait (often 10 to 30 s), and cannot
//! be told to stop. An attempt gives up long before that, and its thread stays. So only [`MOST_LOOKUPS`] of these run at a time, those that nobody
//! waits for any more included, and of them [`MOST_OF_ONE`] for names of one domain: whoever owns a silent name server holds up calls to names of
//! their own. With name servers given (`egress.dns`) no thread blocks and nothing outlives its attempt.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connect::root_cause;

/// Threads that look up names. The store's reads need some of the same threads, of which a process has 64.
const MOST_LOOKUPS: usize = 16;
/// Of these for names that end in the same two parts.
const MOST_OF_ONE: usize = 4;

pub(super) enum Resolver {
    /// On a thread that may block: files, search lists and whatever else the machine is set up with.
    Machine(Lookups),
    /// Of these servers only.
    Servers(Box<TokioResolver>),
    /// The servers could not be set up.
    Broken(String),
}

impl Resolver {
    pub(super) fn new(servers: &[SocketAddr], timeout: Duration) -> Self {
        if servers.is_empty() {
            return Self::Machine(Lookups::default());
        }
        match of_servers(servers, timeout) {
            Ok(resolver) => Self::Servers(Box::new(resolver)),
            Err(error) => {
                let reason = root_cause(&error);
                tracing::warn!("could not set up the resolver for egress.dns, so no target can be resolved: {reason}");
                Self::Broken(reason)
            }
        }
    }

    pub(super) async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let addresses: Vec<IpAddr> = match self {
            Self::Machine(lookups) => lookups.ask(host, look_up).await?,
            Self::Servers(resolver) => match resolver.lookup_ip(absolute(host)).await {
                Ok(found) => found.iter().collect(),
                Err(error) if error.is_no_records_found() || error.is_nx_domain() => Vec::new(),
                Err(error) => return Err(io::Error::other(root_cause(&error))),
            },
            Self::Broken(reason) => return Err(io::Error::other(reason.clone())),
        };
        if addresses.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        }
        Ok(addresses)
    }
}

fn look_up(host: &str) -> io::Result<Vec<IpAddr>> {
    Ok((host, 0).to_socket_addrs()?.map(|found| found.ip()).collect())
}

/// Questions to the machine's resolver, each on a thread of its own until it is answered, whether or not somebody still waits.
#[derive(Clone)]
pub(super) struct Lookups {
    free: Arc<Semaphore>,
    /// How many there may still be of each domain that has any.
    of_domain: Arc<Mutex<HashMap<String, Arc<Semaphore>>>>,
}

impl Default for Lookups {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(MOST_LOOKUPS)), of_domain: Arc::default() }
    }
}

impl Lookups {
    /// Waits for a thread, then for the answer. Whoever asks says for how long, by dropping this.
    async fn ask(
        &self,
        host: &str,
        look_up: impl FnOnce(&str) -> io::Result<Vec<IpAddr>> + Send + 'static,
    ) -> io::Result<Vec<IpAddr>> {
        let closed = |_| io::Error::other("the resolver is shut down");
        let mut taken = LookupThread { lookups: self.clone(), domain: domain_of(host), of_domain: None, free: None };
        // First among one's own: who waits there takes no thread from anybody.
        let turn = self.turn_of(&taken.domain);
        taken.of_domain = Some(turn.acquire_owned().await.map_err(closed)?);
        taken.free = Some(Arc::clone(&self.free).acquire_owned().await.map_err(closed)?);
        let host = host.to_owned();
        let asked = tokio::task::spawn_blocking(move || {
            // Until this thread has its answer.
            let _taken = taken;
            look_up(&host)
        });
        asked.await.unwrap_or_else(|error| Err(io::Error::other(error)))
    }

    fn turn_of(&self, domain: &str) -> Arc<Semaphore> {
        let mut turns = self.turns();
        Arc::clone(turns.entry(domain.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(MOST_OF_ONE))))
    }

    fn turns(&self) -> MutexGuard<'_, HashMap<String, Arc<Semaphore>>> {
        self.of_domain.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that is taken, or waited for. The last question about a domain forgets it, so that no more are remembered than are asked about.
struct LookupThread {
    lookups: Lookups,
    domain: String,
    of_domain: Option<OwnedSemaphorePermit>,
    free: Option<OwnedSemaphorePermit>,
}

impl Drop for LookupThread {
    fn drop(&mut self) {
        drop(self.free.take());
        drop(self.of_domain.take());
        let mut turns = self.lookups.turns();
        // Whoever has a turn, or waits for one, holds a second reference.
        if turns.get(&self.domain).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            turns.remove(&self.domain);
        }
    }
}

/// The last two parts of a name: `api.example.com` and `www.example.com` have one owner, as far as can be told without a list.
fn domain_of(host: &str) -> String {
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    let parts: Vec<&str> = name.rsplit('.').take(2).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join(".")
}

/// With a dot at the end a name is taken as it is.
fn absolute(host: &str) -> String {
    if host.ends_with('.') { host.to_owned() } else { format!("{host}.") }
}

fn of_servers(servers: &[SocketAddr], timeout: Duration) -> Result<TokioResolver, NetError> {
    let config = ResolverConfig::from_name_servers(servers.iter().map(name_server).collect());
    let mut options = ResolverOpts::default();
    // Both are always asked, so that every address there is can be judged.
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.use_hosts_file = ResolveHosts::Never;
    options.cache_size = 0;
    // The whole connecting has so much time; a server that is silent must leave some of it for the next.
    options.timeout = timeout / 2;
    TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()).with_options(options).build()
}

fn name_server(server: &SocketAddr) -> NameServerConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = server.port();
        connection
    });
    NameServerConfig::new(server.ip(), true, connections.into())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(30);

    /// A resolver that answers nothing until it is let go.
    struct Silent {
        lookups: Lookups,
        asked: Arc<AtomicUsize>,
        let_go: mpsc::Sender<()>,
        wait: Arc<Mutex<mpsc::Receiver<()>>>,
    }

    impl Silent {
        fn new() -> Self {
            let (let_go, wait) = mpsc::channel();
            let (lookups, asked) = (Lookups::default(), Arc::default());
            Self { lookups, asked, let_go, wait: Arc::new(Mutex::new(wait)) }
        }

        /// An attempt that gives up soon.
        async fn give_up_on(&self, host: &str) {
            let (asked, wait) = (Arc::clone(&self.asked), Arc::clone(&self.wait));
            let hang = move |_: &str| {
                asked.fetch_add(1, Ordering::Relaxed);
                // Ends when the sender is dropped.
                let _ = wait.lock().unwrap_or_else(PoisonError::into_inner).recv();
                Ok(Vec::new())
            };
            assert!(timeout(SOON, self.lookups.ask(host, hang)).await.is_err(), "it hangs");
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::Relaxed)
        }

        async fn until_asked(&self, count: usize) {
            let enough = async {
                while self.asked() < count {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            timeout(LONG, enough).await.expect("so many are asked");
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "as a resolver answers")]
    fn found(_: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![IpAddr::from([192, 0, 2, 1])])
    }

    #[tokio::test]
    async fn names_that_hang_hold_only_so_many_threads() {
        let silent = Silent::new();
        for n in 0..2 * MOST_LOOKUPS {
            silent.give_up_on(&format!("a.{n}.example")).await;
        }
        silent.until_asked(MOST_LOOKUPS).await;
        assert!(timeout(SOON, silent.lookups.ask("b.other", found)).await.is_err(), "the next one waits");
        assert_eq!(silent.asked(), MOST_LOOKUPS, "no more threads hang");
        let Silent { lookups, let_go, .. } = silent;
        drop(let_go);
        let answer = timeout(LONG, lookups.ask("b.other", found)).await.expect("a thread is free again");
        assert_eq!(answer.expect("found").len(), 1);
        let forgotten = async {
            while !lookups.turns().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LONG, forgotten).await.expect("no domain is remembered");
    }

    #[tokio::test]
    async fn one_domain_that_hangs_leaves_threads_for_the_others() {
        let silent = Silent::new();
        for n in 0..2 * MOST_LOOKUPS {
            silent.give_up_on(&format!("a{n}.slow.test")).await;
        }
        silent.until_asked(MOST_OF_ONE).await;
        assert_eq!(silent.asked(), MOST_OF_ONE);
        let answer = timeout(LONG, silent.lookups.ask("www.quick.test.", found)).await.expect("a thread is free");
        assert_eq!(answer.expect("found").len(), 1);
    }

    #[test]
    fn names_of_one_owner_are_counted_together() {
        for (host, expected) in [
            ("localhost", "localhost"),
            ("Example.COM.", "example.com"),
            ("a.b.example.com", "example.com"),
            ("billing.internal", "billing.internal"),
        ] {
            assert_eq!(domain_of(host), expected, "{host}");
        }
    }
}
