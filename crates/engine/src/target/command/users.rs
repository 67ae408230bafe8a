//! A user of the machine for each tenant, so that commands of one tenant cannot look into or interfere with those of another.
//!
//! Users are numbers out of a range that belongs to Foreman alone; they need no account. A tenant gets the lowest that is free when its first
//! command runs here, and keeps it: the file `users` in a directory of root's says whose is whose, one line each, and all workers of the machine
//! share it. A user means something on its own machine only, so machines need not agree. When no number is free, nothing is run.
//!
//! **What a command leaves behind** (a process that left the group) ends when no command of its tenant runs on this machine any more: a process
//! becomes that user and sends KILL to everything it may, which nothing of that user can escape. Each user has a file that is locked, shared by
//! every worker that runs a command of it, alone by whoever ends what is left: so one worker never ends what belongs to another's attempt. The
//! kernel drops the locks of a worker that dies; what it left is ended before the next command of that tenant starts.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::ops::RangeInclusive;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use foreman_core::TenantId;
use tokio::process::Command;
use tokio::runtime::Handle;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, sleep};

use super::plan::Identity;
use super::{launch, spawner};

/// So long an attempt waits for others to end what an earlier one has left.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// A process of the user may kill the one that is about to kill it, but not every time.
const ROUNDS: usize = 5;

pub struct Users {
    range: RangeInclusive<u32>,
    directory: PathBuf,
    /// How this binary is started to end what is left of a user.
    program: PathBuf,
    words: Vec<String>,
    seats: Mutex<HashMap<TenantId, Arc<UserSeat>>>,
}

/// A tenant's user, as this process uses it.
struct UserSeat {
    identity: Identity,
    state: AsyncMutex<UserSeatUse>,
}

#[derive(Default)]
struct UserSeatUse {
    attempts: usize,
    /// Held while there are any.
    lock: Option<File>,
}

#[derive(Debug, thiserror::Error)]
pub enum NoUser {
    #[error("commands.users has {0} users, and all are assigned to other tenants; enlarge the range")]
    Full(usize),
    #[error("{path}, line {line}: {why}")]
    Unreadable { path: String, line: usize, why: &'static str },
    #[error("processes of an earlier command of the tenant could not be killed")]
    Busy,
    #[error("cannot use {path}: {error}")]
    Files { path: String, error: io::Error },
}

impl Users {
    /// `program` with `words` is this binary on its way to [`launch::sweep`]. The directory is made if it is not there.
    pub fn new(
        range: RangeInclusive<u32>,
        directory: PathBuf,
        program: PathBuf,
        words: Vec<String>,
    ) -> Result<Self, NoUser> {
        let failed = |error| NoUser::Files { path: directory.display().to_string(), error };
        DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(failed)?;
        let found = fs::metadata(&directory).map_err(failed)?;
        if found.uid() != nix::unistd::Uid::effective().as_raw() || found.permissions().mode() & 0o022 != 0 {
            return Err(failed(io::Error::other("it belongs to another user, or others can write to it")));
        }
        Ok(Self { range, directory, program, words, seats: Mutex::default() })
    }

    /// The user of a tenant for one attempt, with nothing of an earlier one left.
    pub(super) async fn lease(self: &Arc<Self>, tenant: &TenantId) -> Result<UserLease, NoUser> {
        let seat = self.seat(tenant)?;
        let mut taken = seat.state.lock().await;
        if taken.lock.is_none() {
            taken.lock = Some(self.enter(seat.identity).await?);
        }
        taken.attempts += 1;
        drop(taken);
        Ok(UserLease { users: Arc::clone(self), seat: Some(seat) })
    }

    fn seat(&self, tenant: &TenantId) -> Result<Arc<UserSeat>, NoUser> {
        // Held while the file is read and written: a moment, and once for each tenant.
        let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seat) = seats.get(tenant) {
            return Ok(Arc::clone(seat));
        }
        let uid = self.assign(tenant)?;
        let seat = Arc::new(UserSeat { identity: Identity { uid, gid: uid }, state: AsyncMutex::default() });
        seats.insert(tenant.clone(), Arc::clone(&seat));
        Ok(seat)
    }

