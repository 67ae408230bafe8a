//! What somebody wants to see first: how many jobs there are, who works, and what needs a person.
//!
//! Every open dashboard asks for it again and again. What the store said is used for a second, by all of a tenant's together, and
//! while it is asked nobody asks it again: a hundred dashboards cost as much as one. Nothing in it is counted further
//! than a thousand but what the queues themselves know.

mod attention;
pub(crate) mod statistics;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use foreman_core::document::{CountDocument, OldestWaitingDocument, OverviewDocument, WorkersDocument};
use foreman_core::duration::Span;
use foreman_core::key::Scope;
use foreman_core::ports::{
    Counted, Overdue, QueueView, SessionState, SessionView, StateCounts, StoreError, WaitingTask,
};
use foreman_core::webhook::{MOST_ENDPOINTS, Webhook};
use foreman_core::{State as JobState, TenantId, Timestamp};
use foreman_runtime::Tasks;
use http::StatusCode;

use crate::app::App;
use crate::fresh_cache::FreshCache;
use crate::gate::caller::Caller;
use crate::jobs::hints;
use crate::problem::Problem;
use crate::request::json;

/// What is shown is at most so old.
const FRESH: Duration = Duration::from_secs(1);

/// Counted so far: whoever has more wants to know that, not how many.
const ENOUGH: u64 = 1_000;

/// Tasks that are looked at: of more it is told how many more there are.
const MOST_TASKS: usize = 100;

/// Waiting jobs that are looked at for them.
const LOOKED_AT: u64 = 20_000;

/// What happened before that is history.
const LATELY: Duration = Duration::from_hours(1);

/// What was seen a moment ago.
pub(crate) struct Overviews {
    of_tenants: FreshCache<TenantId, Arc<TenantScene>>,
    /// The same for every tenant.
    of_workers: FreshCache<(), Arc<Vec<SessionView>>>,
}

/// All that concerns one tenant.
struct TenantScene {
    states: StateCounts,
    /// In the last hour.
    failed: Counted,
    queues: Vec<QueueView>,
    overdue: Overdue,
    webhooks: Vec<Webhook>,
    tasks: Vec<WaitingTask>,
}

impl Overviews {
    pub fn new(tasks: &Tasks) -> Self {
        Self {
            of_tenants: FreshCache::new(FRESH, tasks.clone()).one_at_a_time(),
            of_workers: FreshCache::new(FRESH, tasks.clone()).one_at_a_time(),
        }
    }

    async fn scene(&self, app: &App, tenant: &TenantId) -> Result<Arc<TenantScene>, Problem> {
        let ask = || look(app.clone(), tenant.clone());
        Ok(self.of_tenants.get(tenant, ask).await?.value)
    }

    pub async fn sessions(&self, app: &App) -> Result<Arc<Vec<SessionView>>, Problem> {
        let ask = || {
            let store = Arc::clone(&app.store);
            async move { Ok(Arc::new(store.sessions().await?)) }
        };
        Ok(self.of_workers.get(&(), ask).await?.value)
    }
}

/// One question after the other: a dashboard is never a reason to keep more than one connection of the store busy.
async fn look(app: App, tenant: TenantId) -> Result<Arc<TenantScene>, StoreError> {
    let most = usize::try_from(MOST_ENDPOINTS).unwrap_or(usize::MAX);
    Ok(Arc::new(TenantScene {
        states: app.store.states(&tenant, ENOUGH).await?,
        failed: app.store.ended_since(&tenant, JobState::Failed, app.clock.now().minus(LATELY), ENOUGH).await?,
        queues: app.store.queues(&tenant).await?,
        overdue: app.store.overdue(&tenant, ENOUGH).await?,
        webhooks: app.tenancy.webhooks(&tenant, None, most).await?,
        tasks: app.store.waiting_tasks(&tenant, MOST_TASKS, LOOKED_AT).await?,
    }))
}

/// Counts of jobs and queues, the workers, and what needs attention. At most a second or two old.
///
/// A count with `estimate` means "at least this many": counting stops at 1,000. Webhook deliveries are not counted.
/// Workers are shown to operators (scope `admin`), late schedules to keys with `schedules:read`.
#[utoipa::path(get, path = "/api/v1/overview", tag = "statistics", operation_id = "get_overview",
    responses((status = 200, description = "The overview", body = OverviewDocument)))]
pub(crate) async fn overview(State(app): State<App>, caller: Caller) -> Result<Response, Problem> {
    let scene = app.overviews().scene(&app, &caller.tenant).await?;
    let all = app.overviews().sessions(&app).await?;
    let unserved = hints::unserved(&scene.tasks, &all);
    let sessions = caller.is_operator().then_some(&all);
    let now = app.clock.now();
    let lapsed = sessions.into_iter().flat_map(|sessions| lapsed(sessions, now)).collect::<Vec<_>>();

    let mut items = Vec::new();
    items.extend(attention::dead_jobs(scene.states.get(JobState::Dead)));
    items.extend(attention::failed_jobs(scene.failed));
    items.extend(attention::unserved_tasks(&unserved));
    items.extend(attention::paused_queues(&scene.queues));
    items.extend(attention::lapsed_workers(&lapsed, &all));
    if caller.scopes.allow(Scope::SchedulesRead) {
        items.extend(attention::late_schedules(&scene.overdue, now));
    }
    items.extend(attention::disabled_webhooks(&scene.webhooks));

    let states = JobState::ALL.into_iter();
    let document = OverviewDocument {
        at: now,
        states: states.map(|state| (state.to_string(), CountDocument::from(scene.states.get(state)))).collect(),
        queues: scene.queues.iter().filter(|queue| !queue.queue.is_internal()).count() as u64,
        oldest_waiting: oldest(&scene.queues),
        workers: sessions.map(|sessions| workers(sessions, lapsed.len())),
        attention: items,
    };
    Ok(json::answer(StatusCode::OK, &document))
}

fn oldest(queues: &[QueueView]) -> Option<OldestWaitingDocument> {
    let of_users = queues.iter().filter(|queue| !queue.queue.is_internal());
    let waiting = of_users.filter_map(|queue| Some((queue.oldest_wait?, queue)));
    let (age, queue) = waiting.max_by_key(|(age, _)| *age)?;
    Some(OldestWaitingDocument { queue: queue.queue.to_string(), age: Span(age) })
}

fn lapsed(sessions: &[SessionView], now: Timestamp) -> impl Iterator<Item = &SessionView> {
    sessions
        .iter()
        .filter(move |session| session.state == SessionState::Dead && now.since(session.renewed_at) <= LATELY)
}

fn workers(sessions: &[SessionView], dead: usize) -> WorkersDocument {
    let mut workers = WorkersDocument { dead: dead as u64, ..WorkersDocument::default() };
    for session in sessions {
        match session.state {
            SessionState::Live => workers.live += 1,
            SessionState::Draining => workers.draining += 1,
            SessionState::Ended | SessionState::Dead => continue,
        }
        workers.slots += u64::from(session.slots);
        workers.running += session.running;
    }
    workers
}
