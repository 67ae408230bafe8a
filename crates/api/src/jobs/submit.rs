//! The one door in, over HTTP: one job, or a batch.
//!
//! A job is accepted when the submitter says so; the answer is written from what was sent, without reading it back. A
//! client that goes away before the answer changes nothing: the submitter keeps what it has taken, and the same request
//! with the same idempotency key finds the job.

use std::fmt;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use foreman_core::document::{BatchRequest, JobDocument, ProblemDocument};
use foreman_core::ports::{AttemptPage, JobView, Submitted};
use foreman_core::spec::{JobSpec, Mistake, Validate as _};
use foreman_core::{Job, JobId, NewJob, Start, TenantId, Timestamp, Work};
use http::header::LOCATION;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::app::App;
use crate::gate::audit::{self, RequestOrigin};
use crate::gate::caller::Caller;
use crate::gate::commands;
use crate::gate::quotas;
use crate::jobs::hints::Hints;
use crate::openapi::responses::{CommandsOrScope, NothingAccepted, RateLimited};
use crate::problem::{Kind, Problem};
use crate::request::buffers::AnswerRoom;
use crate::request::json;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// What fingerprints of jobs with secrets are kept under.
const FINGERPRINTS: &str = "idempotency fingerprint";

/// Submit a job.
///
/// After a 2xx response the job is durable. With an `Idempotency-Key` header (or the field `idempotency_key`) the
/// request is safe to repeat for 24 hours: a repeat returns the same job with 200, and a different body under the same
/// key is rejected.
#[utoipa::path(post, path = "/api/v1/jobs", tag = "jobs", operation_id = "submit_job",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes the request safe to repeat; 1 to 255 \
        characters")),
    request_body = JobSpec,
    responses(
        (status = 202, description = "Accepted", body = JobDocument,
            headers(("Location" = String, description = "URL of the job"))),
        (status = 200, description = "The first job under this idempotency key", body = JobDocument,
            headers(
                ("Location" = String, description = "URL of the job"),
                ("Idempotency-Replayed" = String, description = "`true`"),
            )),
        (status = 403, response = CommandsOrScope),
        (status = 422, description = "Not a valid job, or the idempotency key was used for another one",
            body = ProblemDocument, content_type = "application/problem+json"),
        (status = 429, response = RateLimited),
        (status = 503, response = NothingAccepted),
    ))]
pub(crate) async fn submit(State(app): State<App>, caller: Caller, request: Request) -> Result<Response, Problem> {
    let from = RequestOrigin::of(&request);
    let (headers, body) = app.json(request, app.bodies.job_bytes).await?;
    let now = app.clock.now();
    let mut spec = read_spec(&app, &caller, &body, now)?;
    take_key(&headers, &mut spec)?;
    let job = judge(&app, &caller, spec, now)?;
    let receipt = Receipt::of(&job);
    let jobs = vec![job];
    let quota = app.quotas().take(&app, &caller, &works(&jobs)).await?;
    let answers = accepted(&app, &caller, jobs, from).await?;
    let answer = answers.into_iter().next().ok_or_else(|| Problem::internal("the submitter gave no answer"))?;
    let mut response = respond(&app, &caller, receipt, answer).await?;
    quotas::tell(&mut response, quota);
    Ok(response)
}

fn works(jobs: &[NewJob]) -> Vec<Arc<Work>> {
    jobs.iter().map(|job| Arc::clone(&job.work)).collect()
}

/// Submits. Who had a program run stands in the audit log: a job does not say which key it came with. Only there, for other jobs
/// are many and do nothing on a machine of ours.
async fn accepted(
    app: &App,
    caller: &Caller,
    jobs: Vec<NewJob>,
    from: RequestOrigin,
) -> Result<Vec<Submitted>, Problem> {
    let is_command = |job: &NewJob| job.work.target.command().is_some();
    if !jobs.iter().any(is_command) {
        return Ok(app.submit.submit(jobs).await?);
    }
    let commands: Vec<Option<JobId>> = jobs.iter().map(|job| is_command(job).then_some(job.id)).collect();
    let (there, caller) = (app.clone(), caller.clone());
    app.to_the_end(async move {
        let answers = there.submit.submit(jobs).await?;
        let is_new = |answer: &Submitted| matches!(answer, Submitted::Accepted(_));
        let made = commands.iter().zip(&answers).filter(|(_, answer)| is_new(answer)).filter_map(|(id, _)| *id);
        let made: Vec<JobId> = made.collect();
        let object = match made[..] {
            [] => return Ok(answers),
            [only] => format!("job/{only}"),
            [first, ..] => format!("{} jobs, the first is job/{first}", made.len()),
        };
        audit::record(&there, &from.act(&caller, "command.submit", object, StatusCode::ACCEPTED)).await;
        Ok::<_, Problem>(answers)
    })
    .await
}