    /// The number of a tenant, out of the file or into it.
    fn assign(&self, tenant: &TenantId) -> Result<u32, NoUser> {
        let path = self.directory.join("users");
        let failed = |error| NoUser::Files { path: path.display().to_string(), error };
        let mut file = open(&path).map_err(failed)?;
        // Given back when it is closed.
        file.lock().map_err(failed)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let assigned = read(&text).map_err(|(line, why)| {
            let path = path.display().to_string();
            NoUser::Unreadable { path, line, why }
        })?;
        let in_range = |uid: &u32| self.range.contains(uid);
        if let Some((uid, _)) = assigned.iter().find(|(uid, of)| in_range(uid) && **of == tenant.as_str()) {
            return Ok(*uid);
        }
        let free = self.range.clone().find(|uid| !assigned.contains_key(uid));
        let uid = free.ok_or_else(|| NoUser::Full(self.range.clone().count()))?;
        let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        file.write_all(format!("{newline}{uid} {tenant}\n").as_bytes()).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        tracing::info!("commands of the tenant {tenant} run as user {uid} on this machine");
        Ok(uid)
    }

    /// Ends what is left of the user, unless another worker runs something of it, and holds the place.
    async fn enter(&self, identity: Identity) -> Result<File, NoUser> {
        let path = self.directory.join(format!("{}.lock", identity.uid));
        let failed = |error| NoUser::Files { path: path.display().to_string(), error };
        let file = open(&path).map_err(failed)?;
        if is_taken(file.try_lock()).map_err(failed)? {
            let ended = self.sweep(identity).await;
            file.unlock().map_err(failed)?;
            ended?;
        }
        let start = Instant::now();
        while !is_taken(file.try_lock_shared()).map_err(failed)? {
            if start.elapsed() > PATIENCE {
                return Err(NoUser::Busy);
            }
            sleep(LOOK_AGAIN).await;
        }
        Ok(file)
    }

    /// One attempt less. With the last, what is left of the user ends.
    async fn leave(&self, seat: &UserSeat) {
        let mut taken = seat.state.lock().await;
        taken.attempts -= 1;
        if taken.attempts > 0 {
            return;
        }
        let Some(file) = taken.lock.take() else { return };
        let is_alone = file.unlock().and_then(|()| is_taken(file.try_lock()));
        let uid = seat.identity.uid;
        match is_alone {
            // Another worker runs a command of the same tenant, and does this when that one ends.
            Ok(false) => {}
            Ok(true) => {
                if let Err(error) = self.sweep(seat.identity).await {
                    tracing::warn!("processes of user {uid} may still be running: {error}");
                }
            }
            Err(error) => tracing::warn!("processes of user {uid} may still be running: {error}"),
        }
    }

    async fn sweep(&self, identity: Identity) -> Result<(), NoUser> {
        for _ in 0..ROUNDS {
            let mut command = Command::new(&self.program);
            command
                .args(&self.words)
                .args(launch::sweep_words(identity))
                .env_clear()
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .process_group(0)
                .kill_on_drop(true);
            let ended = match spawner::spawn(command, None).await {
                Ok(mut spawned) => spawned.child.wait().await,
                Err(error) => Err(error),
            };
            if ended.is_ok_and(|status| status.success()) {
                return Ok(());
            }
        }
        Err(NoUser::Busy)
    }
}

/// For one attempt.
pub(super) struct UserLease {
    users: Arc<Users>,
    /// `None` once it is given back.
    seat: Option<Arc<UserSeat>>,
}

impl UserLease {
    pub(super) fn identity(&self) -> Option<Identity> {
        self.seat.as_ref().map(|seat| seat.identity)
    }

    pub(super) async fn end(mut self) {
        // Given back first: whoever drops this half way must not give it back twice.
        if let Some(seat) = self.seat.take() {
            let users = Arc::clone(&self.users);
            let left = tokio::task::spawn_blocking(move || Handle::current().block_on(users.leave(&seat)));
            // It goes on by itself if nobody waits.
            let _ = left.await;
        }
    }
}

