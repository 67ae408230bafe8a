//! Tasks with names, so that someone always knows what still runs.
//!
//! Every task of the process is spawned here. At shutdown the tracker waits for all of them and names those that did not
//! end; while running, [`Tasks::alive`] counts them by name.
//!
//! A task that panics takes nothing else with it: the panic is caught, logged once with the task's name, and given to
//! whoever awaits the [`Task`]. Whoever spawned it decides what the loss means. Dropping a [`Task`] lets it run on,
//! still counted; dropping the runtime ends it wherever it is.

use std::{
    any::Any,
    collections::BTreeMap,
    fmt,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::task::{AbortHandle, JoinHandle};
use tokio_util::task::TaskTracker;
use tracing::error;

/// Spawns tasks by name and waits for them. Clones share one set of tasks.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    alive: Arc<Mutex<TaskCounts>>,
}

/// How many there are of each name that ever was.
type TaskCounts = BTreeMap<&'static str, Arc<AtomicUsize>>;

impl Tasks {
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts `future` under `name` on the current runtime.
    pub fn spawn<F>(&self, name: &'static str, future: F) -> Task<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let alive = Alive::new(name, &self.alive);
        #[expect(clippy::disallowed_methods, reason = "this is the one room that spawns")]
        let handle = self.tracker.spawn(async move {
            let _alive = alive;
            caught(name, future).await
        });
        Task { name, handle }
    }

    /// Starts `work` under `name` on a thread that may block. It cannot be aborted once it runs.
    pub fn spawn_blocking<T>(&self, name: &'static str, work: impl FnOnce() -> T + Send + 'static) -> Task<T>
    where
        T: Send + 'static,
    {
        let alive = Alive::new(name, &self.alive);
        let handle = self.tracker.spawn_blocking(move || {
            let _alive = alive;
            catch_unwind(AssertUnwindSafe(work)).map_err(|panic| report(name, panic.as_ref()))
        });
        Task { name, handle }
    }

    /// How many tasks of each name are alive, by name.
    pub fn alive(&self) -> Vec<(&'static str, usize)> {
        let counts = lock(&self.alive);
        let alive = counts.iter().map(|(name, count)| (*name, count.load(Ordering::Acquire)));
        alive.filter(|(_, count)| *count > 0).collect()
    }

    /// How many tasks are alive.
    pub fn count(&self) -> usize {
        lock(&self.alive).values().map(|count| count.load(Ordering::Acquire)).sum()
    }

    /// Says that no more tasks are meant to come, so that [`Tasks::wait`] may find an end. A task spawned nevertheless
    /// (by one that is on its way out) is waited for as well.
    pub fn close(&self) {
        self.tracker.close();
    }

    /// Closes, then waits for every task, at most for `deadline`. Past it, names those that are left; they run on.
    pub async fn wait(&self, deadline: Duration) -> Result<(), StillRunning> {
        self.close();
        match tokio::time::timeout(deadline, self.tracker.wait()).await {
            Ok(()) => Ok(()),
            Err(_) => Err(StillRunning { names: self.alive() }),
        }
    }
}

/// A running task. Await it for what it returns; drop it to let it run on; [`Task::abort`] ends it at its next await.
#[derive(Debug)]
#[must_use = "await it, or drop it on purpose: its failure is yours to judge"]
pub struct Task<T> {
    name: &'static str,
    handle: JoinHandle<Result<T, TaskFailed>>,
}

impl<T> Task<T> {
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    pub fn abort(&self) {
        self.handle.abort();
    }

    /// For aborting from elsewhere while this handle is awaited.
    pub fn abort_handle(&self) -> AbortHandle {
        self.handle.abort_handle()
    }
}

impl<T> Future for Task<T> {
    type Output = Result<T, TaskFailed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let name = self.name;
        Poll::Ready(match ready!(Pin::new(&mut self.handle).poll(cx)) {
            Ok(result) => result,
            // The future panicked while it was being dropped, after its end: our own catch was past.
            Err(error) if error.is_panic() => Err(report(name, error.into_panic().as_ref())),
            Err(_) => Err(TaskFailed::Aborted { name }),
        })
    }
}

/// Why a task gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskFailed {
    /// Logged already, where it was caught.
    #[error("task {name} panicked: {message}")]
    Panicked { name: &'static str, message: String },
    #[error("task {name} was aborted")]
    Aborted { name: &'static str },
}

/// The tasks that did not end in time, by name and number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct StillRunning {
    pub names: Vec<(&'static str, usize)>,
}

impl fmt::Display for StillRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("still running:")?;
        for (place, (name, count)) in self.names.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma} {name} ({count})")?;
        }
        Ok(())
    }
}

async fn caught<F: Future>(name: &'static str, future: F) -> Result<F::Output, TaskFailed> {
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        // Never polled again after this, so what it left half done is only dropped.
        Err(panic) => Poll::Ready(Err(report(name, panic.as_ref()))),
    })
    .await
}

