//! Brokers that want to know who it is, and that deny some what others may do.

use std::sync::Arc;

use foreman_core::Lane;
use foreman_core::ports::{Feed as _, Publisher as _};
use foreman_core::secret::Secret;
use foreman_kafka::{Config, Error, GroupProtocol, Right, SaslLogin, SaslMechanism, Security, TopicKind};
use tokio::time::Instant;

use crate::acl::{Operation, Resource, grant};
use crate::broker::{shared, shared_login};
use crate::stage::{PATIENCE, Site, config, ids, ids_of, publish, some_jobs, take};

/// The settings of someone who logs in with a password.
fn login(user: &str, password: &str, partitions: i32) -> Config {
    let password = Secret::new(password);
    let login = SaslLogin { mechanism: SaslMechanism::Plain, user: user.into(), password };
    let security = Security { tls: None, sasl: Some(login) };
    Config { security, ..config(&shared_login(), partitions) }
}

/// The same topics and groups, for someone who may do anything.
fn as_owner(config: &Config) -> Config {
    Config { brokers: shared(), security: Security::default(), ..config.clone() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_logs_in_with_the_right_password_publishes_and_consumes() {
    let site = Site::of(login("foreman", "foreman", 2)).await;
    let feed = site.feed(&Arc::default());
    let jobs = some_jobs(Lane::Normal, 20);
    publish(&site.publisher(), &jobs).await;
    let taken = take(&feed, jobs.len()).await;
    assert_eq!(ids_of(&taken), ids(&jobs));
    feed.settled(taken);
    Site::bare(as_owner(&site.config)).until_committed(TopicKind::Normal, 20).await;
    feed.close(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_is_refused_and_the_reason_is_said() {
    let site = Site::bare(login("foreman", "open sesame", 1));
    site.keep_topics();
    let feed = site.feed(&Arc::default());
    let is_refused = |error: &Error| matches!(error, Error::Refused(why) if why.contains("Authentication failed"));
    site.until("the refusal", |state| state.topics.as_ref().is_err_and(is_refused)).await;
    // It stays that, whatever the clients meet while they try again.
    let answers = site.publisher().publish(&some_jobs(Lane::High, 1)).await;
    assert!(answers.iter().all(Result::is_err), "{answers:?}");
    let state = site.state();
    assert!(!state.is_connected && state.topics.as_ref().is_err_and(is_refused), "{state:?}");
    assert!(!state.problem().expect("a problem").contains("sesame"));
    feed.close(PATIENCE).await;
}

async fn missing_rights_are_reported_until_granted(protocol: GroupProtocol) {
    let guest = Config { protocol, ..login("guest", "guest", 1) };
    let prefix = guest.topic_prefix.clone();
    let (topic, group) = (guest.topic(TopicKind::High), guest.group_of(TopicKind::High));
    // Somebody else has made the topics.
    let owner = Site::of(as_owner(&guest)).await;
    let site = Site::bare(guest);
    site.keep_topics();
    site.until("unseen topics", |state| {
        state.problem().is_some_and(|problem| problem.contains("do not let this client see topic"))
    })
    .await;
    grant("guest", Operation::Describe, Resource::Topics, &prefix).await;
    site.until("topics that are seen", |state| state.topics.is_ok()).await;

    let (publisher, feed) = (site.publisher(), site.feed(&Arc::default()));
    site.until("the denied group", |state| state.denied.contains(&Right::ReadGroup(group.clone()))).await;
    assert!(site.state().problem().expect("a problem").contains(&format!("READ on group {group}")));
    let answers = publisher.publish(&some_jobs(Lane::High, 1)).await;
    assert!(answers[0].is_err(), "{answers:?}");
    let writes = [Right::Write(topic.clone()), Right::IdempotentWrite];
    site.until("the denied topic", |state| writes.iter().any(|right| state.denied.contains(right))).await;

    grant("guest", Operation::Read, Resource::Groups, &prefix).await;
    publish(&owner.publisher(), &some_jobs(Lane::High, 1)).await;
    site.until("a topic that cannot be read", |state| state.denied.contains(&Right::Read(topic.clone()))).await;
    assert!(site.state().is_connected, "somebody says all this");

    grant("guest", Operation::Read, Resource::Topics, &prefix).await;
    grant("guest", Operation::Write, Resource::Topics, &prefix).await;
    let jobs = some_jobs(Lane::High, 1);
    let give_up = Instant::now() + PATIENCE;
    while publisher.publish(&jobs).await[0].is_err() {
        assert!(Instant::now() < give_up, "what was granted helps nothing: {:#?}", site.state());
    }
    assert_eq!(take(&feed, 2).await.len(), 2);
    site.until("nothing that is denied", |state| state.problem().is_none()).await;
    feed.close(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_that_are_missing_are_reported_until_they_are_granted() {
    missing_rights_are_reported_until_granted(GroupProtocol::Consumer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_that_are_missing_are_reported_with_the_classic_protocol_too() {
    missing_rights_are_reported_until_granted(GroupProtocol::Classic).await;
}
