//! Every write that only a leader makes carries its term: made under a term that is over, it does nothing.
//!
//! A leader that was paused past its term goes on where it stopped. [`Write`] lists all it may be about to write; a loop that
//! works only while its process leads writes through these and nothing else. (Promoting, expiring and sweeping are not among them:
//! any number of processes do that at once.) A store that one process has for itself has no terms, and obeys.

use super::given::{DAY, MINUTE, Scene, a_job, tenant};
use super::posting::{Round, courier};
use super::prune::for_ever;
use super::statistics::{Stretch, position};
use super::timetable::{every_minute, next_firing};
use super::trail::act;
use super::webhooks_kept::made;
use super::{Reigns, TenancySubject};
use foreman_core::id::{EntryId, JobId, TenantId};
use foreman_core::ports::{
    Begin, DeliveryNote, Firing, FollowerName, JobFilter, Leader, Position, PruneKind, Retention, ScheduleView, Went,
};
use foreman_core::state::State;
use foreman_core::webhook::Webhook;

const ANSWERS: &str = "the store answers";

#[derive(Clone, Copy, Debug)]
enum Write {
    Fire,
    Cancel,
    Book,
    NoteDeliveries,
    Record,
    Post,
    AppointCourier,
    DismissCourier,
    Prune(PruneKind),
}

/// In an order in which each finds something to do.
fn all() -> Vec<Write> {
    let mut all = vec![
        Write::Fire,
        Write::Cancel,
        Write::Book,
        Write::NoteDeliveries,
        Write::Record,
        Write::Post,
        Write::DismissCourier,
        Write::AppointCourier,
    ];
    all.extend(PruneKind::ALL.map(Write::Prune));
    all
}

/// Something for each of them to do.
struct Stage<'a> {
    subject: &'a dyn TenancySubject,
    schedule: ScheduleView,
    firing: Firing,
    waiting: JobId,
    webhook: Webhook,
    entry: EntryId,
    from: Position,
}

impl<'a> Stage<'a> {
    async fn new(subject: &'a dyn TenancySubject) -> Self {
        let scene = Scene::of(subject);
        let schedule = scene.plant(every_minute("daily").queued("fired")).await;
        let webhook = made(subject, "acme").await;
        let from = courier(&*subject.store()).await;
        scene.job_in(State::Completed, a_job()).await;
        scene.advance(MINUTE).await;
        let waiting = scene.submit(a_job().queued("waiting")).await;
        let firing = next_firing(&schedule);
        Self { subject, schedule, firing, waiting, webhook, entry: EntryId::fresh(), from }
    }

    /// Whether it was done.
    async fn does(&self, write: Write, leader: &Leader) -> bool {
        let (store, tenancy) = (self.subject.store(), self.subject.tenancy());
        let now = self.subject.now().await;
        match write {
            Write::Fire => store.fire(Some(leader), std::slice::from_ref(&self.firing)).await.expect(ANSWERS).is_some(),
            Write::Cancel => {
                store.cancel_as(leader, &TenantId::default(), &[self.waiting]).await.expect(ANSWERS).is_some()
            }
            Write::Book => {
                let (from, to) = (position(&*store).await, store.head().await.expect(ANSWERS));
                let stretch = Stretch { from, to, entries: Vec::new() };
                store.advance(Some(leader), &stretch.advance()).await.expect(ANSWERS).is_some()
            }
            Write::NoteDeliveries => {
                let (tenant, webhook) = (self.webhook.tenant.clone(), self.webhook.id);
                let note = DeliveryNote { tenant, webhook, at: now, went: Went::Gone };
                tenancy.note_deliveries_as(leader, &[note]).await.expect(ANSWERS).is_some()
            }
            Write::Record => {
                let answer = tenancy.record_as(leader, self.entry, &act("acme", "webhook.disable")).await;
                answer.expect(ANSWERS).is_some()
            }
            Write::Post => {
                let to = store.head().await.expect(ANSWERS);
                let round = Round { from: self.from, to, deliveries: Vec::new() };
                store.advance(Some(leader), &round.advance()).await.expect(ANSWERS).is_some()
            }
            Write::DismissCourier => {
                store.dismiss(Some(leader), &FollowerName::COURIER).await.expect(ANSWERS).is_some()
            }
            Write::AppointCourier => {
                store.follow(Some(leader), &FollowerName::COURIER, Begin::End).await.expect(ANSWERS).is_some()
            }
            Write::Prune(kind) => {
                let now = Some(std::time::Duration::ZERO);
                let retention = Retention { completed: now, cancelled: now, ..for_ever() };
                store.prune_kind(Some(leader), kind, &retention, 10).await.expect(ANSWERS).is_some()
            }
        }
    }

    /// All that these writes change, but for the courier: to ask where it stands appoints one.
    async fn look(&self) -> String {
        let (scene, store, tenancy) = (Scene::of(self.subject), self.subject.store(), self.subject.tenancy());
        let seen = scene.again(&self.schedule).await.seen;
        let webhook = tenancy.webhook(&self.webhook.tenant, self.webhook.id).await.expect(ANSWERS);
        let trail = tenancy.audit_log(Some(&tenant("acme")), None, 10).await.expect(ANSWERS);
        let jobs = scene.count(&JobFilter::default()).await;
        let (head, books) = (scene.head().await, position(&*store).await);
        format!("{seen:?} {webhook:?} {trail:?} {jobs} {head:?} {books:?} {:?}", scene.state(self.waiting).await)
    }
}

pub async fn a_write_under_a_term_that_is_over_does_nothing(subject: &dyn TenancySubject) {
    let stage = Stage::new(subject).await;
    let Some(Reigns { over, current }) = subject.reigns().await else {
        let any = Leader { office: "any".into(), term: 1 };
        for write in all() {
            assert!(stage.does(write, &any).await, "{write:?}: without terms everything is done");
        }
        return;
    };
    for write in all() {
        let before = stage.look().await;
        assert!(!stage.does(write, &over).await, "{write:?} is done by a leader whose term is over");
        assert_eq!(stage.look().await, before, "{write:?} changes nothing under a term that is over");
        assert!(stage.does(write, &current).await, "{write:?} is done by the one who leads");
    }
    subject.advance(DAY).await;
    // There is a courier: to ask where it stands writes nothing.
    for write in all().into_iter().filter(|write| !matches!(write, Write::AppointCourier)) {
        assert!(!stage.does(write, &current).await, "{write:?} is done by a leader whose lease ran out");
    }
}
