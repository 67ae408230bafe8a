//! How much a tenant may submit: how fast, how much may wait, in how many queues, how many hosts may be called.
//!
//! Whatever makes a job counts like a submission: a retry, a schedule run by hand, a delivery sent again. What changes
//! something else (an edit, a pause, a ticket) takes as much of the rate as one job; the access list says what
//! takes how much. Operators are not held to that, but what they submit and retry for a tenant counts for it. What a
//! schedule makes by itself takes nothing of the rate: there it is the schedules that are counted, and their hosts when
//! they are written, and so are those of webhooks; how much waits, the scheduler looks at before it fires.
//!
//! Rates and hosts are counted by the [`Limiter`](foreman_core::ports::Limiter). With Redis it is one for all API processes, and a tenant may submit as
//! much as its limit says, however many there are. Without Redis, and while Redis does not answer, each process counts for
//! itself: with N of them in front of one store a tenant may then submit up to N times its rate, and a process that starts
//! again begins with full buckets. What waits is counted in the store itself, so that limit holds over all of them either
//! way, but for what is submitted in the moments between two counts; so are the queues in which it waits ([`QueueNames`]).
//! What this process knows of both lies in its books, in memory and bounded.

mod waiting;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::response::Response;
use foreman_core::job::QueueName;
use foreman_core::ports::{JobSummary, LimitKey, Window};
use foreman_core::spec::JobSpec;
use foreman_core::target::Body;
use foreman_core::tenant::{Batch, Limit, QueueNames, Quota, Rate, Take, seconds_up};
use foreman_core::{Target, TenantId, Work};
use http::header::RETRY_AFTER;
use http::{HeaderName, HeaderValue};
use tokio::time::Instant;
use url::Url;

use self::waiting::WaitingJobs;
use crate::app::App;
use crate::gate::caller::Caller;
use crate::problem::{Kind, Problem};

/// Books of tenants that have submitted nothing for so long are closed; what was in them has come back by then.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(10);
/// So many are open at once; then the longest unused ones go.
const MOST_BOOKS: usize = 10_000;

#[derive(Default)]
pub(crate) struct Quotas {
    books: Mutex<HashMap<TenantId, Arc<Book>>>,
}

/// What one tenant has asked for lately.
struct Book {
    used_at: Mutex<Instant>,
    waiting: tokio::sync::Mutex<WaitingJobs>,
    names: tokio::sync::Mutex<QueueNames>,
}

/// Sign-ins of one tenant: each is a row for twelve hours. People sign in seldom.
const SIGN_INS: Rate = Rate { per_second: 1, burst: 100 };

/// In which a tenant's jobs may call so many different hosts: with very many, a server of jobs is a scanner of networks.
const HOSTS_WITHIN: Duration = Duration::from_mins(1);

impl Quotas {
    /// Takes what jobs with this work come to, or refuses all of them. What was taken of the rate is not given back when there is no room:
    /// a client that keeps asking is slowed down by it. The quota is for the answer.
    pub async fn take(&self, app: &App, caller: &Caller, works: &[Arc<Work>]) -> Result<Option<Quota>, Problem> {
        let (book, count) = (self.book(&caller.tenant), works.len() as u64);
        let quota = match take_rate(app, caller, count).await {
            None => None,
            Some(Take::Allowed(quota)) => Some(quota),
            Some(refused) => return Err(too_fast(refused, count)),
        };
        book.take_room(app, caller, count).await?;
        take_hosts_of(app, caller, works).await?;
        let queues = works.iter().map(|work| &work.queue);
        if let [name, ..] = &book.without_room(app, caller, queues, Batch::Together).await?[..] {
            return Err(too_many_queues(caller, name));
        }
        Ok(quota)
    }

    /// The same for as many of them, from the first on, as may call their hosts in this minute and wait in their queues: at
    /// least one. Waits until `until` for room in the rate, so that a call about many jobs goes as fast as its tenant may.
    pub async fn take_some(
        &self,
        app: &App,
        caller: &Caller,
        jobs: &[JobSummary],
        until: Instant,
    ) -> Result<usize, Problem> {
        let book = self.book(&caller.tenant);
        let mut count = jobs.len();
        for (place, job) in jobs.iter().enumerate() {
            match self.take_hosts(app, caller, job.outline.urls()).await {
                Err(problem) if place == 0 => return Err(problem),
                Err(_) => {
                    count = place;
                    break;
                }
                Ok(()) => {}
            }
        }
        let without_room =
            book.without_room(app, caller, jobs[..count].iter().map(|job| &job.outline.queue), Batch::Apart).await?;
        match jobs[..count].iter().position(|job| without_room.contains(&job.outline.queue)) {
            Some(0) => return Err(too_many_queues(caller, &jobs[0].outline.queue)),
            Some(place) => count = place,
            None => {}
        }
        loop {
            match take_rate(app, caller, count as u64).await {
                None | Some(Take::Allowed(_)) => break,
                Some(Take::Wait { retry_after, .. }) if Instant::now() + retry_after <= until => {
                    tokio::time::sleep(retry_after).await;
                }
                Some(refused) => return Err(too_fast(refused, count as u64)),
            }
        }
        book.take_room(app, caller, count as u64).await?;
        Ok(count)
    }

