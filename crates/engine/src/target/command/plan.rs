//! What the launcher is told on its command line, and what it says when it cannot do it.
//!
//! Both sides of the two processes are here, so that they cannot drift apart: they are always the same binary, even while
//! another version of it lies on the disk already.
//!
//! Everybody on the machine can read a command line: nothing is on it that is not on that of the command itself, or known
//! about every command. The variables come as the launcher's own environment, each behind a [`mark`]: a job may name
//! `LD_PRELOAD`, and must not have it work on the launcher, which may still be root.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use nix::errno::Errno;

use super::limits::ProcessLimit;

/// Who a command is, where it is not who Foreman is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pub uid: u32,
    pub gid: u32,
}

/// Everything the launcher needs to know but the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchPlan {
    /// Whoever asked. When it is gone there is nobody to start anything for.
    pub parent: i32,
    /// Where to say what went wrong; closed by the start of the program. `None`: on standard error, for a person.
    pub report: Option<RawFd>,
    pub limits: Vec<ProcessLimit>,
    pub user: Option<Identity>,
    pub directory: Option<OsString>,
    /// The program and its arguments.
    pub argv: Vec<OsString>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAPlan {
    #[error("no command given")]
    Empty,
    #[error("unknown argument {0:?}")]
    Unknown(OsString),
    #[error("{0} has no value, or an invalid one")]
    Value(&'static str),
    #[error("no program given")]
    NoProgram,
    #[error("no parent process given")]
    NoParent,
}

const PARENT: &str = "--parent";
const REPORT: &str = "--report";
const LIMIT: &str = "--limit";
const USER: &str = "--user";
const DIRECTORY: &str = "--directory";
const PROGRAM: &str = "--";

impl LaunchPlan {
    pub fn into_words(self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![PARENT.into(), self.parent.to_string().into()];
        if let Some(report) = self.report {
            words.extend([REPORT.into(), report.to_string().into()]);
        }
        for limit in self.limits {
            words.extend([LIMIT.into(), limit.to_string().into()]);
        }
        if let Some(Identity { uid, gid }) = self.user {
            words.extend([USER.into(), format!("{uid}:{gid}").into()]);
        }
        if let Some(directory) = self.directory {
            words.extend([DIRECTORY.into(), directory]);
        }
        words.push(PROGRAM.into());
        words.extend(self.argv);
        words
    }

    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, NotAPlan> {
        let mut words = words.into_iter().peekable();
        words.peek().ok_or(NotAPlan::Empty)?;
        let (mut parent, mut report, mut user, mut directory) = (None, None, None, None);
        let mut limits = Vec::new();
        loop {
            let word = words.next().ok_or(NotAPlan::NoProgram)?;
            match word.to_str() {
                Some(PROGRAM) => break,
                Some(PARENT) => parent = Some(value(PARENT, words.next(), |text| text.parse().ok())?),
                // The first three are the program's own.
                Some(REPORT) => {
                    let is_free = |number: &RawFd| *number > 2;
                    report = Some(value(REPORT, words.next(), |text| text.parse().ok().filter(is_free))?);
                }
                Some(LIMIT) => limits.push(value(LIMIT, words.next(), |text| text.parse().ok())?),
                Some(USER) => user = Some(value(USER, words.next(), Identity::read)?),
                Some(DIRECTORY) => directory = Some(words.next().ok_or(NotAPlan::Value(DIRECTORY))?),
                _ => return Err(NotAPlan::Unknown(word)),
            }
        }
        let argv: Vec<OsString> = words.collect();
        if argv.is_empty() {
            return Err(NotAPlan::NoProgram);
        }
        let parent = parent.ok_or(NotAPlan::NoParent)?;
        Ok(Self { parent, report, limits, user, directory, argv })
    }
}

fn value<T>(flag: &'static str, word: Option<OsString>, read: impl Fn(&str) -> Option<T>) -> Result<T, NotAPlan> {
    word.as_ref().and_then(|word| word.to_str()).and_then(read).ok_or(NotAPlan::Value(flag))
}

impl Identity {
    /// `1000:1000`
    pub fn read(text: &str) -> Option<Self> {
        let (uid, gid) = text.split_once(':')?;
        Some(Self { uid: uid.parse().ok()?, gid: gid.parse().ok()? })
    }
}

const MARK: u8 = b'+';

/// A variable of the command as it stands in the environment of the launcher. No loader and no library listens to such a
/// name.
pub fn mark(name: &OsStr) -> OsString {
    OsString::from_vec([&[MARK], name.as_bytes()].concat())
}

/// The name again; `None` for what was not meant for the command.
pub fn unmark(name: &OsStr) -> Option<&OsStr> {
    name.as_bytes().strip_prefix(&[MARK]).map(OsStr::from_bytes)
}

/// What could not be done on the way to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchStep {
    Limit,
    User,
    Privileges,
    Parent,
    Directory,
    Program,
}

const STEPS: [(u8, LaunchStep, &str); 6] = [
    (b'l', LaunchStep::Limit, "set its limits"),
    (b'u', LaunchStep::User, "become the user that runs commands"),
    (b'n', LaunchStep::Privileges, "prevent new privileges"),
    (b'o', LaunchStep::Parent, "find its parent process"),
    (b'd', LaunchStep::Directory, "enter its directory"),
    (b'p', LaunchStep::Program, "run it"),
];