fn report(name: &'static str, panic: &(dyn Any + Send)) -> TaskFailed {
    let message = panic_message(panic);
    error!(task.name = name, "task {name} panicked: {message}");
    TaskFailed::Panicked { name, message }
}

/// What was said in a panic, as text.
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&'static str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without words".to_owned()
    }
}

/// Counted from the moment of spawning until the task is dropped, however it ends. The end takes no lock: it comes on any
/// thread, as often as a job.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(name: &'static str, counts: &Mutex<TaskCounts>) -> Self {
        let count = Arc::clone(lock(counts).entry(name).or_default());
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The counts are whole after every line that holds the lock, so one that a panic poisoned is still true.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::sync::oneshot;

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    #[tokio::test(start_paused = true)]
    async fn a_task_gives_back_what_it_made() {
        let tasks = Tasks::new();
        assert_eq!(tasks.spawn("adder", async { 1 + 1 }).await, Ok(2));
        assert_eq!(tasks.spawn_blocking("blocking adder", || 1 + 2).await, Ok(3));
        assert_eq!(tasks.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_are_counted_by_name_from_spawn_to_end() {
        let tasks = Tasks::new();
        let (end_first, first_ends) = oneshot::channel::<()>();
        let first = tasks.spawn("sweeper", async { first_ends.await.is_ok() });
        let second = tasks.spawn("sweeper", pending::<()>());
        let third = tasks.spawn("api", pending::<()>());
        assert_eq!(tasks.alive(), [("api", 1), ("sweeper", 2)], "counted before it is first polled");

        end_first.send(()).expect("the task is listening");
        assert_eq!(first.await, Ok(true));
        assert_eq!(tasks.alive(), [("api", 1), ("sweeper", 1)]);

        second.abort();
        third.abort();
        assert_eq!(second.await, Err(TaskFailed::Aborted { name: "sweeper" }));
        assert_eq!(third.await, Err(TaskFailed::Aborted { name: "api" }));
        assert_eq!(tasks.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_reaches_the_one_who_awaits_and_nobody_else() {
        let tasks = Tasks::new();
        let neighbour = tasks.spawn("neighbour", async {
            tokio::time::sleep(LONG).await;
            "unharmed"
        });
        let broken = tasks.spawn("broken", async { panic!("the {} fell off", "wheel") });
        let expected = TaskFailed::Panicked { name: "broken", message: "the wheel fell off".into() };
        assert_eq!(broken.await, Err::<(), _>(expected));
        assert_eq!(neighbour.await, Ok("unharmed"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_on_a_blocking_thread_is_a_failure_too() {
        let tasks = Tasks::new();
        let broken = tasks.spawn_blocking("disk", || panic!("gone"));
        assert_eq!(broken.await, Err::<(), _>(TaskFailed::Panicked { name: "disk", message: "gone".into() }));
        assert_eq!(tasks.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_nobody_awaits_is_still_counted_out() {
        let tasks = Tasks::new();
        drop(tasks.spawn("forgotten", async { panic!("unheard") }));
        assert_eq!(tasks.wait(LONG).await, Ok(()));
        assert_eq!(tasks.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_when_the_last_task_does() {
        let tasks = Tasks::new();
        let start = tokio::time::Instant::now();
        for secs in [1, 3, 2] {
            drop(tasks.spawn("sleeper", tokio::time::sleep(Duration::from_secs(secs))));
        }
        assert_eq!(tasks.wait(LONG).await, Ok(()));
        assert_eq!(start.elapsed().as_secs(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_without_any_task_ends_at_once() {
        let start = tokio::time::Instant::now();
        assert_eq!(Tasks::new().wait(LONG).await, Ok(()));
        assert!(start.elapsed().is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn past_the_deadline_the_wedged_tasks_are_named() {
        let tasks = Tasks::new();
        drop(tasks.spawn("quick", async {}));
        let wedged = [tasks.spawn("relay", pending::<()>()), tasks.spawn("relay", pending::<()>())];
        let sweeper = tasks.spawn("sweeper", pending::<()>());

        let left = tasks.wait(LONG).await.expect_err("three tasks never end");
        assert_eq!(left.names, [("relay", 2), ("sweeper", 1)]);
        assert_eq!(left.to_string(), "still running: relay (2), sweeper (1)");

        wedged.iter().for_each(Task::abort);
        sweeper.abort();
        assert_eq!(tasks.wait(LONG).await, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_spawned_while_waiting_is_waited_for() {
        let tasks = Tasks::new();
        let inner = tasks.clone();
        drop(tasks.spawn("parent", async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(inner.spawn("child", tokio::time::sleep(Duration::from_secs(5))));
        }));
        let start = tokio::time::Instant::now();
        assert_eq!(tasks.wait(LONG).await, Ok(()));
        assert_eq!(start.elapsed().as_secs(), 6);
    }
}