    /// Takes what an act comes to that makes no job. Who runs the server pauses and changes what a tenant has, however
    /// busy that is.
    pub async fn take_act(&self, app: &App, caller: &Caller) -> Result<(), Problem> {
        if caller.is_operator() {
            return Ok(());
        }
        match take_rate(app, caller, 1).await {
            None | Some(Take::Allowed(_)) => Ok(()),
            Some(refused) => Err(too_fast(refused, 1)),
        }
    }

    /// The same for a sign-in, of whoever it is: a session is kept for hours.
    pub async fn take_sign_in(&self, app: &App, caller: &Caller) -> Result<(), Problem> {
        self.take_act(app, caller).await?;
        let take = app.limiter.take(LimitKey::of("sign-in", caller.account().as_str()), SIGN_INS, 1).await;
        if take.is_allowed() {
            return Ok(());
        }
        Err(refused(
            "too many sign-ins with this tenant's keys; wait before you sign in again".into(),
            take.retry_after_secs(),
        ))
    }

    /// Takes the hosts of URLs that are called later: those of a schedule or a webhook. What is not a URL is somebody else's to
    /// refuse.
    pub async fn take_hosts(
        &self,
        app: &App,
        caller: &Caller,
        urls: impl IntoIterator<Item = &str>,
    ) -> Result<(), Problem> {
        let urls: Vec<Url> = urls.into_iter().filter_map(|url| Url::parse(url).ok()).collect();
        take_hosts(app, caller, &urls.iter().filter_map(Url::host_str).collect::<Vec<_>>()).await
    }

    fn book(&self, tenant: &TenantId) -> Arc<Book> {
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(book) = books.get(tenant) {
            *book.used_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            return Arc::clone(book);
        }
        if books.len() >= MOST_BOOKS {
            close_some(&mut books);
        }
        let book = Arc::new(Book {
            used_at: Mutex::new(Instant::now()),
            waiting: tokio::sync::Mutex::default(),
            names: tokio::sync::Mutex::default(),
        });
        books.insert(tenant.clone(), Arc::clone(&book));
        book
    }
}

impl Book {
    async fn take_room(&self, app: &App, caller: &Caller, count: u64) -> Result<(), Problem> {
        let Limit::AtMost(most) = caller.profile.limits.queued_jobs else { return Ok(()) };
        let has_room = self.waiting.lock().await.has_room(app, &caller.tenant, count, most).await?;
        if has_room { Ok(()) } else { Err(too_many_waiting(most)) }
    }

    /// Those of these queues that would be more than may have waiting jobs. Room was taken for what was let in.
    async fn without_room<'q>(
        &self,
        app: &App,
        caller: &Caller,
        queues: impl Iterator<Item = &'q QueueName>,
        batch: Batch,
    ) -> Result<Vec<QueueName>, Problem> {
        let Limit::AtMost(most) = caller.profile.limits.queue_names else { return Ok(Vec::new()) };
        let now = || Instant::now().into_std();
        Ok(self.names.lock().await.admit(&*app.store, &caller.tenant, queues, (most, batch), now).await?)
    }
}

/// `None`: nothing limits it.
async fn take_rate(app: &App, caller: &Caller, count: u64) -> Option<Take> {
    let rate = Rate::of_submissions(&caller.profile.limits)?;
    Some(app.limiter.take(LimitKey::of("submit", caller.tenant.as_str()), rate, count).await)
}

async fn take_hosts_of(app: &App, caller: &Caller, works: &[Arc<Work>]) -> Result<(), Problem> {
    let targets = works.iter().filter_map(|work| work.target.url().map(Cow::Borrowed));
    let callbacks = works.iter().filter_map(|work| Url::parse(work.callback_url.as_deref()?).ok());
    let urls: Vec<Cow<'_, Url>> = targets.chain(callbacks.map(Cow::Owned)).collect();
    take_hosts(app, caller, &urls.iter().filter_map(|url| url.host_str()).collect::<Vec<_>>()).await
}

async fn take_hosts(app: &App, caller: &Caller, hosts: &[&str]) -> Result<(), Problem> {
    let Limit::AtMost(most) = caller.profile.limits.target_hosts_per_minute else { return Ok(()) };
    if hosts.is_empty() {
        return Ok(());
    }
    let (key, window) = (LimitKey::of("hosts", caller.tenant.as_str()), Window { most, length: HOSTS_WITHIN });
    app.limiter.admit(key, window, hosts).await.map_err(|wait| too_many_hosts(most, wait))
}

