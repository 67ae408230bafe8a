//! Where an attempt may go, against a name server that lies and houses that must not be called.
//!
//! No test leaves the machine: 127.0.0.2 is allowed and stands for the public internet, and 127.0.0.1 is what it is.

use foreman_core::egress::{Policy, destinations};
use foreman_core::outcome::AttemptEnd;
use foreman_engine::target::http::{Config, HttpRunner};
use foreman_engine::target::{Runner, TryEnding};
use serde_json::json;

use crate::dns::{Kind, NameServer, Record, address};
use crate::given::{AGAIN, attempt, error_of, in_time};
use crate::street::Street;

const NAME: &str = "hooks.example.com";

fn allowing(text: &str) -> Policy {
    Policy { allow: destinations(text).unwrap(), ..Policy::default() }
}

fn runner(names: &NameServer, egress: Policy) -> HttpRunner {
    HttpRunner::new(Config { egress, dns_servers: vec![names.address], ..Config::default() })
}

async fn call(runner: &HttpRunner, url: &str) -> TryEnding {
    in_time(runner.run(&attempt(&json!({"url": url, "payload": 1})))).await
}

/// Refused for good, and nothing is said about why.
fn assert_refused(ending: &TryEnding) {
    assert_eq!(ending.ended, AttemptEnd::Failed, "{ending:?}");
    assert_eq!(error_of(ending), "target not allowed");
    assert_eq!(ending.report.response, None);
}

async fn names_leading_to(records: &'static [&'static str]) -> NameServer {
    NameServer::start(0, |_, _| records.iter().map(|text| address(text)).collect()).await
}

#[tokio::test]
async fn a_name_that_is_bound_to_another_address_after_its_check_leads_nowhere_else() {
    let street = Street::closing().await;
    let names =
        NameServer::start(0, |_, before| vec![address(if before == 0 { "127.0.0.2" } else { "127.0.0.1" })]).await;
    let runner = runner(&names, allowing("127.0.0.2"));
    let first = call(&runner, &street.url(NAME)).await;
    assert_eq!(first.ended, AttemptEnd::Completed, "{first:?}");
    assert_eq!(names.asked(NAME, Kind::V4), 1, "what was checked is what was called: nobody asked in between");
    assert_refused(&call(&runner, &street.url(NAME)).await);
    assert_refused(&call(&runner, &street.url(NAME)).await);
    assert_eq!(names.asked(NAME, Kind::V4), 3, "every attempt asks anew");
    assert_eq!(street.house("127.0.0.2").seen.requests(), 1);
    assert_eq!(street.total().await, 1, "and nobody else was called");
}

#[tokio::test]
async fn how_long_an_answer_may_be_kept_makes_no_difference() {
    for ttl in [0, 1, 86_400] {
        let street = Street::closing().await;
        let names =
            NameServer::start(ttl, |_, before| vec![address(if before == 0 { "127.0.0.2" } else { "127.0.0.1" })])
                .await;
        let runner = runner(&names, allowing("127.0.0.2"));
        assert_eq!(call(&runner, &street.url(NAME)).await.ended, AttemptEnd::Completed);
        assert_refused(&call(&runner, &street.url(NAME)).await);
        assert_eq!(street.total().await, 1);
    }
}

#[tokio::test]
async fn one_address_that_is_refused_refuses_them_all() {
    let street = Street::closing().await;
    for records in [
        &["127.0.0.2", "127.0.0.1"][..],
        &["127.0.0.1", "127.0.0.2"],
        &["127.0.0.2", "::1"],
        &["127.0.0.2", "127.0.0.2", "127.0.0.2", "169.254.169.254"],
        &["127.0.0.2", "::ffff:127.0.0.1"],
        &["127.0.0.2", "::127.0.0.2"],
        &["127.0.0.2", "64:ff9b::7f00:2"],
    ] {
        let names = names_leading_to(records).await;
        assert_refused(&call(&runner(&names, allowing("127.0.0.2")), &street.url(NAME)).await);
        assert_eq!(names.asked(NAME, Kind::V4), 1, "{records:?}");
    }
    assert_eq!(street.total().await, 0);
}

