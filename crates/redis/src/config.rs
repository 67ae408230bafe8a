//! Where Redis is, and how long it is waited for.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use foreman_core::secret::Secret;
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `redis://` or, with TLS, `rediss://`; with user, password and number of the database as Redis writes them.
    pub url: Secret,
    /// Further addresses, as `host:port`: of Sentinels, or of nodes of a cluster.
    pub nodes: Vec<String>,
    pub topology: Topology,
    /// Certificates of who may vouch for the server. `None`: those that the system trusts.
    pub tls_ca: Option<PathBuf>,
    /// Instead of those in the address.
    pub username: Option<String>,
    pub password: Option<Secret>,
    /// What Sentinels ask for, which is not what Redis does.
    pub sentinel_password: Option<Secret>,
    /// What every key and channel begins with: another one for every installation that uses the same Redis.
    pub prefix: String,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long an answer may take. Whoever asks falls back after it.
    pub call_timeout: Duration,
    /// The longest wait before the next try while Redis does not answer.
    pub retry: Duration,
}

/// What stands behind the address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// One server.
    Single,
    /// Sentinels, which know where the master of this name is.
    Sentinel(String),
    /// Nodes that share the keys.
    Cluster,
}

/// Settings that cannot work however long one waits. Never repeats the address: it may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum InvalidConfig {
    #[error("the address of Redis cannot be used: {0}")]
    Address(String),
    #[error("{0:?} is not an address of Redis; write it like host:6379")]
    Node(String),
    #[error("could not read the certificates in {}", path.display())]
    Certificates { path: PathBuf, source: std::io::Error },
    #[error("a Redis Cluster has only database 0")]
    ClusterDatabase,
}

impl Config {
    pub fn at(url: impl Into<String>) -> Self {
        Self {
            url: Secret::new(url),
            nodes: Vec::new(),
            topology: Topology::Single,
            tls_ca: None,
            username: None,
            password: None,
            sentinel_password: None,
            prefix: "foreman:".into(),
            connect_timeout: Duration::from_secs(1),
            call_timeout: Duration::from_millis(50),
            retry: Duration::from_secs(2),
        }
    }

    /// Whether it could work at all.
    pub fn check(&self) -> Result<(), InvalidConfig> {
        self.infos()?;
        self.certificates().map(drop)
    }

    /// The address with the credentials that go with it.
    pub(crate) fn info(&self) -> Result<ConnectionInfo, InvalidConfig> {
        // What the library says may repeat the address.
        let url = self.url.reveal();
        let parsed = url::Url::parse(url).map_err(|error| InvalidConfig::Address(error.to_string()))?;
        if parsed.fragment().is_some() {
            return Err(InvalidConfig::Address("it has a #fragment; certificates are always verified".into()));
        }
        let info = url.into_connection_info().map_err(|error| InvalidConfig::Address(error.category().to_owned()))?;
        let mut redis = info.redis_settings().clone();
        if let Some(username) = &self.username {
            redis = redis.set_username(username);
        }
        if let Some(password) = &self.password {
            redis = redis.set_password(password.reveal());
        }
        if self.topology == Topology::Cluster && redis.db() != 0 {
            return Err(InvalidConfig::ClusterDatabase);
        }
        Ok(info.set_redis_settings(redis.set_lib_name("foreman", env!("CARGO_PKG_VERSION"))))
    }

    /// The address and the further ones, all with TLS or none.
    pub(crate) fn infos(&self) -> Result<Vec<ConnectionInfo>, InvalidConfig> {
        let first = self.info()?;
        let mut infos = vec![first.clone()];
        for node in &self.nodes {
            let (host, port) = split(node).ok_or_else(|| InvalidConfig::Node(node.clone()))?;
            let addr = match first.addr() {
                ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                    ConnectionAddr::TcpTls { host, port, insecure: *insecure, tls_params: tls_params.clone() }
                }
                _ => ConnectionAddr::Tcp(host, port),
            };
            infos.push(first.clone().set_addr(addr));
        }
        Ok(infos)
    }

    pub(crate) fn certificates(&self) -> Result<Option<Vec<u8>>, InvalidConfig> {
        let Some(path) = &self.tls_ca else { return Ok(None) };
        let read = std::fs::read(path).map_err(|source| InvalidConfig::Certificates { path: path.clone(), source });
        read.map(Some)
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Topology::Single => f.write_str("one server"),
            Topology::Sentinel(master) => write!(f, "the master {master} of Sentinels"),
            Topology::Cluster => f.write_str("a cluster"),
        }
    }
}

/// `host:port`, where an IPv6 address has brackets.
fn split(node: &str) -> Option<(String, u16)> {
    let (host, port) = node.rsplit_once(':')?;
    let host = host.strip_prefix('[').map_or(Some(host), |host| host.strip_suffix(']'))?;
    if host.is_empty() || host.contains(['/', '@']) {
        return None;
    }
    Some((host.to_owned(), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_nodes_are_reached_like_the_first() {
        let mut config = Config::at("rediss://user:sesame@a:7000");
        config.nodes = vec!["b:7001".into(), "[::1]:7002".into()];
        let infos = config.infos().expect("addresses");
        let addresses: Vec<String> = infos.iter().map(|info| info.addr().to_string()).collect();
        assert_eq!(addresses, ["a:7000", "b:7001", "::1:7002"]);
        for info in &infos {
            assert!(matches!(info.addr(), ConnectionAddr::TcpTls { insecure: false, .. }));
            assert_eq!(
                (info.redis_settings().username(), info.redis_settings().password()),
                (Some("user"), Some("sesame"))
            );
        }
        config.password = Some(Secret::new("better"));
        assert_eq!(config.info().expect("an address").redis_settings().password(), Some("better"));
    }

    #[test]
    fn what_cannot_work_is_said_without_the_password() {
        for url in ["http://u:sesame@h/", "rediss://u:sesame@h/#insecure", "redis://u:sesame@h/many", "sesame"] {
            let said = Config::at(url).infos().expect_err(url).to_string();
            assert!(!said.contains("sesame"), "{said}");
        }
        for node in ["b", "b:many", "redis://b:1", ":1"] {
            let config = Config { nodes: vec![node.into()], ..Config::at("redis://h") };
            assert!(matches!(config.infos(), Err(InvalidConfig::Node(_))), "{node}");
        }
        let config = Config { topology: Topology::Cluster, ..Config::at("redis://h/1") };
        assert!(matches!(config.infos(), Err(InvalidConfig::ClusterDatabase)));
        let config = Config { tls_ca: Some("/nowhere".into()), ..Config::at("rediss://h") };
        assert!(matches!(config.certificates(), Err(InvalidConfig::Certificates { .. })));
        assert!(!format!("{:?}", Config::at("redis://u:sesame@h")).contains("sesame"));
    }
}
