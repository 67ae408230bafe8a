//! Who commands are run as, found once at the start.

use std::fs;
use std::ops::RangeInclusive;

use foreman_engine::target::command::Identity;
use nix::unistd::{Gid, Uid, User};

use super::codec::{self, Codec};

/// A user of this machine that commands can be run as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandUser {
    pub identity: Identity,
    /// What `USER` and `HOME` say; `None` for a number that is nobody's.
    pub account: Option<Account>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub home: String,
}

/// A name, or `uid:gid`, of which the numbers need not be anybody's.
pub fn find(text: &str) -> Result<CommandUser, String> {
    if !Uid::effective().is_root() {
        return Err(format!(
            "only root can run commands as {text}, and this process is not root; start it as root, or remove this \
             setting to run commands as the user of the process"
        ));
    }
    let found = if let Some(identity) = Identity::read(text) {
        let user = User::from_uid(Uid::from_raw(identity.uid)).ok().flatten();
        CommandUser { identity, account: user.map(Account::from) }
    } else {
        let user = User::from_name(text)
            .map_err(|error| format!("cannot look up the user {text}: {error}"))?
            .ok_or_else(|| format!("there is no user {text} on this machine; write a name or uid:gid"))?;
        let identity = Identity { uid: user.uid.as_raw(), gid: user.gid.as_raw() };
        CommandUser { identity, account: Some(user.into()) }
    };
    let Identity { uid, gid } = found.identity;
    if Uid::from_raw(uid).is_root() || gid == Gid::from_raw(0).as_raw() {
        return Err(format!("{text} is root or in its group; use an unprivileged user"));
    }
    Ok(found)
}

/// Users that belong to no account of this machine, one for each tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserRange(pub RangeInclusive<u32>);

impl UserRange {
    /// `60000-61000`. Below 1000 are the machine's own; the last number of all means nobody to the kernel.
    fn read(text: &str) -> Result<Self, String> {
        let range = text
            .split_once('-')
            .and_then(|(first, last)| Some(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?));
        match range {
            Some(range) if *range.start() >= 1_000 && range.start() <= range.end() && *range.end() < u32::MAX => {
                Ok(Self(range))
            }
            _ => Err(format!(
                "{text:?} is not a range of user ids; write it like 60000-61000, starting at 1000 or higher"
            )),
        }
    }

    /// Whether commands can be run as these here; or why not.
    pub fn judge(&self) -> Result<(), String> {
        if !Uid::effective().is_root() {
            return Err(
                "only root can run commands as other users, and this process is not root; start it as root, or remove \
                        this setting and run one worker per tenant"
                    .into(),
            );
        }
        let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
        match accounts.lines().filter_map(account).find(|(_, uid)| self.0.contains(uid)) {
            Some((name, uid)) => Err(format!("{uid} is the user {name}; use ids that belong to no account")),
            None => Ok(()),
        }
    }
}

/// `name:x:1000:…`
fn account(line: &str) -> Option<(&str, u32)> {
    let mut fields = line.split(':');
    Some((fields.next()?, fields.nth(1)?.parse().ok()?))
}

/// A range, or `"none"`.
pub fn range() -> Codec<Option<UserRange>> {
    let Codec { read, .. } = codec::text();
    Codec {
        read: Box::new(move |raw| match read(raw)?.as_str() {
            "none" => Ok(None),
            text => UserRange::read(text).map(Some),
        }),
        show: |value| {
            let text = value.as_ref().map(|UserRange(range)| format!("{}-{}", range.start(), range.end()));
            codec::quoted(text.as_deref().unwrap_or("none"))
        },
    }
}

impl From<User> for Account {
    fn from(user: User) -> Self {
        Self { name: user.name, home: user.dir.to_string_lossy().into_owned() }
    }
}

impl CommandUser {
    /// A number without an account, whichever it will be.
    pub fn of_nobody() -> Self {
        Self { identity: Identity { uid: u32::MAX, gid: u32::MAX }, account: None }
    }

    /// Variables that would speak of root.
    pub fn correct(&self, inherited: &mut Vec<(String, String)>) {
        inherited.retain_mut(|(name, value)| {
            let own = match (name.as_str(), &self.account) {
                ("HOME", Some(account)) => &account.home,
                ("USER", Some(account)) => &account.name,
                ("HOME" | "USER", None) => return false,
                _ => return true,
            };
            value.clone_from(own);
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_root() -> bool {
        Uid::effective().is_root()
    }

    #[test]
    fn a_user_is_named_or_numbered() {
        let said = [find("nobody"), find("4242:4343"), find("root"), find("0:1"), find("1:0"), find("no-such-user")];
        if !is_root() {
            for refused in said {
                let why = refused.expect_err("only root can become somebody else");
                assert!(why.contains("this process is not root"), "{why}");
            }
            return;
        }
        let [nobody, numbers, root, of_root, of_its_group, missing] = said;
        let nobody = nobody.expect("on every machine");
        assert!(nobody.identity.uid > 0 && nobody.account.is_some_and(|account| account.name == "nobody"));
        let numbers = numbers.expect("numbers need not be anybody's");
        assert_eq!(numbers, CommandUser { identity: Identity { uid: 4242, gid: 4343 }, account: None });
        for refused in [root, of_root, of_its_group] {
            assert!(refused.expect_err("root").contains("an unprivileged user"));
        }
        assert!(missing.expect_err("missing").contains("there is no user no-such-user"));
    }

    #[test]
    fn a_range_of_users_is_of_numbers_that_belong_to_no_account() {
        assert_eq!(UserRange::read("60000-61000"), Ok(UserRange(60_000..=61_000)));
        for wrong in ["60000", "0-10", "999-2000", "2000-1000", "60000-4294967295", "a-b", "-5", ""] {
            assert!(UserRange::read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(account("nobody:x:65534:65534::/:/bin/false"), Some(("nobody", 65_534)));
        assert_eq!(account("+::::::"), None);
        let said = UserRange(65_000..=65_534).judge().expect_err("nobody is among them");
        assert!(said.contains(if is_root() { "the user nobody" } else { "not root" }), "{said}");
        assert_eq!(UserRange(61_000..=61_010).judge().is_ok(), is_root());
    }

    #[test]
    fn the_home_of_root_is_not_told_to_another_user() {
        let text = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let inherited = text(&[("PATH", "/bin"), ("HOME", "/root"), ("USER", "root")]);
        let identity = Identity { uid: 7, gid: 7 };
        let account = Some(Account { name: "jobs".into(), home: "/srv/jobs".into() });
        let mut of_account = inherited.clone();
        CommandUser { identity, account }.correct(&mut of_account);
        assert_eq!(of_account, text(&[("PATH", "/bin"), ("HOME", "/srv/jobs"), ("USER", "jobs")]));
        let mut of_nobody = inherited;
        CommandUser { identity, account: None }.correct(&mut of_nobody);
        assert_eq!(of_nobody, text(&[("PATH", "/bin")]));
    }
}