/// First what is forgotten; if that is nothing, the older half.
fn close_some(books: &mut HashMap<TenantId, Arc<Book>>) {
    let used_at = |book: &Book| *book.used_at.lock().unwrap_or_else(PoisonError::into_inner);
    books.retain(|_, book| used_at(book).elapsed() < FORGOTTEN_AFTER);
    if books.len() >= MOST_BOOKS {
        let mut times: Vec<Instant> = books.values().map(|book| used_at(book)).collect();
        times.sort_unstable();
        let middle = times[times.len() / 2];
        books.retain(|_, book| used_at(book) > middle);
    }
}

/// Whether the tenant's jobs may be as large as this one.
pub(crate) fn may_carry(caller: &Caller, target: &Target) -> Result<(), Problem> {
    let body = target.body();
    let pointer = if matches!(body, Body::Text(_)) { "/body" } else { "/payload" };
    is_light_enough(caller, body.as_str()).map_err(|detail| Problem::mistake(Kind::InvalidJob, pointer, detail))
}

/// The same for the job of a schedule, of which a patch may have a part alone.
pub(crate) async fn may_schedule(app: &App, caller: &Caller, job: &JobSpec) -> Result<(), Problem> {
    let carried =
        [("/job/payload", job.payload.as_ref().map(|payload| payload.get())), ("/job/body", job.body.as_deref())];
    for (pointer, text) in carried {
        is_light_enough(caller, text.unwrap_or_default())
            .map_err(|detail| Problem::mistake(Kind::InvalidSchedule, pointer, detail))?;
    }
    app.quotas().take_hosts(app, caller, [&job.url, &job.callback_url].into_iter().filter_map(Option::as_deref)).await
}

fn is_light_enough(caller: &Caller, text: &str) -> Result<(), String> {
    let (size, limit) = (text.len() as u64, caller.profile.limits.payload_bytes);
    let detail = || format!("has {size} bytes, more than the tenant's limit of {limit} per job");
    if limit.allows(size) { Ok(()) } else { Err(detail()) }
}

/// Whether the tenant may have one more schedule.
pub(crate) async fn may_add_a_schedule(app: &App, caller: &Caller) -> Result<(), Problem> {
    let Limit::AtMost(most) = caller.profile.limits.schedules else { return Ok(()) };
    let count = app.store.count_schedules(&caller.tenant, most).await?;
    if count < most {
        return Ok(());
    }
    Err(refused(format!("the tenant has reached its limit of {most} schedules; delete one you no longer need"), None))
}

/// Says in the answer how much more may be asked for.
pub(crate) fn tell(response: &mut Response, quota: Option<Quota>) {
    for (name, value) in quota.into_iter().flat_map(Quota::headers) {
        let value = HeaderValue::try_from(value).expect("digits are visible");
        response.headers_mut().insert(HeaderName::from_static(name), value);
    }
}

fn refused(detail: String, retry_after: Option<u64>) -> Problem {
    let mut problem = Problem::new(Kind::TooManyRequests, detail);
    problem.headers.extend(retry_after.map(|seconds| (RETRY_AFTER, seconds.to_string())));
    problem
}

fn too_fast(take: Take, count: u64) -> Problem {
    let quota = take.quota();
    let detail = match take.retry_after_secs() {
        Some(seconds) => {
            format!("the tenant has reached its rate limit; try these {count} again in {seconds} s")
        }
        None => format!("{count} jobs at once exceed the tenant's limit of {}; send fewer at a time", quota.limit),
    };
    let mut problem = refused(detail, take.retry_after_secs());
    problem.headers.extend(quota.headers().map(|(name, value)| (HeaderName::from_static(name), value)));
    problem
}

fn too_many_waiting(most: u64) -> Problem {
    let detail = format!("the tenant has reached its limit of {most} waiting jobs; wait until some have run");
    refused(detail, Some(waiting::LOOKED_AGAIN_AFTER.as_secs()))
}

fn too_many_queues(caller: &Caller, name: &QueueName) -> Problem {
    let detail = format!(
        "the tenant has reached its limit of {} queues with waiting jobs (`queue_names`), and the queue {name} would be one \
         more; use a queue in which jobs wait already, or wait until one is empty",
        caller.profile.limits.queue_names
    );
    refused(detail, Some(QueueNames::COUNTED_AGAIN_AFTER.as_secs()))
}

fn too_many_hosts(most: u64, wait: Duration) -> Problem {
    let detail =
        format!("the tenant's jobs may call at most {most} different hosts per minute, and these would call more");
    refused(detail, Some(seconds_up(wait).max(1)))
}