async fn respond(app: &App, caller: &Caller, receipt: Receipt, answer: Submitted) -> Result<Response, Problem> {
    let (id, tenant) = (receipt.id, &caller.tenant);
    match answer {
        Submitted::Accepted(at) => {
            let mut document = receipt.document(tenant, at);
            Hints::new(app).add(&mut document).await;
            let answer = json::answer_change(StatusCode::ACCEPTED, document, JobDocument::without_content);
            Ok(located(answer, id))
        }
        Submitted::Duplicate(first) => {
            let mut document = read(app, caller, first).await?;
            Hints::new(app).add(&mut document).await;
            let answer = json::answer_change(StatusCode::OK, document, JobDocument::without_content);
            let mut response = located(answer, first);
            response.headers_mut().insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
            Ok(response)
        }
        Submitted::KeyReused(first) => Err(key_reused(first)),
    }
}

pub(crate) fn located(mut response: Response, id: JobId) -> Response {
    let path = HeaderValue::try_from(format!("/api/v1/jobs/{id}")).expect("a path of visible characters");
    response.headers_mut().insert(LOCATION, path);
    response
}

/// A job as it was sent. Where some of it cannot be read, what can be is judged too: everything that is wrong is told at once.
fn read_spec(app: &App, caller: &Caller, text: &[u8], now: Timestamp) -> Result<JobSpec, Problem> {
    json::read::<JobSpec>(text, Kind::InvalidJob).map_err(|unread| {
        let mut problem = unread.judged(|spec| spec.validate(&caller.tenant, &app.limits, now).map(drop));
        let rule = app.limits.max_attempts_rule();
        for mistake in problem.errors.iter_mut().filter(|mistake| mistake.pointer == "/max_attempts") {
            problem.detail = problem.detail.replace(&mistake.detail, &rule);
            mistake.detail.clone_from(&rule);
        }
        problem
    })
}

/// A job that may be written as it is.
fn judge(app: &App, caller: &Caller, spec: JobSpec, now: Timestamp) -> Result<NewJob, Problem> {
    if spec.command.is_some() {
        commands::may_submit(app, caller)?;
    }
    let mut job = spec.validate(&caller.tenant, &app.limits, now)?;
    if let Some(command) = job.work.target.command() {
        commands::may_run(app, caller, &command.program)
            .map_err(|detail| Problem::mistake(Kind::InvalidJob, "/command", detail))?;
        commands::may_give(app, caller, command.env.names())
            .map_err(|(pointer, detail)| Problem::mistake(Kind::InvalidJob, &pointer, detail))?;
    }
    quotas::may_carry(caller, &job.work.target)?;
    seal(app, &caller.tenant, &mut job)?;
    Ok(job)
}

/// What may be secret in it is sealed before anybody writes it down. The fingerprint is of what was sent (sealed twice,
/// the same job would look like two) and so is kept under a key. That of a job without secrets is as plain as the job.
fn seal(app: &App, tenant: &TenantId, job: &mut NewJob) -> Result<(), Problem> {
    let Some(secrets) = job.work.target.secrets().filter(|secrets| !secrets.values.is_safe_to_keep()) else {
        return Ok(());
    };
    let Some(ring) = &app.keyring else {
        return Err(Problem::mistake(Kind::InvalidJob, &format!("/{}", secrets.field), no_ring()));
    };
    Arc::make_mut(&mut job.work).target.seal(ring, tenant);
    if let Some(idempotency) = &mut job.idempotency {
        idempotency.put_under(&ring.derive(FINGERPRINTS));
    }
    Ok(())
}

