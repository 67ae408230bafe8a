//! How much of the machine one command may take: limits that the kernel holds it to.
//!
//! A limit is never raised: where the machine is stricter, it stays as strict. All but the one on processes count for each
//! process by itself; that one counts everything its user runs, and the kernel does not hold root to it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// `None`: as unlimited as Foreman itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Time of the processor, in whole seconds.
    pub cpu: Option<Duration>,
    /// Address space.
    pub memory: Option<usize>,
    /// Of its user, all together.
    pub processes: Option<u64>,
    pub open_files: Option<u64>,
    /// Of any file that it writes.
    pub file_size: Option<usize>,
    pub core_size: Option<usize>,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        Self {
            cpu: None,
            memory: None,
            processes: None,
            open_files: Some(256),
            file_size: Some(64 << 20),
            core_size: Some(0),
        }
    }
}

/// One of them, as the launcher is told about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLimit {
    kind: LimitKind,
    most: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitKind {
    Cpu,
    Memory,
    Processes,
    OpenFiles,
    FileSize,
    CoreSize,
}

/// The name of each and what the kernel calls it. Memory comes last: it may be too little for the launcher itself.
const KINDS: [(&str, LimitKind, Resource); 6] = [
    ("cpu", LimitKind::Cpu, Resource::RLIMIT_CPU),
    ("processes", LimitKind::Processes, Resource::RLIMIT_NPROC),
    ("open_files", LimitKind::OpenFiles, Resource::RLIMIT_NOFILE),
    ("file_size", LimitKind::FileSize, Resource::RLIMIT_FSIZE),
    ("core_size", LimitKind::CoreSize, Resource::RLIMIT_CORE),
    ("memory", LimitKind::Memory, Resource::RLIMIT_AS),
];

impl ProcessLimits {
    /// Those that there are, in the order in which they are to be set.
    pub fn each(&self) -> Vec<ProcessLimit> {
        let most = |kind| match kind {
            // A part of a second is a second: nothing at all would kill the command at once.
            LimitKind::Cpu => self.cpu.map(|time| time.as_secs() + u64::from(time.subsec_nanos() > 0)),
            LimitKind::Memory => self.memory.map(|bytes| bytes as u64),
            LimitKind::Processes => self.processes,
            LimitKind::OpenFiles => self.open_files,
            LimitKind::FileSize => self.file_size.map(|bytes| bytes as u64),
            LimitKind::CoreSize => self.core_size.map(|bytes| bytes as u64),
        };
        KINDS.iter().filter_map(|(_, kind, _)| Some(ProcessLimit { kind: *kind, most: most(*kind)? })).collect()
    }
}

impl ProcessLimit {
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    fn entry(self) -> &'static (&'static str, LimitKind, Resource) {
        // Made from the table, or read by its names.
        KINDS.iter().find(|(_, kind, _)| *kind == self.kind).expect("every kind is in the table")
    }

    pub fn is_on_memory(self) -> bool {
        self.kind == LimitKind::Memory
    }

    /// Holds this process to it, and whatever it becomes.
    pub fn set(self) -> Result<(), Errno> {
        let resource = self.entry().2;
        let (_, hard) = getrlimit(resource)?;
        let soft = self.most.min(hard);
        // At the soft limit of its time a process is told (SIGXCPU), at the hard one it is killed. Both at once would
        // look like anybody's SIGKILL.
        let hard = if self.kind == LimitKind::Cpu { soft.saturating_add(1).min(hard) } else { soft };
        setrlimit(resource, soft, hard)
    }
}

impl fmt::Display for ProcessLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name(), self.most)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a limit: {0:?}")]
pub struct NotAProcessLimit(String);

impl FromStr for ProcessLimit {
    type Err = NotAProcessLimit;

    fn from_str(text: &str) -> Result<Self, NotAProcessLimit> {
        let read = || {
            let (name, most) = text.split_once('=')?;
            let (_, kind, _) = KINDS.iter().find(|(known, ..)| *known == name)?;
            Some(Self { kind: *kind, most: most.parse().ok()? })
        };
        read().ok_or_else(|| NotAProcessLimit(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(limits: &ProcessLimits) -> Vec<String> {
        limits.each().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_usual_limits_are_on_files() {
        assert_eq!(words(&ProcessLimits::default()), ["open_files=256", "file_size=67108864", "core_size=0"]);
    }

    #[test]
    fn each_survives_its_way_to_the_launcher() {
        let all = ProcessLimits {
            cpu: Some(Duration::from_millis(1_500)),
            memory: Some(1 << 30),
            processes: Some(20),
            open_files: Some(3),
            file_size: Some(4),
            core_size: Some(5),
        };
        let said = words(&all);
        assert_eq!(
            said,
            ["cpu=2", "processes=20", "open_files=3", "file_size=4", "core_size=5", "memory=1073741824"],
            "memory last"
        );
        let read: Vec<ProcessLimit> = said.iter().map(|text| text.parse().expect(text)).collect();
        assert_eq!(read, all.each());
        for wrong in ["", "cpu", "cpu=", "cpu=-1", "cpu=1s", "stack=1", "=1"] {
            assert!(wrong.parse::<ProcessLimit>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn nothing_is_limited_when_nobody_asks_for_it() {
        let none = ProcessLimits {
            cpu: None,
            memory: None,
            processes: None,
            open_files: None,
            file_size: None,
            core_size: None,
        };
        assert!(none.each().is_empty());
    }
}
