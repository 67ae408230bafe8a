//! https: whom to believe, and what is said when one cannot.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use foreman_core::outcome::AttemptEnd;
use foreman_engine::target::http::{Config, HttpRunner, Trust};
use foreman_engine::target::{Runner, TryEnding};
use foreman_runtime::Tasks;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};
use serde_json::json;

use crate::given::{AGAIN, attempt, error_of, in_time};
use crate::server::Server;

/// For `localhost` and 127.0.0.1, signed by itself; made for these tests and trusted by nobody else.
const CERTIFICATE: &[u8] = include_bytes!("tls/localhost.cert.pem");
const KEY: &[u8] = include_bytes!("tls/localhost.key.pem");

fn certificate() -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(CERTIFICATE).unwrap()
}

fn secure_server() -> SocketAddr {
    secure_server_at("127.0.0.1").unwrap()
}

/// Answers one connection with `hello`, as far as the client goes along.
fn secure_server_at(address: &str) -> Option<SocketAddr> {
    let listener = TcpListener::bind((address, 0)).ok()?;
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate()], PrivateKeyDer::from_pem_slice(KEY).unwrap())
        .unwrap();
    let config = Arc::new(config);
    let address = listener.local_addr().unwrap();
    drop(Tasks::new().spawn_blocking("tls server", move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut session = ServerConnection::new(config).unwrap();
        let mut stream = Stream::new(&mut session, &mut socket);
        let mut request = Vec::new();
        let mut chunk = [0; 1024];
        while !request.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
            match stream.read(&mut chunk) {
                Ok(length @ 1..) => request.extend_from_slice(&chunk[..length]),
                _ => return,
            }
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
    }));
    Some(address)
}

async fn call(trust: Trust, host: &str, port: u16) -> TryEnding {
    let runner = HttpRunner::new(Config { trust, connect_timeout: Duration::from_secs(2), ..Config::default() });
    let url = format!("https://{host}:{port}/path?token=secret");
    let ending = in_time(runner.run(&attempt(&json!({"url": url, "method": "GET"})))).await;
    assert!(!error_of(&ending).contains("secret"));
    ending
}

#[tokio::test]
async fn a_server_that_a_trusted_certificate_vouches_for_is_called() {
    for host in ["localhost", "127.0.0.1"] {
        let ending = call(Trust::Only(vec![certificate()]), host, secure_server().port()).await;
        assert_eq!(ending.ended, AttemptEnd::Completed, "{ending:?}");
        assert_eq!(ending.report.response.unwrap().body, "hello");
    }
}

#[tokio::test]
async fn a_server_that_nobody_vouches_for_is_not() {
    let port = secure_server().port();
    let ending = call(Trust::Platform, "localhost", port).await;
    assert_eq!(ending.ended, AGAIN);
    assert!(error_of(&ending).starts_with(&format!("TLS handshake with localhost:{port} failed: ")), "{ending:?}");
    assert_eq!(ending.report.response, None);
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    // On Linux all of 127.0.0.0/8 is this machine; the certificate names only its first address.
    let Some(address) = secure_server_at("127.0.0.2") else { return };
    let ending = call(Trust::Only(vec![certificate()]), "127.0.0.2", address.port()).await;
    assert_eq!(ending.ended, AGAIN);
    assert!(error_of(&ending).contains("TLS handshake with 127.0.0.2:"), "{ending:?}");
    assert!(error_of(&ending).contains("not valid for name"), "{ending:?}");
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_told_apart() {
    let server = Server::start(|mut peer| async move {
        peer.send(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
        peer.until_closed().await;
    })
    .await;
    let ending = call(Trust::Only(vec![certificate()]), "127.0.0.1", server.address.port()).await;
    assert_eq!(ending.ended, AGAIN);
    assert!(error_of(&ending).starts_with("TLS handshake with 127.0.0.1:"), "{ending:?}");
}

#[tokio::test]
async fn a_handshake_that_hangs_times_out_as_such() {
    let server = Server::start(|mut peer| async move { peer.until_closed().await }).await;
    let runner = HttpRunner::new(Config {
        trust: Trust::Only(vec![certificate()]),
        connect_timeout: Duration::from_millis(200),
        ..Config::default()
    });
    let url = format!("https://{}/", server.address);
    let ending = in_time(runner.run(&attempt(&json!({"url": url})))).await;
    assert_eq!(ending.ended, AGAIN);
    assert_eq!(error_of(&ending), format!("TLS handshake with {} failed: no answer within 200ms", server.address));
}
