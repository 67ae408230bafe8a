//! One process per data file.
//!
//! An exclusive `flock` on `foreman.lock` beside the data file, held as long as the store is open. The kernel drops it
//! when the process dies, however it dies, so a lock that is free proves every earlier process dead; that is what lets
//! [`crate::SqliteStore::open`] lapse their sessions at once. The file itself stays: to remove it would let two processes
//! lock two files of one name. It holds the pid of the last one to lock it, for the message alone.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::error::OpenError;

pub(crate) struct Lock {
    // Held for its lock; closing it gives the lock back. Not inherited by commands: the standard library opens files so.
    _file: File,
}

impl Lock {
    pub fn take(data: &Path) -> Result<Self, OpenError> {
        let path = path_beside(data);
        let io = |error: std::io::Error| OpenError::Io { path: path.clone(), reason: error.to_string() };
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
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
        Ok(Self { _file: file })
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
