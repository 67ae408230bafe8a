//! Header values and command variables of a schedule: sealed in what every tick asks for, hidden in what was written.
//!
//! Whoever edits a schedule is shown `***` for each value, and gives that back for those that shall stay. A value that stays is
//! taken from what is kept, never from the edit. It does not stay when the job is to call another host, or to run something else (another
//! program, other arguments, another directory or input): or who may edit a schedule, and was never told its secrets, could have them sent
//! home, or printed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use foreman_core::sealed::Keyring;
use foreman_core::secret_map::{MASK, SecretMap};
use foreman_core::spec::{Invalid, Mistake};
use foreman_core::{TenantId, Work};

/// Fills in the values that stay, from the work that `kept` has, and seals all of them.
pub(super) fn seal(
    work: &mut Work,
    kept: Option<&Work>,
    tenant: &TenantId,
    ring: Option<&Keyring>,
) -> Result<(), Invalid> {
    let Some(secrets) = work.target.secrets() else { return Ok(()) };
    let SecretMap::Clear(given) = secrets.values else { return Ok(()) };
    let (field, place) = (secrets.field, secrets.place(tenant));
    let void = kept.and_then(|kept| work.target.voids_secrets_of(&kept.target));
    let stored = kept.and_then(|kept| kept.target.secrets()).filter(|stored| stored.field == field);
    let filled = fill(given.clone(), stored.map(|stored| stored.values), void, field, |kept| {
        kept.open(ring, place).map(Cow::into_owned).map_err(|error| error.to_string())
    })?;
    let sealed = match ring {
        Some(ring) => filled.sealed(ring, place),
        None => filled,
    };
    if !sealed.is_safe_to_keep() {
        let detail = "may hold secrets, and this server has no FOREMAN_SECRET_KEY to keep them with; \
                      the operator can set one; or leave it out";
        return Err(mistaken([(format!("/job/{field}"), detail.into())]));
    }
    work.target.set_secrets(sealed);
    Ok(())
}

/// What is given, with the kept value where a hidden one stands. `void`: why none is kept for this.
fn fill(
    mut given: BTreeMap<String, String>,
    kept: Option<&SecretMap>,
    void: Option<&str>,
    field: &str,
    open: impl FnOnce(&SecretMap) -> Result<BTreeMap<String, String>, String>,
) -> Result<SecretMap, Invalid> {
    let hidden: Vec<String> = given.iter().filter(|(_, value)| *value == MASK).map(|(name, _)| name.clone()).collect();
    if hidden.is_empty() {
        return Ok(given.into());
    }
    let is_kept = |name: &String| kept.is_some_and(|kept| kept.names().any(|kept| kept == name));
    let mistakes: Vec<(String, String)> = hidden
        .iter()
        .filter_map(|name| {
            let detail = if is_kept(name) {
                format!("`{MASK}` {}: give the value again", void?)
            } else {
                format!("`{MASK}` means the stored value, but none is stored: give the value")
            };
            Some((format!("/job/{field}/{name}"), detail))
        })
        .collect();
    if !mistakes.is_empty() {
        return Err(mistaken(mistakes));
    }
    let Some(kept) = kept else { return Ok(given.into()) };
    if hidden.len() == given.len() && kept.names().count() == given.len() {
        // Nothing is new: nobody needs to look inside.
        return Ok(kept.clone());
    }
    let values = open(kept).map_err(|why| {
        mistaken([(
            format!("/job/{field}"),
            format!("what is kept cannot be opened here: {why}; give every value again"),
        )])
    })?;
    for name in hidden {
        if let Some(value) = values.get(&name) {
            given.insert(name, value.clone());
        }
    }
    Ok(given.into())
}

fn mistaken(mistakes: impl IntoIterator<Item = (String, String)>) -> Invalid {
    let mistakes = mistakes.into_iter().map(|(pointer, detail)| Mistake { pointer, detail }).collect();
    Invalid { mistakes }
}
