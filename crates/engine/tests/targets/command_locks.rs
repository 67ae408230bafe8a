//! The third lock: which programs a tenant may run is asked at each attempt.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use foreman_core::memory::{LocalWakeups, ManualClock, Store};
use foreman_core::outcome::AttemptEnd;
use foreman_core::ports::intercept::{Call, Hook, Intercepted};
use foreman_core::ports::{CreateTenantAnswer, NewTenant, StoreError, TenantStore, TenantUpdate, UpdateTenantAnswer};
use foreman_core::tenant::{Tenant, TenantSettings};
use foreman_core::{EditId, Job, TenantId};
use foreman_engine::output::OutputHub;
use foreman_engine::target::command::{self, CommandRunner, OpenDefault, Permits};
use foreman_engine::target::{Runner, TryEnding};
use foreman_engine::{Tenants, tenants};
use serde_json::{Value, json};

use crate::given::{AGAIN, attempt, attempt_of, error_of, in_time, stdout_of};

/// The store, which counts questions and may be away.
type Told = Intercepted<Store, Watch>;

#[derive(Default)]
struct Watch {
    asked: AtomicUsize,
    is_away: AtomicBool,
}

impl Hook for Watch {
    async fn tenant(&self, _: &TenantId, call: impl Call<Option<Tenant>>) -> Result<Option<Tenant>, StoreError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.is_away.load(Ordering::Relaxed) {
            return Err(StoreError::Unavailable("it is being moved".into()));
        }
        call.await
    }
}