impl LaunchStep {
    /// Completes "cannot …".
    pub fn what(self) -> &'static str {
        self.entry().2
    }

    fn entry(self) -> &'static (u8, LaunchStep, &'static str) {
        STEPS.iter().find(|(_, step, _)| *step == self).expect("every step is in the table")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchRefusal {
    pub step: LaunchStep,
    pub errno: Errno,
}

impl LaunchRefusal {
    pub fn error(self) -> io::Error {
        self.errno.into()
    }
}

/// Said right before the program is started: whatever comes now is its doing, unless a refusal follows. Without this word
/// a launcher that died on its way would look like a program that ended.
pub const READY: u8 = b'>';

/// What the launcher said until its end of the pipe was closed: by the start of the program, or by its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LauncherAnswer {
    /// The program was started.
    Started,
    Refused(LaunchRefusal),
    /// It ended before it came so far.
    Nothing,
}

impl LaunchRefusal {
    pub fn to_bytes(self) -> [u8; 5] {
        let [a, b, c, d] = (self.errno as i32).to_le_bytes();
        [self.step.entry().0, a, b, c, d]
    }
}

impl LauncherAnswer {
    pub fn read(bytes: &[u8]) -> Self {
        match bytes {
            [READY] => LauncherAnswer::Started,
            [READY, rest @ ..] | rest => match *rest {
                [letter, a, b, c, d] => {
                    let errno = Errno::from_raw(i32::from_le_bytes([a, b, c, d]));
                    let step = STEPS.iter().find(|(known, ..)| *known == letter);
                    step.map_or(LauncherAnswer::Nothing, |(_, step, _)| {
                        LauncherAnswer::Refused(LaunchRefusal { step: *step, errno })
                    })
                }
                _ => LauncherAnswer::Nothing,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(texts: &[&str]) -> Vec<OsString> {
        texts.iter().map(OsString::from).collect()
    }

    #[test]
    fn a_plan_survives_its_way_to_the_launcher() {
        let odd = OsString::from_vec(vec![b'-', b'-', 0xff, b'\n']);
        let full = LaunchPlan {
            parent: 17,
            report: Some(9),
            limits: vec!["cpu=3".parse().expect("a limit"), "memory=1".parse().expect("a limit")],
            user: Some(Identity { uid: 1, gid: 2 }),
            directory: Some(odd.clone()),
            argv: vec!["--".into(), "--user".into(), odd, "".into()],
        };
        let bare = LaunchPlan {
            report: None,
            limits: vec![],
            user: None,
            directory: None,
            argv: vec!["true".into()],
            ..full.clone()
        };
        for plan in [full, bare] {
            assert_eq!(LaunchPlan::read(plan.clone().into_words()), Ok(plan));
        }
    }

    #[test]
    fn what_is_no_plan_is_told() {
        for (text, expected) in [
            (&[][..], NotAPlan::Empty),
            (&["--parent", "1"], NotAPlan::NoProgram),
            (&["--parent", "1", "--"], NotAPlan::NoProgram),
            (&["--", "true"], NotAPlan::NoParent),
            (&["true"], NotAPlan::Unknown("true".into())),
            (&["--parent"], NotAPlan::Value(PARENT)),
            (&["--parent", "one", "--", "true"], NotAPlan::Value(PARENT)),
            (&["--parent", "1", "--report", "2", "--", "true"], NotAPlan::Value(REPORT)),
            (&["--parent", "1", "--user", "root", "--", "true"], NotAPlan::Value(USER)),
            (&["--parent", "1", "--limit", "cpu", "--", "true"], NotAPlan::Value(LIMIT)),
            (&["--parent", "1", "--directory"], NotAPlan::Value(DIRECTORY)),
        ] {
            assert_eq!(LaunchPlan::read(words(text)), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn a_marked_variable_is_nobodys_but_the_commands() {
        for name in ["LD_PRELOAD", "PATH", "", "+PATH"] {
            let name = OsStr::new(name);
            assert_eq!(unmark(&mark(name)), Some(name));
            assert!(!mark(name).as_bytes().starts_with(b"LD_"));
        }
        assert_eq!(unmark(OsStr::new("PATH")), None);
    }

    #[test]
    fn only_the_whole_word_means_that_it_started() {
        let refusal = LaunchRefusal { step: LaunchStep::Program, errno: Errno::ENOENT };
        assert_eq!(LauncherAnswer::read(&[READY]), LauncherAnswer::Started);
        assert_eq!(LauncherAnswer::read(&refusal.to_bytes()), LauncherAnswer::Refused(refusal));
        assert_eq!(
            LauncherAnswer::read(&[&[READY][..], &refusal.to_bytes()].concat()),
            LauncherAnswer::Refused(refusal)
        );
        for cut in [&b""[..], b"p", b">p", b">>", b"hello", b">hello", b"p123456789"] {
            assert_eq!(LauncherAnswer::read(cut), LauncherAnswer::Nothing, "{cut:?}");
        }
        for (_, step, _) in STEPS {
            let refusal = LaunchRefusal { step, errno: Errno::EPERM };
            assert_eq!(LauncherAnswer::read(&refusal.to_bytes()), LauncherAnswer::Refused(refusal));
        }
    }
}