/// The attempt was dropped. What ran in its group has just been killed.
impl Drop for UserLease {
    fn drop(&mut self) {
        let (Some(seat), Ok(runtime)) = (self.seat.take(), Handle::try_current()) else { return };
        let users = Arc::clone(&self.users);
        drop(runtime.spawn_blocking(move || Handle::current().block_on(users.leave(&seat))));
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}

fn is_taken(locked: Result<(), TryLockError>) -> io::Result<bool> {
    match locked {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whose user each number is; or which line says what nobody can mean.
fn read(text: &str) -> Result<BTreeMap<u32, &str>, (usize, &'static str)> {
    let mut assigned = BTreeMap::new();
    for (place, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let pair =
            line.split_once(char::is_whitespace).and_then(|(uid, tenant)| Some((uid.parse().ok()?, tenant.trim())));
        let (uid, tenant) = pair.ok_or((place + 1, "not a user id and a tenant"))?;
        if assigned.insert(uid, tenant).is_some() {
            return Err((place + 1, "the user is already assigned to another tenant"));
        }
    }
    Ok(assigned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(directory: &Path, range: RangeInclusive<u32>) -> Users {
        Users::new(range, directory.join("users"), "/bin/true".into(), Vec::new()).expect("a directory")
    }

    fn tenant(name: &str) -> TenantId {
        TenantId::new(name)
    }

    #[test]
    fn a_tenant_keeps_its_user_and_no_two_have_the_same() {
        let directory = tempfile::tempdir().expect("a directory");
        let first = users(directory.path(), 60_000..=60_002);
        assert_eq!(first.assign(&tenant("acme")).expect("free"), 60_000);
        assert_eq!(first.assign(&tenant("beta")).expect("free"), 60_001);
        // Another worker of the machine, or the same after a restart.
        let second = users(directory.path(), 60_000..=60_002);
        assert_eq!(second.assign(&tenant("beta")).expect("known"), 60_001);
        assert_eq!(second.assign(&tenant("gamma")).expect("free"), 60_002);
        let error = first.assign(&tenant("delta")).expect_err("none is left").to_string();
        assert!(error.contains("3 users") && error.contains("enlarge the range"), "{error}");
        let wider = users(directory.path(), 60_000..=60_009);
        assert_eq!(wider.assign(&tenant("delta")).expect("free"), 60_003);
        assert_eq!(wider.assign(&tenant("acme")).expect("known"), 60_000);
    }

    #[test]
    fn of_many_that_ask_at_once_none_gets_anothers() {
        let directory = tempfile::tempdir().expect("a directory");
        let assigned: Vec<u32> = std::thread::scope(|scope| {
            let path = directory.path();
            let asking =
                |n: usize| move || users(path, 60_000..=60_100).assign(&tenant(&format!("t{}", n / 2))).expect("free");
            let threads: Vec<_> = (0..32).map(|n| scope.spawn(asking(n))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        for pair in assigned.chunks(2) {
            assert_eq!(pair[0], pair[1], "one tenant, one user: {assigned:?}");
        }
        let different: std::collections::BTreeSet<_> = assigned.iter().collect();
        assert_eq!(different.len(), 16, "{assigned:?}");
    }

    #[test]
    fn a_file_that_gives_one_user_to_two_tenants_is_refused() {
        assert_eq!(read("60000 a\n\n# pinned\n60001 b\n"), Ok(BTreeMap::from([(60_000, "a"), (60_001, "b")])));
        for (text, line) in [("60000 a\n60000 b", 2), ("a", 1), ("60000", 1), ("x a", 1)] {
            assert_eq!(read(text).expect_err(text).0, line, "{text}");
        }
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).expect("changed");
        let made = Users::new(1..=2, directory.path().to_owned(), "/bin/true".into(), Vec::new());
        assert!(made.is_err_and(|error| error.to_string().contains("others can write")));
    }
}