/// What is wrong with something that carries a secret, on a server that cannot seal it.
pub(crate) fn no_ring() -> &'static str {
    "may carry a secret, and this server has no key to encrypt secrets with; set FOREMAN_SECRET_KEY on every role \
     (generate one with `openssl rand -base64 32`)"
}

/// The key may come in the header or in the body; where it comes in both, they must agree.
fn take_key(headers: &HeaderMap, spec: &mut JobSpec) -> Result<(), Problem> {
    let mut given = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = given.next() else { return Ok(()) };
    let refuse = |detail: &str| {
        let mistake = Mistake { pointer: "/idempotency_key".into(), detail: detail.into() };
        Problem::new(Kind::InvalidJob, format!("the header Idempotency-Key {detail}")).with_errors(vec![mistake])
    };
    if given.next().is_some() {
        return Err(refuse("is given more than once"));
    }
    let key = value.to_str().map_err(|_| refuse("must be visible ASCII characters"))?;
    match &spec.idempotency_key {
        Some(in_body) if in_body != key => Err(refuse("differs from the field `idempotency_key`; give one of them")),
        _ => {
            spec.idempotency_key = Some(key.to_owned());
            Ok(())
        }
    }
}

fn key_reused(first: JobId) -> Problem {
    Problem::new(
        Kind::IdempotencyKeyReused,
        format!("the idempotency key was already used for job {first}, which has different content; use a new key"),
    )
}

/// The job that an idempotency key stands for. Without `jobs:read`, where it stands alone.
async fn read(app: &App, caller: &Caller, first: JobId) -> Result<JobDocument, Problem> {
    let view = app.store.get(&caller.tenant, first).await?.ok_or_else(|| Problem::job_not_found(first))?;
    let document = view.document(false);
    Ok(if caller.reads_jobs() { document } else { document.without_content() })
}

/// What is kept of a job while the submitter has it: enough for the answer.
struct Receipt {
    id: JobId,
    work: Arc<Work>,
    start: Start,
}

impl Receipt {
    fn of(job: &NewJob) -> Self {
        Self { id: job.id, work: Arc::clone(&job.work), start: job.start }
    }

    /// The job as it stood when it was accepted: what reading it back at that moment would have told.
    fn document(self, tenant: &TenantId, at: Timestamp) -> JobDocument {
        let run_at = self.start.run_at(at);
        let view = JobView {
            job: Job { id: self.id, tenant: tenant.clone(), work: self.work, created_at: at },
            state: foreman_core::State::of_waiting(run_at <= at, 0),
            attempt: 0,
            spent: 0,
            crashes: 0,
            sequence: 1,
            run_at,
            started_at: None,
            finished_at: None,
            error: None,
            attempts: AttemptPage::default(),
        };
        view.document(false)
    }
}

/// What the answer says of a job beside what was sent, in bytes: about this much.
const DOCUMENT: usize = 400;

/// The result of one job of a batch.
#[derive(utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "described, and written item by item: json::ListAnswer")]
enum BatchItem {
    Job(Box<JobDocument>),
    Problem(Box<ProblemDocument>),
}

#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "described, and written item by item: json::ListAnswer")]
pub(crate) struct BatchAnswer {
    /// One entry per job of the request, in the same order: the job, or the problem with its `status`.
    results: Vec<BatchItem>,
}

/// Submit up to 1,000 jobs.
///
/// Each job is validated by itself: an invalid one does not affect the others. The accepted jobs are written together
/// and are durable once you have the response.
#[utoipa::path(post, path = "/api/v1/jobs/batch", tag = "jobs", operation_id = "submit_batch",
    request_body = BatchRequest,
    responses(
        (status = 200, description = "The result of each job", body = BatchAnswer),
        (status = 400, description = "Not a batch, or an empty one",
            body = ProblemDocument, content_type = "application/problem+json"),
        (status = 413, description = "Too many jobs, or too many bytes",
            body = ProblemDocument, content_type = "application/problem+json"),
        (status = 429, response = RateLimited),
        (status = 503, response = NothingAccepted),
    ))]
