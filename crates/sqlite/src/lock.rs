//! One process per data file.
//!
//! An exclusive `flock` on `foreman.lock` beside the data file, held as long as the store is open. The kernel drops it
//! when the process dies, however it dies, so a lock that is free proves every earlier process dead; that is what lets
//! [`crate::SqliteStore::open`] lapse their sessions at once. The file itself stays: to remove it would let two processes
//! lock two files of one name. It holds the pid of the last one to lock it, for the message alone.
//!
//! Where the data file is a symbolic link, the lock beside what it leads to is taken too: two links, or a link and the file itself,
//! lead to one store. `flock` holds on one machine; on a network file system it may let another machine in (`filesystem.rs`).

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::error::OpenError;

pub(crate) struct Lock {
    // Held for their locks; closing them gives those back. Not inherited by commands: the standard library opens files so.
    _files: Vec<File>,
}

impl Lock {
    pub fn take(data: &Path) -> Result<Self, OpenError> {
        let (named, real) = (path_beside(data), path_beside(&resolved(data)));
        let mut files = vec![Self::take_one(data, &named)?];
        // The same directory may have several names.
        let is_same = match (named.canonicalize(), real.canonicalize()) {
            (Ok(named), Ok(real)) => named == real,
            _ => false,
        };
        if !is_same {
            files.push(Self::take_one(data, &real)?);
        }
        Ok(Self { _files: files })
    }

    fn take_one(data: &Path, path: &Path) -> Result<File, OpenError> {
        let io = |error: std::io::Error| OpenError::Io { path: path.to_owned(), reason: error.to_string() };
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
                return Err(OpenError::Locked { path: data.to_owned(), pid });
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        write_pid(&mut file).map_err(io)?;
        Ok(file)
    }
}

/// What a link leads to, also when that is not there yet.
fn resolved(data: &Path) -> PathBuf {
    if let Ok(path) = data.canonicalize() {
        return path;
    }
    match (std::fs::read_link(data), data.parent()) {
        (Ok(target), Some(parent)) => parent.join(target),
        _ => data.to_owned(),
    }
}

fn write_pid(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

pub(crate) fn path_beside(data: &Path) -> PathBuf {
    data.with_file_name("foreman.lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_and_the_file_that_it_leads_to_have_one_lock() {
        let (here, there) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        let (link, file) = (here.path().join("foreman.db"), there.path().join("foreman.db"));
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        for is_there in [false, true] {
            if is_there {
                std::fs::write(&file, "").expect("a file");
            }
            let through = Lock::take(&link).expect("free");
            assert!(matches!(Lock::take(&file), Err(OpenError::Locked { .. })), "the same store: {is_there}");
            drop(through);
            let itself = Lock::take(&file).expect("free again");
            assert!(matches!(Lock::take(&link), Err(OpenError::Locked { .. })), "the same store: {is_there}");
            drop(itself);
        }
    }
}
