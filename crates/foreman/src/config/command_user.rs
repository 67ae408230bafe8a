//! Who commands are run as, found once at the start.

use foreman_engine::target::command::Identity;
use nix::unistd::{Gid, Uid, User};

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
            "only root can run commands as {text}, and this process is not root; start it as root, or leave this \
             setting out and have commands run as the user of the process"
        ));
    }
    let found = if let Some(identity) = Identity::read(text) {
        let user = User::from_uid(Uid::from_raw(identity.uid)).ok().flatten();
        CommandUser { identity, account: user.map(Account::from) }
    } else {
        let user = User::from_name(text)
            .map_err(|error| format!("cannot look up the user {text}: {error}"))?
            .ok_or_else(|| format!("there is no user {text} on this machine; write a name, or uid:gid"))?;
        let identity = Identity { uid: user.uid.as_raw(), gid: user.gid.as_raw() };
        CommandUser { identity, account: Some(user.into()) }
    };
    let Identity { uid, gid } = found.identity;
    if Uid::from_raw(uid).is_root() || gid == Gid::from_raw(0).as_raw() {
        return Err(format!("{text} is root, or of its group; name a user that may do less"));
    }
    Ok(found)
}

impl From<User> for Account {
    fn from(user: User) -> Self {
        Self { name: user.name, home: user.dir.to_string_lossy().into_owned() }
    }
}

impl CommandUser {
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
            assert!(refused.expect_err("root").contains("may do less"));
        }
        assert!(missing.expect_err("missing").contains("there is no user no-such-user"));
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
