//! A directory of its own for a command whose job names none: empty, for its eyes only, and gone when the attempt is over.
//!
//! What the command put there is removed with bounded effort, for it may have put anything there: a tree that is too deep or
//! too full, or that it has locked, is left with a word in the log. The walk follows no link, by way of open directories: a
//! process that left the command's group cannot lead it elsewhere in the middle.
//!
//! Each attempt has a name nobody could have guessed. A process that dies half way leaves its directories behind, for
//! whoever tidies up there.

use std::ffi::CStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::plan::Identity;

/// So long an attempt waits for its directory to be removed; then that goes on by itself.
const PATIENCE: Duration = Duration::from_secs(2);
const MOST_ENTRIES: u32 = 200_000;
const DEEPEST: u32 = 64;

pub(super) struct Scratch {
    /// `None` once somebody else removes it.
    path: Option<PathBuf>,
}

impl Scratch {
    pub(super) fn make(parent: &Path, owner: Option<Identity>) -> io::Result<Self> {
        let path = parent.join(format!("foreman-{}", uuid::Uuid::new_v4().simple()));
        DirBuilder::new().mode(0o700).create(&path)?;
        if let Some(Identity { uid, gid }) = owner
            && let Err(error) = chown(&path, Some(uid), Some(gid))
        {
            // Empty still: nobody but us could enter it.
            let _ = fs::remove_dir(&path);
            return Err(error);
        }
        Ok(Self { path: Some(path) })
    }

    pub(super) fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new("/"))
    }

    pub(super) async fn remove(mut self) {
        if let Some(path) = self.path.take() {
            let removed = tokio::task::spawn_blocking(move || remove_or_tell(&path));
            // It goes on by itself after that.
            let _ = timeout(PATIENCE, removed).await;
        }
    }
}

/// The attempt was dropped. What ran there has just been killed.
impl Drop for Scratch {
    fn drop(&mut self) {
        let Some(path) = self.path.take() else { return };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || remove_or_tell(&path))),
            Err(_) => remove_or_tell(&path),
        }
    }
}

fn remove_or_tell(path: &Path) {
    if let Err(error) = remove(path) {
        tracing::warn!("could not delete {}, the working directory of a command: {error}", path.display());
    }
}

#[derive(Debug, thiserror::Error)]
enum NotRemoved {
    #[error("it is deeper than {DEEPEST} directories")]
    TooDeep,
    #[error("it has more than {MOST_ENTRIES} entries")]
    TooMuch,
    #[error("{0}")]
    System(#[from] Errno),
}

const OPEN: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

fn remove(path: &Path) -> Result<(), NotRemoved> {
    match Dir::open(path, OPEN, Mode::empty()) {
        Ok(directory) => empty(directory, 1, &mut MOST_ENTRIES.clone())?,
        // The command was so kind.
        Err(Errno::ENOENT) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    }
    fs::remove_dir(path).map_err(|error| error.raw_os_error().map_or(Errno::EIO, Errno::from_raw).into())
}

fn empty(mut directory: Dir, depth: u32, left: &mut u32) -> Result<(), NotRemoved> {
    let handle = directory.as_fd().try_clone_to_owned().map_err(|_| Errno::EMFILE)?;
    for entry in directory.iter() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        *left = left.checked_sub(1).ok_or(NotRemoved::TooMuch)?;
        if entry.file_type() == Some(Type::Directory) || !remove_file(&handle, name)? {
            if depth == DEEPEST {
                return Err(NotRemoved::TooDeep);
            }
            empty(Dir::openat(&handle, name, OPEN, Mode::empty())?, depth + 1, left)?;
            unlinkat(&handle, name, UnlinkatFlags::RemoveDir)?;
        }
    }
    Ok(())
}

/// Whether it was something to be removed like a file.
fn remove_file(directory: impl AsFd, name: &CStr) -> Result<bool, Errno> {
    match unlinkat(directory, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => Ok(true),
        Err(Errno::EISDIR) => Ok(false),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[tokio::test]
    async fn a_directory_is_its_owners_alone_and_goes_with_all_that_is_in_it() {
        let place = tempfile::tempdir().expect("a directory");
        let outside = place.path().join("outside");
        fs::write(&outside, "stays").expect("written");
        let scratch = Scratch::make(place.path(), None).expect("made");
        let path = scratch.path().to_owned();
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o700);
        fs::create_dir_all(path.join("a/b/c")).expect("made");
        fs::write(path.join("a/b/file"), "x").expect("written");
        symlink(&outside, path.join("a/link")).expect("linked");
        symlink(place.path(), path.join("a/b/up")).expect("linked");
        scratch.remove().await;
        assert!(!path.exists(), "all of it is gone");
        assert_eq!(fs::read_to_string(&outside).expect("there"), "stays", "a link is not followed");
    }

    #[tokio::test]
    async fn two_attempts_never_share_one() {
        let place = tempfile::tempdir().expect("a directory");
        let (one, two) = (Scratch::make(place.path(), None), Scratch::make(place.path(), None));
        assert_ne!(one.expect("made").path(), two.expect("made").path());
    }

    #[test]
    fn a_dropped_one_is_removed_as_well() {
        let place = tempfile::tempdir().expect("a directory");
        drop(Scratch::make(place.path(), None).expect("made"));
        assert_eq!(fs::read_dir(place.path()).expect("readable").count(), 0);
    }

    #[test]
    fn a_tree_without_a_bottom_is_given_up() {
        let place = tempfile::tempdir().expect("a directory");
        let top = place.path().join("top");
        fs::create_dir_all(top.join("d/".repeat(DEEPEST as usize))).expect("made");
        assert!(matches!(remove(&top), Err(NotRemoved::TooDeep)));
        fs::remove_dir_all(&top).expect("removed");
        fs::create_dir_all(top.join("d/".repeat(DEEPEST as usize - 1))).expect("made");
        remove(&top).expect("one less is not too deep");
    }

    #[test]
    fn more_than_can_be_removed_in_good_time_is_given_up() {
        let place = tempfile::tempdir().expect("a directory");
        for name in ["a", "b", "c"] {
            fs::write(place.path().join(name), "").expect("written");
        }
        let open = || Dir::open(place.path(), OPEN, Mode::empty()).expect("opened");
        assert!(matches!(empty(open(), 1, &mut 2), Err(NotRemoved::TooMuch)));
        empty(open(), 1, &mut 2).expect("the one that is left");
    }

    #[test]
    fn one_that_the_command_removed_itself_is_no_news() {
        remove(Path::new("/tmp/no-such-directory-of-a-command")).expect("nothing to do");
    }
}