impl Watch {
    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

fn told() -> Arc<Told> {
    let store = Store::new(Arc::new(ManualClock::new()), Arc::new(LocalWakeups::new()));
    Arc::new(Intercepted::new(Arc::new(store), Watch::default()))
}

async fn allow(told: &Told, tenant: &str, programs: &str) {
    allow_with(told, tenant, programs, "").await;
}

async fn allow_with(told: &Told, tenant: &str, programs: &str, variables: &str) {
    let (id, edit) = (TenantId::new(tenant), EditId::fresh());
    let (commands, variables) = (programs.parse().unwrap(), variables.parse().unwrap());
    let settings = TenantSettings { commands, variables, ..TenantSettings::default() };
    if let Some(seen) = told.inner.tenant(&id).await.unwrap() {
        let update = TenantUpdate { edit, tenant: id, version: seen.version, settings };
        assert!(matches!(told.inner.update_tenant(&update).await.unwrap(), UpdateTenantAnswer::Updated(_)));
    } else {
        let new = NewTenant { edit, id, settings };
        assert!(matches!(told.inner.create_tenant(&new).await.unwrap(), CreateTenantAnswer::Created(_)));
    }
}

fn lists_of(store: &Arc<Told>) -> Arc<dyn Permits> {
    Arc::new(Tenants::new(Arc::clone(store) as Arc<dyn TenantStore>, tenants::Config::default()))
}

fn locked(permits: Arc<dyn Permits>) -> CommandRunner {
    let inherited = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    let config = command::Config { inherited, ..command::Config::default() };
    CommandRunner::new(config, permits, OutputHub::default())
}

async fn run_of(runner: &CommandRunner, tenant: &str, spec: &Value) -> TryEnding {
    let attempt = attempt(spec);
    let job = Job { tenant: TenantId::new(tenant), ..attempt.job };
    in_time(runner.run(&attempt_of(job))).await
}

#[tokio::test]
async fn a_tenant_runs_what_its_list_names_and_nothing_else() {
    let tenants = told();
    allow(&tenants, "acme", "/bin/echo").await;
    allow(&tenants, "shells", "sh").await;
    allow(&tenants, "all", "*").await;
    let runner = locked(lists_of(&tenants));
    let (echo, other, line) = (
        json!({"command": ["/bin/echo", "ran"]}),
        json!({"command": ["/usr/bin/env", "echo", "ran"]}),
        json!({"command": "echo ran"}),
    );
    for (tenant, spec, allowed) in [
        ("acme", &echo, true),
        ("acme", &other, false),
        ("acme", &line, false),
        ("shells", &line, true),
        ("shells", &echo, false),
        ("all", &echo, true),
        ("all", &other, true),
        ("all", &line, true),
        ("default", &echo, false),
        ("nobody-of-that-name", &echo, false),
    ] {
        let ending = run_of(&runner, tenant, spec).await;
        if allowed {
            assert_eq!((ending.ended, stdout_of(&ending)), (AttemptEnd::Completed, "ran\n"), "{tenant} {spec}");
            continue;
        }
        assert_eq!((ending.ended, &ending.report.output), (AttemptEnd::Failed, &None), "for good: {tenant} {spec}");
        assert!(error_of(&ending).starts_with(&format!("the tenant {tenant} may not run ")), "{ending:?}");
    }
}

#[tokio::test]
async fn a_variable_does_not_make_another_program_of_the_one_on_the_list() {
    let tenants = told();
    allow_with(&tenants, "acme", "/bin/echo", "TOKEN").await;
    allow(&tenants, "all", "*").await;
    let runner = locked(lists_of(&tenants));
    let with = |name: &str| json!({"command": ["/bin/echo", "ran"], "env": {name: "x"}});
    for name in ["BASH_ENV", "LD_AUDIT", "PATH", "TAR_OPTIONS", "HOME", "OTHER"] {
        let ending = run_of(&runner, "acme", &with(name)).await;
        assert_eq!((ending.ended, &ending.report.output), (AttemptEnd::Failed, &None), "{name}");
        assert!(error_of(&ending).contains(&format!("the variable {name}")), "{ending:?}");
        assert_eq!(run_of(&runner, "all", &with(name)).await.ended, AttemptEnd::Completed, "{name}");
    }
    assert_eq!(run_of(&runner, "acme", &with("TOKEN")).await.ended, AttemptEnd::Completed);
}

#[tokio::test]
async fn what_may_not_be_run_is_named() {
    let runner = locked(lists_of(&told()));
    let ending = run_of(&runner, "acme", &json!({"command": ["/opt/tool", "--flag"]})).await;
    assert_eq!(error_of(&ending), "the tenant acme may not run /opt/tool: it is not on its list of allowed programs");
    let ending = run_of(&runner, "acme", &json!({"command": "secret line"})).await;
    assert_eq!(
        error_of(&ending),
        "the tenant acme may not run shell commands: sh is not on its list of allowed programs"
    );
}

#[tokio::test]
async fn a_server_without_keys_lets_its_one_tenant_run_anything() {
    let tenants = told();
    allow(&tenants, "acme", "/bin/true").await;
    let runner = locked(Arc::new(OpenDefault(lists_of(&tenants))));
    let line = json!({"command": "echo ran"});
    assert_eq!(stdout_of(&run_of(&runner, "default", &line).await), "ran\n");
    assert_eq!(run_of(&runner, "acme", &line).await.ended, AttemptEnd::Failed, "nobody else");
}

#[tokio::test]
async fn when_nobody_can_say_what_is_allowed_it_is_tried_again_later() {
    let tenants = told();
    allow(&tenants, "acme", "*").await;
    tenants.is_away.store(true, Ordering::Relaxed);
    let runner = locked(lists_of(&tenants));
    let ending = run_of(&runner, "acme", &json!({"command": "echo ran"})).await;
    assert_eq!((ending.ended, &ending.report.output), (AGAIN, &None));
    assert!(error_of(&ending).starts_with("could not check what the tenant acme may run: the store"), "{ending:?}");
    tenants.is_away.store(false, Ordering::Relaxed);
    let ending = run_of(&runner, "acme", &json!({"command": "echo ran"})).await;
    assert_eq!(ending.ended, AttemptEnd::Completed, "what went wrong is not remembered");
}

#[tokio::test]
async fn a_list_is_believed_for_a_few_seconds() {
    let tenants = told();
    allow(&tenants, "acme", "sh").await;
    let runner = locked(lists_of(&tenants));
    let line = json!({"command": "echo ran"});
    for _ in 0..3 {
        assert_eq!(run_of(&runner, "acme", &line).await.ended, AttemptEnd::Completed);
    }
    assert_eq!(tenants.asked(), 1);
    allow(&tenants, "acme", "").await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(4)).await;
    tokio::time::resume();
    assert_eq!(run_of(&runner, "acme", &line).await.ended, AttemptEnd::Failed, "a list that became shorter counts");
    assert_eq!(tenants.asked(), 2);
}
