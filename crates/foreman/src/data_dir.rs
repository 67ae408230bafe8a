//! What a server on this machine keeps beside its database: files that appear whole or not at all, and that only their owner reads.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use tracing::warn;
use uuid::Uuid;

/// What others may do with a file of ours.
pub const OTHERS: u32 = 0o077;

/// Makes a file with this text, once. Whether it did: of several that make it at one moment one wins, and a file that is there is never
/// replaced. Written beside it and linked into place: there is no moment in which half a file is there.
pub fn make_once(path: &Path, text: &str) -> io::Result<bool> {
    let directory = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let draft = directory.join(format!(".draft.{}", Uuid::new_v4()));
    let written = write(&draft, text).and_then(|()| fs::hard_link(&draft, path));
    fs::remove_file(&draft).ok();
    match written {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
        Ok(()) => {
            fs::File::open(directory)?.sync_all()?;
            Ok(true)
        }
    }
}

fn write(draft: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    // Whatever the umask left of it.
    file.set_permissions(Permissions::from_mode(0o600))?;
    writeln!(file, "{text}")?;
    file.sync_all()
}

/// Keys and jobs lie in a directory of somebody's project, and one `git add .` would publish them.
pub fn keep_out_of_git(directory: &Path) {
    if let Err(error) = make_once(&directory.join(".gitignore"), "*") {
        warn!(
            "could not write {}: {error}; do not commit the files in that directory",
            directory.join(".gitignore").display()
        );
    }
}
