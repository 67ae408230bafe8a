//! Who is let in, and whether the line can be read: passwords, ACL users, TLS.

use foreman_core::secret::Secret;
use foreman_redis::{Config, InvalidConfig};

use crate::given::{self, Kept, until};
use crate::server::{RedisServer, free_port, pem};

/// As docs/redis.md has it: what Foreman needs, and nothing else.
const RULES: &str = "~foreman:* &foreman:* +@read +@write +@scripting +@pubsub +@connection +time -@dangerous +info";

async fn with_users() -> RedisServer {
    let mut args = vec!["--user", "default", "off", "--user", "foreman", "on", ">sesame"];
    args.extend(RULES.split(' '));
    RedisServer::start(&args).await
}

#[tokio::test]
async fn an_acl_user_that_may_what_foreman_needs_is_enough() {
    let server = with_users().await;
    let mut config =
        Config { prefix: "foreman:".into(), ..given::at(&format!("redis://foreman:sesame@{}", server.address())) };
    Kept::up(&config).await;
    // The same from settings of their own.
    config.url = Secret::new(server.url());
    (config.username, config.password) = (Some("foreman".into()), Some(Secret::new("sesame")));
    let kept = Kept::up(&config).await;
    crate::limits::uses_everything(&kept).await;
    let facts = foreman_redis::doctor::examine(&config, foreman_runtime::clock::now).await.unwrap();
    assert_eq!(facts.nodes.len(), 1);
    config.password = Some(Secret::new("wrong"));
    let kept = Kept::start(&config);
    until("it is refused", async || {
        let why = kept.link.status().why.unwrap_or_default().to_lowercase();
        assert!(!why.contains("wrong\"") && !kept.link.status().is_up);
        why.contains("auth") || why.contains("password")
    })
    .await;
}

async fn with_tls() -> (RedisServer, u16) {
    let port = free_port();
    let (cert, key) = (pem("localhost.cert.pem"), pem("localhost.key.pem"));
    let tls = port.to_string();
    let args = [
        "--port",
        "0",
        "--tls-port",
        &tls,
        "--tls-auth-clients",
        "no",
        "--tls-cert-file",
        cert.to_str().unwrap(),
        "--tls-key-file",
        key.to_str().unwrap(),
        "--tls-ca-cert-file",
        cert.to_str().unwrap(),
        "--requirepass",
        "sesame",
    ];
    (RedisServer::start_at(port, &args).await, port)
}

#[tokio::test]
async fn with_tls_the_server_must_prove_who_it_is() {
    let (_server, port) = with_tls().await;
    let at = |host: &str, ca: Option<&str>| Config {
        tls_ca: ca.map(pem),
        ..given::at(&format!("rediss://:sesame@{host}:{port}"))
    };
    let kept = Kept::up(&at("localhost", Some("localhost.cert.pem"))).await;
    crate::limits::uses_everything(&kept).await;
    for (why, config) in [
        ("another authority", at("localhost", Some("other.cert.pem"))),
        ("an authority of the system's", at("localhost", None)),
        ("another name", at("127.0.0.2", Some("localhost.cert.pem"))),
        ("no TLS", Config { tls_ca: None, ..given::at(&format!("redis://:sesame@localhost:{port}")) }),
    ] {
        let kept = Kept::start(&config);
        until(why, async || {
            assert!(!kept.link.status().is_up, "{why}");
            kept.link.status().why.is_some_and(|said| said != "not connected yet")
        })
        .await;
    }
    assert!(matches!(at("localhost", Some("nothing.pem")).check(), Err(InvalidConfig::Certificates { .. })));
}
