//! The job that is measured with: a no-op with 200 bytes of payload, as a client writes it and as a store takes it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use foreman_core::job::QueueName;
use foreman_core::retry::Backoff;
use foreman_core::secret_map::SecretMap;
use foreman_core::target::{Body, HttpTarget, TaskTarget};
use foreman_core::{JobId, Lane, NewJob, Start, Target, TenantId, Work};

/// 200 bytes as JSON, as in the measurements behind the design.
pub const PAYLOAD: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
                       0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
pub const BATCH: usize = 1_000;
/// Batches on their way at once.
pub const SENDERS: usize = 4;

/// No worker serves it, so that only accepting is measured.
pub const UNSERVED: &str = "bench.unserved";
/// It does nothing, and is done.
pub const NOOP: &str = "foreman.noop";

/// As a client writes it.
pub fn task_json(task: &str) -> String {
    format!(r#"{{"task":"{task}","payload":"{PAYLOAD}"}}"#)
}

pub fn url_json(url: &str) -> String {
    format!(r#"{{"url":"{url}","payload":"{PAYLOAD}"}}"#)
}

/// Of ten jobs six do nothing, two are urgent, one can wait, and one calls the URL; they are in four queues.
pub fn mixed_json(url: &str) -> String {
    let task = |priority: &str, queue: usize| {
        format!(r#"{{"task":"{NOOP}","priority":"{priority}","queue":"mixed-{queue}","payload":"{PAYLOAD}"}}"#)
    };
    let job = |number: usize| match number % 10 {
        0 | 5 => task("high", number % 4),
        3 => task("low", number % 4),
        7 => format!(r#"{{"url":"{url}","queue":"mixed-{}","payload":"{PAYLOAD}"}}"#, number % 4),
        _ => task("normal", number % 4),
    };
    format!(r#"{{"jobs":[{}]}}"#, (0..BATCH).map(job).collect::<Vec<_>>().join(","))
}

pub fn batch_json(job: &str, jobs: usize) -> String {
    format!(r#"{{"jobs":[{}]}}"#, vec![job; jobs].join(","))
}

/// As a store takes it; tenants and queues take turns.
#[derive(Clone)]
pub struct JobMaker {
    works: Vec<Arc<Work>>,
    tenants: Vec<TenantId>,
}

impl JobMaker {
    pub fn of_task(task: &str) -> Result<Self> {
        Ok(Self::new(Target::Task(TaskTarget { name: task.into(), payload: payload()? })))
    }

    pub fn of_url(url: &str) -> Result<Self> {
        let (url, headers) = (url.parse().context("a URL")?, SecretMap::default());
        Ok(Self::new(Target::Http(HttpTarget { url, method: "POST".into(), headers, body: payload()? })))
    }

    /// Jobs that call the first URL, and the second once in so many jobs.
    pub fn of_urls(url: &str, other: &str, every: usize) -> Result<Self> {
        let (mut maker, other) = (Self::of_url(url)?, Self::of_url(other)?);
        maker.works = vec![Arc::clone(&maker.works[0]); every.max(2) - 1];
        maker.works.extend(other.works);
        Ok(maker)
    }

    fn new(target: Target) -> Self {
        let work = Work {
            kind: target.route().as_task().map(str::to_owned),
            target,
            queue: QueueName::default(),
            lane: Lane::Normal,
            max_attempts: 25,
            backoff: Backoff::TASK,
            timeout: Duration::from_mins(10),
            expires_at: None,
            callback_url: None,
            correlation_id: None,
            tags: Vec::new(),
            idempotency_key: None,
            occasion: None,
        };
        Self { works: vec![Arc::new(work)], tenants: vec![TenantId::new("default")] }
    }

    #[must_use]
    pub fn with_tenants(mut self, tenants: usize) -> Self {
        if tenants > 1 {
            self.tenants = (0..tenants).map(|number| TenantId::new(format!("tenant-{number}"))).collect();
        }
        self
    }

    #[must_use]
    pub fn with_callback(mut self, url: &str) -> Self {
        for work in &mut self.works {
            *work = Arc::new(Work { callback_url: Some(url.into()), ..Work::clone(work) });
        }
        self
    }

    #[must_use]
    pub fn with_queues(mut self, queues: usize) -> Self {
        if queues > 1 {
            let first = Work::clone(&self.works[0]);
            let in_queue = |number| Work { queue: QueueName::from_stored(&format!("queue-{number}")), ..first.clone() };
            self.works = (0..queues).map(|number| Arc::new(in_queue(number))).collect();
        }
        self
    }

    pub fn job(&self, number: usize) -> NewJob {
        NewJob {
            id: JobId::fresh(),
            tenant: self.tenants[number % self.tenants.len()].clone(),
            work: Arc::clone(&self.works[number % self.works.len()]),
            start: Start::Now,
            idempotency: None,
        }
    }

    pub fn batch(&self, first: usize, jobs: usize) -> Vec<NewJob> {
        (first..first + jobs).map(|number| self.job(number)).collect()
    }

    pub fn route(&self) -> foreman_core::target::Route {
        self.works[0].target.route()
    }
}

fn payload() -> Result<Body> {
    Ok(Body::Json(serde_json::value::RawValue::from_string(format!("\"{PAYLOAD}\""))?))
}
