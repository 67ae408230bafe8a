//! TLS and SCRAM, in a binary that was built for them: `make torture` runs this, for compiling OpenSSL takes minutes.
//!
//! ```text
//! scripts/with-services --kafka cargo test -p foreman-kafka --features kafka-tls --test it tls::
//! ```

use std::path::Path;
use std::sync::Arc;

use foreman_core::Lane;
use foreman_core::ports::Feed as _;
use foreman_core::secret::Secret;
use foreman_kafka::{Config, Error, SaslLogin, SaslMechanism, Security, TlsFiles};
use tempfile::TempDir;

use crate::broker::Broker;
use crate::stage::{PATIENCE, Site, config, ids, ids_of, publish, some_jobs, take};

/// A certificate for the loopback address that vouches for itself, made for tests.
const FILES: &str = "../postgres/tests/it/tls";

async fn broker_with_tls(directory: &TempDir) -> Broker {
    // Kafka wants both in one file.
    let store = directory.path().join("keystore.pem");
    let read = |name| std::fs::read_to_string(Path::new(FILES).join(name)).expect("the file is there");
    std::fs::write(&store, read("localhost.key.pem") + &read("localhost.cert.pem")).expect("it can be written");
    Broker::start(&[
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,LOGIN:SASL_SSL,CONTROLLER:PLAINTEXT",
        "listener.name.login.ssl.keystore.type=PEM",
        &format!("listener.name.login.ssl.keystore.location={}", store.display()),
    ])
    .await
}

fn over_tls(broker: &Broker, mechanism: SaslMechanism, ca: &str) -> Config {
    let tls = TlsFiles { ca: Some(Path::new(FILES).join(ca)), ..TlsFiles::default() };
    let login = SaslLogin { mechanism, user: "foreman".into(), password: Secret::new("foreman") };
    let security = Security { tls: Some(tls), sasl: Some(login) };
    Config { security, ..config(&broker.login_address, 1) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_travel_over_tls_and_a_broker_without_a_trusted_certificate_is_not_used() {
    let directory = TempDir::with_prefix("foreman-kafka-tls-").expect("a directory can be made");
    let broker = broker_with_tls(&directory).await;
    for mechanism in [SaslMechanism::Plain, SaslMechanism::ScramSha256] {
        let site = Site::of(over_tls(&broker, mechanism, "localhost.cert.pem")).await;
        let feed = site.feed(&Arc::default());
        let jobs = some_jobs(Lane::Normal, 20);
        publish(&site.publisher(), &jobs).await;
        let taken = take(&feed, jobs.len()).await;
        assert_eq!(ids_of(&taken), ids(&jobs));
        feed.settled(taken);
        feed.close(PATIENCE).await;
    }
    let stranger = Site::bare(over_tls(&broker, SaslMechanism::Plain, "other.cert.pem"));
    assert!(matches!(stranger.kafka.topics().ensure().await, Err(Error::Unreachable(_))), "nobody vouches for it");
}
