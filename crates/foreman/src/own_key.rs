//! The key that `foreman dev` makes for itself where jobs may run commands.
//!
//! Without it, every user of the machine, and every program that can be made to send a request to it, could run programs as the user who
//! started the server. It is kept beside the database, for its owner alone, and made once; the command line finds it there. A server that
//! asks for no key, or for another, removes it: a key that opens nothing is not to be shown around.

use std::fs;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use foreman_core::secret::Secret;
use nix::unistd::Uid;
use tracing::warn;
use uuid::Uuid;

use crate::config::{Settings, StoreKind};
use crate::data_dir::{OTHERS, make_once};
use crate::role::Role;

/// Asks for a key of the server's own, if it should have one.
pub fn prepare(role: Role, settings: &mut Settings) -> anyhow::Result<()> {
    if role != Role::Dev {
        return Ok(());
    }
    if settings.admin_key.is_some() || !settings.commands.allow {
        return Ok(());
    }
    let is_kept = settings.store != StoreKind::Memory;
    let key = if is_kept { of_file(&place(&settings.data_dir))? } else { fresh() };
    (settings.admin_key, settings.has_own_key) = (Some(key), true);
    Ok(())
}

/// Removes a key that an earlier server made and this one does not ask for. Only once it serves: until it has the data directory to
/// itself, the key may be that of a server that runs.
pub fn remove_unused(role: Role, settings: &Settings) {
    if role == Role::Dev && settings.store != StoreKind::Memory && !settings.has_own_key {
        remove(&place(&settings.data_dir));
    }
}

pub fn place(data_dir: &Path) -> PathBuf {
    data_dir.join("admin.key")
}

/// The key of a server on this machine that keeps its data here, for whoever calls it at this address. Only its owner has it, and only an
/// address of this machine is shown it.
pub fn find(data_dir: &Path, api_url: &str) -> anyhow::Result<Option<Secret>> {
    if is_of_this_machine(api_url) { kept(&place(data_dir)) } else { Ok(None) }
}

fn is_of_this_machine(url: &str) -> bool {
    let Ok(uri) = url.parse::<http::Uri>() else { return false };
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn of_file(path: &Path) -> anyhow::Result<Secret> {
    if let Some(key) = kept(path)? {
        return Ok(key);
    }
    make_once(path, fresh().reveal()).with_context(|| format!("could not create {}", path.display()))?;
    kept(path)?.with_context(|| format!("{} disappeared right after it was created", path.display()))
}

/// 244 random bits.
fn fresh() -> Secret {
    Secret::new(format!("fm_dev_{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()))
}

fn kept(path: &Path) -> anyhow::Result<Option<Secret>> {
    let file = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("could not access {}", path.display())),
        Ok(file) => file,
    };
    if file.uid() != Uid::effective().as_raw() || file.permissions().mode() & OTHERS != 0 {
        bail!(
            "{} is accessible to other users; delete it, and `foreman dev --allow-commands` creates a new one",
            path.display()
        );
    }
    let text = fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
    match text.trim() {
        key if key.len() >= 24 => Ok(Some(Secret::new(key))),
        _ => {
            bail!("{} contains no key; delete it, and `foreman dev --allow-commands` creates a new one", path.display())
        }
    }
}

fn remove(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            warn!("could not delete {}, a key that is no longer valid: {error}", path.display());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    fn settings(directory: &Path, allows: bool) -> Settings {
        let mut settings = Settings { data_dir: directory.to_owned(), ..Settings::default() };
        settings.commands.allow = allows;
        settings
    }

    #[test]
    fn a_server_that_allows_commands_makes_a_key_once_and_one_that_does_not_removes_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let key_of = |settings: &Settings| settings.admin_key.as_ref().map(|key| key.reveal().to_owned());
        let mut first = settings(directory.path(), true);
        prepare(Role::Dev, &mut first).expect("made");
        assert!(first.has_own_key && key_of(&first).is_some_and(|key| key.len() > 60));
        let mode = fs::metadata(place(directory.path())).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let mut again = settings(directory.path(), true);
        prepare(Role::Dev, &mut again).expect("read");
        assert_eq!(key_of(&again), key_of(&first));
        let found = find(directory.path(), "http://127.0.0.1:9090").expect("readable").expect("there");
        assert_eq!(Some(found.reveal().to_owned()), key_of(&first));
        let mut without = settings(directory.path(), false);
        prepare(Role::Dev, &mut without).expect("nothing to do");
        assert!(!without.has_own_key && without.admin_key.is_none());
        assert!(place(directory.path()).exists(), "it may be the key of a server that runs");
        remove_unused(Role::Dev, &without);
        assert!(!place(directory.path()).exists(), "it has the directory to itself, and asks for no key");
        let mut other = settings(directory.path(), true);
        prepare(Role::Dev, &mut other).expect("made again");
        other = settings(directory.path(), true);
        other.admin_key = Some(Secret::new("a-key-that-somebody-has-set"));
        prepare(Role::Dev, &mut other).expect("nothing to do");
        remove_unused(Role::Dev, &other);
        assert!(!other.has_own_key && !place(directory.path()).exists(), "it asks for the one that was set");
        let mut role = settings(directory.path(), true);
        prepare(Role::Api, &mut role).expect("nothing to do");
        assert!(role.admin_key.is_none(), "only `dev` makes one");
    }

    #[test]
    fn a_key_is_shown_to_this_machine_alone_and_read_only_where_it_is_ones_own() {
        let directory = tempfile::tempdir().expect("a directory");
        prepare(Role::Dev, &mut settings(directory.path(), true)).expect("made");
        for here in ["http://127.0.0.1:1", "http://localhost:1/x", "http://[::1]:1", "http://127.9.9.9"] {
            assert!(find(directory.path(), here).expect("readable").is_some(), "{here}");
        }
        for there in
            ["http://example.com", "http://127.0.0.1.example.com", "http://localhost.evil.example", "10.0.0.1", ""]
        {
            assert!(find(directory.path(), there).expect("readable").is_none(), "{there}");
        }
        fs::set_permissions(place(directory.path()), Permissions::from_mode(0o644)).expect("changed");
        let said = find(directory.path(), "http://127.0.0.1:1").expect_err("others can read it").to_string();
        assert!(said.contains("accessible to other users"), "{said}");
    }
}
