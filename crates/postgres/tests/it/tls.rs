//! TLS towards the server: with authorities named, it must prove who it is.
//!
//! The shared server may have no TLS, so a small front speaks it for it, with a certificate made for these tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use foreman_core::memory::LocalWakeups;
use foreman_core::ports::JobQuery as _;
use foreman_postgres::{Config, OpenError, PostgresStore};
use foreman_runtime::Tasks;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::given::Database;
use crate::wire::behind;

fn pem(name: &str) -> PathBuf {
    Path::new("tests/it/tls").join(name)
}

/// Speaks TLS for the shared server; the address that leads through it to this database.
async fn front(tasks: &Tasks, database: &Database) -> String {
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_file(pem("localhost.cert.pem")).unwrap()],
            PrivateKeyDer::from_pem_file(pem("localhost.key.pem")).unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let connections = tasks.clone();
    drop(tasks.spawn("tls front", async move {
        loop {
            let (near, _) = listener.accept().await.unwrap();
            drop(connections.spawn("a connection through the tls front", carry(acceptor.clone(), near)));
        }
    }));
    format!("{}?sslmode=require", database.url().split('?').next().unwrap().replace(&behind(), &address))
}

async fn carry(acceptor: TlsAcceptor, mut near: TcpStream) {
    // A client that wants TLS asks for it in eight bytes of its own, before anything else.
    let mut asked = [0; 8];
    near.read_exact(&mut asked).await.unwrap();
    near.write_all(b"S").await.unwrap();
    let Ok(mut near) = acceptor.accept(near).await else { return };
    let mut far = TcpStream::connect(behind()).await.unwrap();
    let _ = copy_bidirectional(&mut near, &mut far).await;
}

async fn open(url: String, authorities: Option<&str>) -> Result<PostgresStore, OpenError> {
    let mut config = Config::at(url);
    config.tls_ca = authorities.map(pem);
    PostgresStore::open(config, Arc::new(LocalWakeups::new())).await
}

#[tokio::test]
async fn a_server_that_a_named_authority_vouches_for_is_used() {
    let (tasks, database) = (Tasks::new(), Database::ready().await);
    let url = front(&tasks, &database).await;
    let store = open(url, Some("localhost.cert.pem")).await.unwrap();
    store.ping().await.unwrap();
    store.close();
}

#[tokio::test]
async fn a_server_that_no_named_authority_vouches_for_is_refused() {
    let (tasks, database) = (Tasks::new(), Database::ready().await);
    let url = front(&tasks, &database).await;
    assert!(open(url.clone(), Some("other.cert.pem")).await.is_err(), "another authority");
    let store = open(url, None).await.expect("without authorities any certificate will do");
    store.close();
}

#[tokio::test]
async fn a_file_of_authorities_that_cannot_be_read_is_named() {
    let (tasks, database) = (Tasks::new(), Database::ready().await);
    let url = front(&tasks, &database).await;
    for file in ["nothing.pem", "../main.rs"] {
        let error = open(url.clone(), Some(file)).await.err().expect("no authority is in there");
        assert!(format!("{:#}", anyhow::Error::from(error)).contains(file), "the file is named");
    }
}