pub(crate) async fn submit_batch(
    State(app): State<App>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    let tenant = &caller.tenant;
    let from = RequestOrigin::of(&request);
    let (headers, body) = app.json(request, app.bodies.batch_bytes).await?;
    if headers.contains_key(IDEMPOTENCY_KEY) {
        return Err(Problem::invalid_request(
            "the header Idempotency-Key does not apply to a batch; give each job its own `idempotency_key`",
        ));
    }
    let UnparsedBatch { jobs: Items { items, count } } = json::parse_in_place(&body, Kind::InvalidRequest)?;
    if count == 0 {
        return Err(Problem::new(Kind::EmptyBatch, "`jobs` is empty; give at least one job"));
    }
    if count > app.limits.batch_jobs {
        let limit = app.limits.batch_jobs;
        return Err(Problem::new(
            Kind::BatchTooLarge,
            format!("`jobs` has {count} jobs, more than the {limit} allowed"),
        ));
    }

    let now = app.clock.now();
    let mut jobs = Vec::with_capacity(count);
    let mut judged = Vec::with_capacity(count);
    for (place, item) in items.into_iter().enumerate() {
        // 8 MiB of JSON take tens of milliseconds, in which nobody else would be served on this thread.
        if place % 64 == 63 {
            tokio::task::yield_now().await;
        }
        let spec = read_spec(&app, &caller, item.get().as_bytes(), now);
        let job = spec.and_then(|spec| judge(&app, &caller, spec, now));
        judged.push(job.map(|job| {
            let receipt = Receipt::of(&job);
            jobs.push(job);
            receipt
        }));
    }
    // Before anything is accepted: it shows the jobs as they were sent, and a little more of each.
    let room = AnswerRoom::make(app.answered(), &caller.account(), body.len() + count * DOCUMENT).await?;
    let quota = if jobs.is_empty() { None } else { app.quotas().take(&app, &caller, &works(&jobs)).await? };
    let mut answers = if jobs.is_empty() { Vec::new() } else { accepted(&app, &caller, jobs, from).await? }.into_iter();

    let hints = Hints::new(&app);
    let mut results = json::ListAnswer::new("results", body.len() + count * DOCUMENT);
    for judged in judged {
        let result = match judged {
            Err(problem) => Err(problem),
            Ok(receipt) => match answers.next() {
                Some(Submitted::Accepted(at)) => Ok(receipt.document(tenant, at)),
                Some(Submitted::Duplicate(first)) => read(&app, &caller, first).await,
                Some(Submitted::KeyReused(first)) => Err(key_reused(first)),
                None => return Err(Problem::internal("the submitter gave fewer answers than jobs")),
            },
        };
        match result {
            Ok(mut document) => {
                hints.add(&mut document).await;
                results.push(&document);
            }
            Err(problem) => {
                app.gate.readiness.heed(problem.kind);
                // The answer as a whole is a success, so nobody else tells the log.
                if let Some(cause) = &problem.cause {
                    tracing::error!(target: "foreman::http", cause, "a job of a batch could not be answered: {cause}");
                }
                results.push(&problem.document(None));
            }
        }
    }
    let mut response = results.answer(StatusCode::OK);
    response.extensions_mut().insert(room);
    quotas::tell(&mut response, quota);
    Ok(response)
}

/// A batch whose jobs have not been looked at yet, so that each can be wrong by itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnparsedBatch<'a> {
    #[serde(borrow)]
    jobs: Items<'a>,
}

/// The items kept, and how many there were: a body of commas must not become millions of entries.
struct Items<'a> {
    items: Vec<&'a RawValue>,
    count: usize,
}

const MOST_KEPT: usize = 10_000;

impl<'de: 'a, 'a> Deserialize<'de> for Items<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keep;
        impl<'de> Visitor<'de> for Keep {
            type Value = Items<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of jobs")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Items<'de>, A::Error> {
                let mut items = Vec::new();
                while items.len() < MOST_KEPT {
                    let Some(item) = seq.next_element()? else { return Ok(Items { count: items.len(), items }) };
                    items.push(item);
                }
                let mut count = items.len();
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Items { items, count })
            }
        }
        deserializer.deserialize_seq(Keep)
    }
}
