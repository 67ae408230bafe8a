//! The master key that secrets are sealed with where they are kept: where it comes from, and that it works.
//!
//! A team sets `FOREMAN_SECRET_KEY` or `FOREMAN_SECRET_KEY_FILE`, the same for every process. `foreman dev` makes one beside its
//! database, once: the file appears whole or not at all, and of two processes that make it at one moment one wins and both use the
//! winner's. One that other users of the machine can read is refused: it would guard nothing.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use foreman_core::sealed::{Keyring, MasterKey};
use tracing::{info, warn};

use crate::config::{Settings, StoreKind};
use crate::data_dir::{OTHERS, make_once};
use crate::role::Role;

const EVERYBODY: u32 = 0o007;

/// Puts the key in force that a process of this role has; without one, says what will be refused.
pub fn prepare(role: Role, settings: &mut Settings) -> anyhow::Result<()> {
    if settings.secret_key.is_none() && role == Role::Dev {
        settings.secret_key = Some(of_dev(settings)?);
    }
    if let Some(ring) = &settings.secret_key {
        // A build in which sealing does nothing must not start.
        ring.self_test()?;
    } else if let Some(missing) = missing(role) {
        warn!("{missing}");
    }
    if let Some(path) = settings.secret_key_file.as_deref().filter(|path| is_open_to_everybody(path)) {
        warn!(
            "every user of this machine can read {}, which decrypts all secrets; restrict its permissions",
            path.display()
        );
    }
    Ok(())
}

fn missing(role: Role) -> Option<&'static str> {
    match role {
        Role::Dev | Role::Api => Some(
            "no FOREMAN_SECRET_KEY: jobs with headers or variables, webhooks and signing secrets are rejected; set it to the output of \
             `openssl rand -base64 32`, the same for every process",
        ),
        Role::Worker => Some(
            "no FOREMAN_SECRET_KEY: jobs with headers or variables fail on this worker, and requests are not signed; set it to the same \
             value as for the API",
        ),
        // It copies what is sealed as it is, and opens nothing.
        Role::Scheduler | Role::Relay => None,
    }
}

/// Where `dev` keeps its key.
pub fn place(settings: &Settings) -> PathBuf {
    settings.data_dir.join("secret.key")
}

fn of_dev(settings: &Settings) -> anyhow::Result<Keyring> {
    if settings.store == StoreKind::Memory {
        return Ok(Keyring::new(MasterKey::fresh()));
    }
    let path = place(settings);
    if let Some(ring) = kept(&path)? {
        return Ok(ring);
    }
    make(&path).with_context(|| format!("could not create {}", path.display()))?;
    kept(&path)?.with_context(|| format!("{} disappeared right after it was created", path.display()))
}

/// The key that `dev` has made there, if it has.
pub fn kept(path: &Path) -> anyhow::Result<Option<Keyring>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("could not access {}", path.display())),
        Ok(file) if file.permissions().mode() & OTHERS != 0 => bail!(
            "other users of this machine can read {}, which decrypts all secrets: run `chmod 600 {}`. If one of them may have read it, put a \
             new key and a comma in front of it (`openssl rand -base64 32`) and run `foreman secrets reseal --direct`",
            path.display(),
            path.display()
        ),
        Ok(_) => {}
    }
    of_file(path).map(Some).with_context(|| format!("the key in {}", path.display()))
}

/// The keys in a file: separated by commas or lines, the sealing one first.
pub fn of_file(path: &Path) -> anyhow::Result<Keyring> {
    let text = fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
    Ok(text.trim().replace(['\r', '\n'], ",").parse()?)
}

fn make(path: &Path) -> io::Result<()> {
    if make_once(path, MasterKey::fresh().text().reveal())? {
        info!(
            "created {}, which encrypts secrets in the database. Keep it in a secret store, apart from the backups of the \
             database: to restore, you need both",
            path.display()
        );
    }
    Ok(())
}

fn is_open_to_everybody(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.permissions().mode() & EVERYBODY != 0)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    #[test]
    fn a_key_is_made_once_and_only_its_owner_can_read_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let settings = Settings { data_dir: directory.path().join("data"), ..Settings::default() };
        let first = of_dev(&settings).expect("made");
        let again = of_dev(&settings).expect("read");
        assert_eq!(first.sealing_key_id(), again.sealing_key_id());
        let path = place(&settings);
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        make(&path).expect("somebody was faster");
        assert_eq!(of_dev(&settings).expect("read").sealing_key_id(), first.sealing_key_id(), "it is never replaced");
        let left: Vec<_> = fs::read_dir(&settings.data_dir).expect("a directory").collect();
        assert_eq!(left.len(), 1, "nothing else is left behind");
    }

    #[test]
    fn of_many_that_make_it_at_once_all_use_the_same() {
        let directory = tempfile::tempdir().expect("a directory");
        let settings = Settings { data_dir: directory.path().to_owned(), ..Settings::default() };
        let ids: Vec<String> = std::thread::scope(|scope| {
            let makers: Vec<_> =
                (0..8).map(|_| scope.spawn(|| of_dev(&settings).expect("a key").sealing_key_id().to_owned())).collect();
            makers.into_iter().map(|maker| maker.join().expect("no panic")).collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }

    #[test]
    fn a_key_that_others_can_read_or_that_is_none_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let settings = Settings { data_dir: directory.path().to_owned(), ..Settings::default() };
        of_dev(&settings).expect("made");
        let path = place(&settings);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("changed");
        let said = format!("{:#}", of_dev(&settings).expect_err("others can read it"));
        assert!(said.contains("chmod 600"), "{said}");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("changed");
        fs::write(&path, "sesame\n").expect("written");
        let said = format!("{:#}", of_dev(&settings).expect_err("no key"));
        assert!(said.contains("secret.key") && !said.contains("sesame"), "{said}");
    }

    #[test]
    fn a_file_may_have_its_keys_on_lines() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let (new, old) = (MasterKey::fresh(), MasterKey::fresh());
        fs::write(file.path(), format!("{}\n{}\n", new.text().reveal(), old.text().reveal())).expect("written");
        assert_eq!(of_file(file.path()).expect("a ring").sealing_key_id(), new.id());
    }
}