#[tokio::test]
async fn an_alias_is_judged_by_where_it_ends() {
    let street = Street::closing().await;
    let script = |name: &str, _| match name {
        "whole.example.com" => vec![Record::Alias("metadata.google.internal"), address("127.0.0.1")],
        "half.example.com" => vec![Record::Alias("metadata.google.internal")],
        "metadata.google.internal" => vec![address("127.0.0.1")],
        "good.example.com" => vec![Record::Alias("next.example.com")],
        "next.example.com" => vec![Record::Alias("last.example.com"), address("127.0.0.2")],
        "last.example.com" => vec![address("127.0.0.2")],
        _ => Vec::new(),
    };
    let names = NameServer::start(0, script).await;
    let runner = runner(&names, allowing("127.0.0.2"));
    for name in ["whole.example.com", "half.example.com"] {
        assert_refused(&call(&runner, &street.url(name)).await);
    }
    assert_eq!(street.total().await, 0);
    let ending = call(&runner, &street.url("good.example.com")).await;
    assert_eq!(ending.ended, AttemptEnd::Completed, "{ending:?}");
    assert_eq!(
        street.house("127.0.0.2").seen.last().header("host"),
        Some(&*format!("good.example.com:{}", street.port))
    );
}

#[tokio::test]
async fn a_name_with_addresses_of_the_sixth_version_alone_is_judged_by_them() {
    let street = Street::closing().await;
    for records in
        [&["::1"][..], &["::ffff:127.0.0.1"], &["::127.0.0.1"], &["fe80::1"], &["fd00:ec2::254"], &["2002:7f00:1::"]]
    {
        let names = names_leading_to(records).await;
        assert_refused(&call(&runner(&names, allowing("127.0.0.2")), &street.url(NAME)).await);
    }
    assert_eq!(street.total().await, 0);
    let names = names_leading_to(&["::1"]).await;
    let ending = call(&runner(&names, allowing("::1")), &street.url(NAME)).await;
    assert_eq!(ending.ended, AttemptEnd::Completed, "{ending:?}");
    assert_eq!(street.connections_to("::1").await, 1);
}

#[tokio::test]
async fn an_address_in_the_url_is_judged_though_no_resolver_is_asked() {
    let street = Street::closing().await;
    let names = names_leading_to(&["127.0.0.2"]).await;
    let runner = runner(&names, allowing("127.0.0.2"));
    for host in
        ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "localhost"]
    {
        assert_refused(&call(&runner, &street.url(host)).await);
    }
    assert_eq!(street.total().await, 0);
    for host in ["127.0.0.2", "2130706434", "[::ffff:127.0.0.2]"] {
        let ending = call(&runner, &street.url(host)).await;
        assert_eq!(ending.ended, AttemptEnd::Completed, "{host}: {ending:?}");
    }
    assert_eq!((street.connections_to("127.0.0.2").await, street.total().await), (3, 3));
}

#[tokio::test]
async fn a_url_is_judged_again_at_the_attempt_before_anybody_is_asked_for_its_name() {
    let street = Street::closing().await;
    let names = names_leading_to(&["127.0.0.2"]).await;
    let runner = runner(&names, allowing("127.0.0.2"));
    for host in ["payroll.internal", "metadata.example.com", "hooks"] {
        assert_refused(&call(&runner, &street.url(host)).await);
        assert_eq!(names.asked(host, Kind::V4) + names.asked(host, Kind::V6), 0, "{host}");
    }
    assert_refused(&call(&runner, &format!("http://{NAME}:25/")).await);
    assert_eq!((names.asked(NAME, Kind::V4), street.total().await), (0, 0));
}

/// To connect to 0.0.0.0 is to connect to 127.0.0.1: the one way without a router to end up elsewhere than one went.
#[tokio::test]
async fn whoever_turns_out_to_be_at_the_other_end_is_judged_before_anything_is_sent() {
    let street = Street::closing().await;
    let names = names_leading_to(&["0.0.0.0"]).await;
    let elsewhere = runner(&names, allowing("0.0.0.0,::"));
    for host in ["0.0.0.0", "[::]", NAME] {
        assert_refused(&call(&elsewhere, &street.url(host)).await);
    }
    let sent = ["127.0.0.1", "::1"].map(|address| street.house(address).seen.requests());
    assert_eq!(sent, [0, 0]);
    let both = runner(&names, allowing("0.0.0.0,127.0.0.1"));
    assert_eq!(call(&both, &street.url(NAME)).await.ended, AttemptEnd::Completed);
    assert_eq!(street.house("127.0.0.1").seen.requests(), 1);
}

