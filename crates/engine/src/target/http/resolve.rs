//! Finds the addresses of a name.
//!
//! Nothing is remembered from one attempt to the next: a name that has moved is found where it is now, and how long its
//! owner says that an answer holds makes no difference to what is judged.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;

use super::connect::root_cause;

pub(super) enum Resolver {
    /// On a thread that may block: files, search lists and whatever else the machine is set up with.
    Machine,
    /// Of these servers only.
    Servers(Box<TokioResolver>),
    /// The servers could not be set up.
    Broken(String),
}

impl Resolver {
    pub(super) fn new(servers: &[SocketAddr], timeout: Duration) -> Self {
        if servers.is_empty() {
            return Self::Machine;
        }
        match of_servers(servers, timeout) {
            Ok(resolver) => Self::Servers(Box::new(resolver)),
            Err(error) => {
                let reason = root_cause(&error);
                tracing::warn!("no name can be resolved: {reason}");
                Self::Broken(reason)
            }
        }
    }

    pub(super) async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let addresses: Vec<IpAddr> = match self {
            Self::Machine => tokio::net::lookup_host((host, 0)).await?.map(|found| found.ip()).collect(),
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
