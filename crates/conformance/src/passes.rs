//! Passes: a session is good for hours, a ticket once and for seconds.

use std::time::Duration;

use super::TenancySubject;
use super::given::{HOUR, PLENTY, SECOND, Scene, at_once, tenant};
use super::prune::for_ever;
use foreman_core::key::{ApiKey, KeyHash};
use foreman_core::ports::{NewPass, Pass, PassHolder, PassKind, Pruned};
use foreman_core::time::Timestamp;

const ANSWERS: &str = "the store answers";
const SOON: Duration = Duration::from_secs(30);

fn hash(shown: &str) -> KeyHash {
    KeyHash::of(shown.as_bytes())
}

fn a_ticket(shown: &str) -> NewPass {
    NewPass {
        hash: hash(shown),
        kind: PassKind::Ticket,
        holder: PassHolder::Nobody,
        tenant: tenant("acme"),
        keep: SOON,
    }
}

fn a_session(shown: &str) -> NewPass {
    NewPass { kind: PassKind::Session, keep: HOUR, ..a_ticket(shown) }
}

async fn issue(subject: &dyn TenancySubject, new: &NewPass) -> Timestamp {
    subject.tenancy().issue_pass(new).await.expect(ANSWERS)
}

async fn show(subject: &dyn TenancySubject, shown: &str) -> Option<Pass> {
    subject.tenancy().pass(&hash(shown)).await.expect(ANSWERS)
}

async fn spend(subject: &dyn TenancySubject, shown: &str) -> Option<Pass> {
    subject.tenancy().spend_ticket(&hash(shown)).await.expect(ANSWERS)
}

async fn revoke(subject: &dyn TenancySubject, shown: &str) -> bool {
    subject.tenancy().revoke_pass(&hash(shown)).await.expect(ANSWERS)
}

fn as_issued(new: &NewPass, expires_at: Timestamp) -> Pass {
    Pass { kind: new.kind, holder: new.holder.clone(), tenant: new.tenant.clone(), expires_at }
}

pub async fn a_pass_reads_back_as_it_was_issued(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let holders =
        [PassHolder::Nobody, PassHolder::Bootstrap(hash("configured")), PassHolder::Key(ApiKey::fresh().id().clone())];
    for (number, holder) in holders.into_iter().enumerate() {
        for new in [a_ticket(&format!("t{number}")), a_session(&format!("s{number}"))] {
            let new = NewPass { holder: holder.clone(), ..new };
            let until = issue(subject, &new).await;
            assert_eq!(until, scene.now().await.plus(new.keep));
            let found = subject.tenancy().pass(&new.hash).await.expect(ANSWERS);
            assert_eq!(found, Some(as_issued(&new, until)));
        }
    }
    assert_eq!(show(subject, "never issued").await, None);
}

pub async fn a_pass_is_good_until_its_time_is_over(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    issue(subject, &a_session("s")).await;
    issue(subject, &a_ticket("t")).await;
    scene.advance(SECOND * 29).await;
    assert!(show(subject, "t").await.is_some() && show(subject, "s").await.is_some());
    scene.advance(SECOND).await;
    assert_eq!(show(subject, "t").await, None, "at its end it is over");
    assert_eq!(spend(subject, "t").await, None);
    assert!(show(subject, "s").await.is_some());
    scene.advance(HOUR).await;
    assert_eq!(show(subject, "s").await, None);
}

pub async fn a_ticket_is_spent_once(subject: &dyn TenancySubject) {
    let new = a_ticket("t");
    let until = issue(subject, &new).await;
    issue(subject, &a_ticket("other")).await;
    assert!(show(subject, "t").await.is_some(), "looked at it is not spent");
    assert_eq!(spend(subject, "t").await, Some(as_issued(&new, until)));
    assert_eq!(spend(subject, "t").await, None);
    assert_eq!(show(subject, "t").await, None);
    assert!(spend(subject, "other").await.is_some(), "each is its own");
    assert_eq!(spend(subject, "never issued").await, None);
}

pub async fn of_many_who_show_one_ticket_at_once_one_is_let_in(subject: &dyn TenancySubject) {
    for round in 0..10 {
        let shown = format!("t{round}");
        issue(subject, &a_ticket(&shown)).await;
        let spent = at_once((0..4).map(|_| {
            let (store, hash) = (subject.tenancy(), hash(&shown));
            async move { store.spend_ticket(&hash).await.expect(ANSWERS) }
        }))
        .await;
        assert_eq!(spent.iter().flatten().count(), 1, "{spent:?}");
    }
}

pub async fn a_session_is_not_spent(subject: &dyn TenancySubject) {
    issue(subject, &a_session("s")).await;
    assert_eq!(spend(subject, "s").await, None);
    assert!(show(subject, "s").await.is_some());
}

pub async fn a_pass_sent_again_is_as_it_was(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    let new = a_session("s");
    let until = issue(subject, &new).await;
    scene.advance(SECOND * 5).await;
    assert_eq!(issue(subject, &new).await, until, "it gains no time by it");
    let other = NewPass { kind: PassKind::Ticket, tenant: tenant("beta"), ..new.clone() };
    assert_eq!(issue(subject, &other).await, until);
    assert_eq!(show(subject, "s").await, Some(as_issued(&new, until)), "nor does it become another");
}

pub async fn a_revoked_pass_opens_nothing(subject: &dyn TenancySubject) {
    issue(subject, &a_session("s")).await;
    issue(subject, &a_session("mine")).await;
    issue(subject, &a_ticket("t")).await;
    for shown in ["s", "t"] {
        assert!(revoke(subject, shown).await);
        assert_eq!(show(subject, shown).await, None);
        assert!(!revoke(subject, shown).await, "it did not open anything any more");
    }
    assert_eq!(spend(subject, "t").await, None);
    assert!(show(subject, "mine").await.is_some(), "each is its own");
    assert!(!revoke(subject, "never issued").await);
}

pub async fn a_pass_that_is_over_was_not_revoked(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    issue(subject, &a_ticket("t")).await;
    scene.advance(SOON).await;
    assert!(!revoke(subject, "t").await);
}

pub async fn what_is_good_for_nothing_is_pruned(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    issue(subject, &a_session("s")).await;
    for shown in ["a", "b", "c"] {
        issue(subject, &a_ticket(shown)).await;
    }
    assert_eq!(scene.prune(&for_ever(), PLENTY).await.passes, 0, "all are good");
    scene.advance(SOON).await;
    let first = scene.prune(&for_ever(), 2).await;
    assert!(first.was_busy(2));
    assert_eq!(first, Pruned { passes: 2, ..Pruned::default() });
    assert_eq!(scene.prune(&for_ever(), 2).await.passes, 1);
    assert!(show(subject, "s").await.is_some());
}