#[tokio::test]
async fn an_allowed_host_is_called_where_it_is_and_its_neighbour_is_not() {
    let street = Street::closing().await;
    let names = names_leading_to(&["127.0.0.1"]).await;
    let runner = runner(&names, allowing("billing.internal,*.apps.internal"));
    for host in ["billing.internal", "a.apps.internal"] {
        let ending = call(&runner, &street.url(host)).await;
        assert_eq!(ending.ended, AttemptEnd::Completed, "{host}: {ending:?}");
    }
    for host in ["payroll.internal", "apps.internal", NAME, "127.0.0.1"] {
        assert_refused(&call(&runner, &street.url(host)).await);
    }
    assert_eq!(street.total().await, 2);
}

#[tokio::test]
async fn a_kept_connection_is_judged_by_the_rules_of_the_moment_it_is_taken() {
    let street = Street::keeping().await;
    let names = names_leading_to(&["127.0.0.2"]).await;
    let runner = runner(&names, allowing("127.0.0.2"));
    let house = street.house("127.0.0.2");
    for _ in 0..2 {
        assert_eq!(call(&runner, &street.url(NAME)).await.ended, AttemptEnd::Completed);
    }
    assert_eq!((house.seen.connections(), house.seen.requests()), (1, 2), "it is kept, and used again");
    runner.set_egress(Policy::default());
    assert_refused(&call(&runner, &street.url(NAME)).await);
    runner.set_egress(allowing("127.0.0.2"));
    assert_eq!(call(&runner, &street.url(NAME)).await.ended, AttemptEnd::Completed);
    assert_eq!((house.seen.connections(), house.seen.requests()), (2, 3), "the connection that was refused is closed");
}

#[tokio::test]
async fn a_kept_connection_is_not_followed_to_where_its_name_leads_now() {
    let street = Street::keeping().await;
    let names =
        NameServer::start(0, |_, before| vec![address(if before == 0 { "127.0.0.2" } else { "127.0.0.1" })]).await;
    let runner = runner(&names, allowing("127.0.0.2"));
    for _ in 0..3 {
        assert_eq!(call(&runner, &street.url(NAME)).await.ended, AttemptEnd::Completed);
    }
    assert_eq!(street.house("127.0.0.2").seen.requests(), 3);
    assert_eq!(street.total().await, 1);
}

#[tokio::test]
async fn a_name_that_nobody_knows_may_be_known_by_the_next_attempt() {
    let street = Street::closing().await;
    let names = names_leading_to(&[]).await;
    let ending = call(&runner(&names, Policy::default()), &street.url(NAME)).await;
    assert_eq!(ending.ended, AGAIN);
    assert_eq!(error_of(&ending), format!("cannot resolve {NAME}: the name has no address"));
}

#[tokio::test]
async fn a_name_server_that_is_silent_costs_an_attempt_no_more_than_its_time_to_connect() {
    let silent = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let runner = HttpRunner::new(Config {
        connect_timeout: std::time::Duration::from_millis(300),
        dns_servers: vec![silent.local_addr().unwrap()],
        ..Config::default()
    });
    let ending = call(&runner, &format!("http://{NAME}/")).await;
    assert_eq!(ending.ended, AGAIN);
    assert!(error_of(&ending).starts_with(&format!("cannot resolve {NAME}: ")), "{ending:?}");
}

#[tokio::test]
async fn without_rules_an_attempt_goes_wherever_its_url_leads() {
    let street = Street::closing().await;
    let names = names_leading_to(&["127.0.0.1"]).await;
    let runner = HttpRunner::new(Config { dns_servers: vec![names.address], ..Config::default() });
    for host in ["127.0.0.1", "[::1]", NAME, "payroll.internal"] {
        let ending = call(&runner, &street.url(host)).await;
        assert_eq!(ending.ended, AttemptEnd::Completed, "{host}: {ending:?}");
    }
    assert_eq!(street.total().await, 4);
}
