//! How a connection is made: to one server, to the master that Sentinels name, or to a cluster.
//!
//! Each try asks anew where the master is, so that after a failover the next connection leads to the new one.

use std::time::Duration;

use redis::aio::{ConnectionLike, MultiplexedConnection, PubSub};
use redis::cluster::ClusterClientBuilder;
use redis::cluster_async::ClusterConnection;
use redis::sentinel::{SentinelClientBuilder, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, Pipeline, RedisFuture, RedisResult,
    TlsCertificates, TlsMode, Value,
};
use tokio::time::timeout;

use crate::config::{Config, InvalidConfig, Topology};

/// So many requests may wait for an answer on one connection; more wait for their turn, and not for longer than for an answer.
const IN_FLIGHT: usize = 4_096;

/// Makes connections.
pub(crate) struct Dialer {
    infos: Vec<ConnectionInfo>,
    topology: Topology,
    certificates: Option<TlsCertificates>,
    sentinel_password: Option<foreman_core::secret::Secret>,
    connect_timeout: Duration,
    call_timeout: Duration,
}

/// Why there is no connection, or no answer on it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkFault {
    #[error(transparent)]
    Redis(#[from] redis::RedisError),
    #[error("no answer within {0:?}")]
    Late(Duration),
    #[error("the connection was closed")]
    Closed,
}

/// Cheap to clone: all clones share what lies below.
#[derive(Clone)]
pub(crate) enum Connection {
    One(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Connection::One(connection) => connection.req_packed_command(cmd),
            Connection::Cluster(connection) => connection.req_packed_command(cmd),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Connection::One(connection) => connection.req_packed_commands(pipeline, offset, count),
            Connection::Cluster(connection) => connection.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Connection::One(connection) => connection.get_db(),
            Connection::Cluster(connection) => connection.get_db(),
        }
    }
}

impl Dialer {
    pub fn new(config: &Config) -> Result<Self, InvalidConfig> {
        // The library takes the provider of the process. Another part may have chosen it already, and then it is the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let root_cert = config.certificates()?;
        Ok(Self {
            infos: config.infos()?,
            topology: config.topology.clone(),
            certificates: root_cert.map(|root| TlsCertificates { client_tls: None, root_cert: Some(root) }),
            sentinel_password: config.sentinel_password.clone(),
            connect_timeout: config.connect_timeout,
            call_timeout: config.call_timeout,
        })
    }

    /// A connection for commands.
    pub async fn connect(&self) -> Result<Connection, LinkFault> {
        self.in_time(async {
            if self.topology == Topology::Cluster {
                return self.cluster().await.map(Connection::Cluster);
            }
            let config = AsyncConnectionConfig::new()
                .set_connection_timeout(Some(self.connect_timeout))
                // Whoever asks has a limit of its own.
                .set_response_timeout(None)
                .set_pipeline_buffer_size(IN_FLIGHT)
                .set_concurrency_limit(IN_FLIGHT);
            let client = self.master().await?;
            client.get_multiplexed_async_connection_with_config(&config).await.map(Connection::One)
        })
        .await
    }

    /// A connection of its own for messages. In a cluster every node passes every message on, so any of them will do.
    pub async fn subscribe(&self, channel: &str) -> Result<PubSub, LinkFault> {
        self.in_time(async {
            let mut pubsub = if self.topology == Topology::Cluster {
                self.any_node().await?
            } else {
                self.master().await?.get_async_pubsub().await?
            };
            pubsub.subscribe(channel).await?;
            Ok(pubsub)
        })
        .await
    }

    async fn any_node(&self) -> RedisResult<PubSub> {
        let (last, others) = self.infos.split_last().expect("there is at least the address itself");
        for info in others {
            // One that is down must leave time for the next.
            if let Ok(Ok(pubsub)) = timeout(self.connect_timeout, self.client(info)?.get_async_pubsub()).await {
                return Ok(pubsub);
            }
        }
        self.client(last)?.get_async_pubsub().await
    }

    /// Whoever takes writes now.
    async fn master(&self) -> RedisResult<Client> {
        match &self.topology {
            Topology::Sentinel(name) => self.sentinels(name)?.build()?.async_get_client().await,
            _ => self.client(&self.infos[0]),
        }
    }

    fn client(&self, info: &ConnectionInfo) -> RedisResult<Client> {
        match (&self.certificates, info.addr()) {
            (Some(certificates), ConnectionAddr::TcpTls { .. }) => {
                Client::build_with_tls(info.clone(), certificates.clone())
            }
            _ => Client::open(info.clone()),
        }
    }

    fn sentinels(&self, name: &str) -> RedisResult<SentinelClientBuilder> {
        let addresses: Vec<ConnectionAddr> = self.infos.iter().map(|info| info.addr().clone()).collect();
        let redis = self.infos[0].redis_settings();
        let mut builder =
            SentinelClientBuilder::new(addresses, name, SentinelServerType::Master)?.set_client_to_redis_db(redis.db());
        if let Some(username) = redis.username() {
            builder = builder.set_client_to_redis_username(username);
        }
        if let Some(password) = redis.password() {
            builder = builder.set_client_to_redis_password(password);
        }
        if let Some(password) = &self.sentinel_password {
            builder = builder.set_client_to_sentinel_password(password.reveal());
        }
        if matches!(self.infos[0].addr(), ConnectionAddr::TcpTls { .. }) {
            builder =
                builder.set_client_to_redis_tls_mode(TlsMode::Secure).set_client_to_sentinel_tls_mode(TlsMode::Secure);
            if let Some(certificates) = &self.certificates {
                builder = builder
                    .set_client_to_redis_certificates(certificates.clone())
                    .set_client_to_sentinel_certificates(certificates.clone());
            }
        }
        Ok(builder)
    }

    async fn cluster(&self) -> RedisResult<ClusterConnection> {
        let mut builder = ClusterClientBuilder::new(self.infos.clone())
            .connection_timeout(self.connect_timeout)
            .response_timeout(self.call_timeout)
            // A slot that moved is followed; a node that is gone is found out by whoever asks next.
            .retries(2);
        if let Some(certificates) = &self.certificates {
            builder = builder.certs(certificates.clone());
        }
        builder.build()?.get_async_connection().await
    }

    /// One that does not answer must leave time to ask the next.
    async fn in_time<T>(&self, connecting: impl Future<Output = RedisResult<T>>) -> Result<T, LinkFault> {
        let limit = self.connect_timeout * (u32::try_from(self.infos.len()).unwrap_or(u32::MAX).saturating_add(1));
        // Seldom, and large: whoever waits for it need not carry it.
        timeout(limit, Box::pin(connecting)).await.map_err(|_| LinkFault::Late(limit))?.map_err(LinkFault::Redis)
    }
}
