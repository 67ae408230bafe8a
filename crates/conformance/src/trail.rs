//! The audit log: each act is kept once, as it was told, for its time.

use super::TenancySubject;
use super::given::{DAY, HOUR, PLENTY, SECOND, Scene, at_once, tenant};
use super::prune::for_ever;
use foreman_core::audit::{Act, Actor, AuditEntry};
use foreman_core::id::{EntryId, TenantId};
use foreman_core::key::ApiKey;
use foreman_core::ports::{Pruned, Retention};

const ANSWERS: &str = "the store answers";

pub(super) fn act(of: &str, action: &str) -> Act {
    Act {
        tenant: tenant(of),
        actor: Actor::Bootstrap,
        action: action.into(),
        object: "key/3f9".into(),
        status: 204,
        request: None,
        peer: None,
    }
}

async fn record(subject: &dyn TenancySubject, act: &Act) -> EntryId {
    let id = EntryId::fresh();
    subject.tenancy().record(id, act).await.expect(ANSWERS);
    id
}

async fn trail(subject: &dyn TenancySubject, of: Option<&str>) -> Vec<AuditEntry> {
    let of: Option<TenantId> = of.map(tenant);
    subject.tenancy().audit_log(of.as_ref(), None, PLENTY).await.expect(ANSWERS)
}

pub async fn an_act_reads_back_as_it_was_told(subject: &dyn TenancySubject) {
    let actors =
        [Actor::Key(ApiKey::fresh().id().clone()), Actor::Bootstrap, Actor::Nobody, Actor::Direct, Actor::System];
    let mut expected = Vec::new();
    for (number, actor) in actors.into_iter().enumerate() {
        let told = Act {
            actor,
            object: "queue/it's \"ü\"; --".into(),
            status: [200, 202, 404, 422, 500][number],
            request: (number % 2 == 0).then(|| "req-1".into()),
            peer: (number % 2 == 1).then(|| "[2001:db8::1]:443".into()),
            ..act("acme", "job.cancel")
        };
        let id = record(subject, &told).await;
        expected.insert(0, AuditEntry { id, at: subject.now().await, act: told });
        subject.advance(SECOND).await;
    }
    assert_eq!(trail(subject, None).await, expected, "the newest first");
}

pub async fn an_act_told_again_is_kept_once(subject: &dyn TenancySubject) {
    let (id, told, now) = (EntryId::fresh(), act("acme", "key.revoke"), subject.now().await);
    for _ in 0..3 {
        subject.tenancy().record(id, &told).await.expect(ANSWERS);
        subject.advance(SECOND).await;
    }
    at_once((0..4).map(|_| {
        let (store, told) = (subject.tenancy(), told.clone());
        async move { store.record(id, &told).await.expect(ANSWERS) }
    }))
    .await;
    subject.tenancy().record(id, &act("other", "key.create")).await.expect(ANSWERS);
    assert_eq!(trail(subject, None).await, [AuditEntry { id, at: now, act: told }], "as it was told first");
}

pub async fn acts_of_one_tenant_can_be_asked_for(subject: &dyn TenancySubject) {
    let mut all = Vec::new();
    for (number, of) in ["acme", "other", "acme", "default", "acme-2"].into_iter().enumerate() {
        all.push((of, record(subject, &act(of, &format!("act.{number}"))).await));
    }
    all.reverse();
    for asked in [None, Some("acme"), Some("other"), Some("acme-2"), Some("default"), Some("nobody")] {
        let seen: Vec<EntryId> = trail(subject, asked).await.iter().map(|entry| entry.id).collect();
        let expected = all.iter().filter(|(of, _)| asked.is_none_or(|asked| asked == *of)).map(|(_, id)| *id);
        assert_eq!(seen, expected.collect::<Vec<_>>(), "{asked:?}");
    }
}

pub async fn the_trail_is_read_page_by_page(subject: &dyn TenancySubject) {
    for number in 0..12 {
        record(subject, &act(["acme", "other"][number % 2], "job.redrive")).await;
    }
    for of in [None, Some("acme")] {
        let whole = trail(subject, of).await;
        assert_eq!(whole.len(), if of.is_some() { 6 } else { 12 });
        let asked = of.map(tenant);
        for limit in [1, 4, 12] {
            let (mut before, mut seen) = (None, Vec::new());
            loop {
                let page = subject.tenancy().audit_log(asked.as_ref(), before, limit).await.expect(ANSWERS);
                assert!(page.len() <= limit);
                let Some(last) = page.last() else { break };
                before = Some(last.id);
                seen.extend(page);
            }
            assert_eq!(seen, whole, "in pages of {limit}");
        }
    }
}

pub async fn the_trail_is_pruned_by_age(subject: &dyn TenancySubject) {
    let scene = Scene::of(subject);
    for of in ["acme", "other", "acme"] {
        record(subject, &act(of, "job.cancel")).await;
    }
    scene.advance(HOUR).await;
    let young = record(subject, &act("acme", "job.cancel")).await;
    let retention = Retention { audit: DAY, ..for_ever() };
    scene.advance(DAY.saturating_sub(HOUR + SECOND)).await;
    assert_eq!(scene.prune(&retention, PLENTY).await, Pruned::default(), "not before its time");
    scene.advance(SECOND * 2).await;
    let mut pruned = Vec::new();
    for _ in 0..3 {
        let step = scene.prune(&retention, 2).await;
        assert_eq!(step.was_busy(2), step.audit == 2);
        pruned.push(step.audit);
    }
    assert_eq!(pruned, [2, 1, 0]);
    assert_eq!(trail(subject, None).await.iter().map(|entry| entry.id).collect::<Vec<_>>(), [young]);
}

/// It is there to tell who deleted the tenant.
pub async fn a_deleted_tenant_stays_in_the_trail(subject: &dyn TenancySubject) {
    let there = super::tenants_kept::made(subject, "acme").await;
    let id = record(subject, &act("acme", "tenant.delete")).await;
    let disabled = foreman_core::tenant::TenantSettings { is_disabled: true, ..Default::default() };
    let there = super::tenants_kept::changed(subject, &there, disabled).await;
    subject.tenancy().delete_tenant(&there.id, there.version).await.expect(ANSWERS);
    assert_eq!(trail(subject, Some("acme")).await.iter().map(|entry| entry.id).collect::<Vec<_>>(), [id]);
}
