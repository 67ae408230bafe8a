//! How many files, sockets and pipes the process may have open.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// More than any setting of ours needs; beyond it, programs that we start might be slow to close them all.
const ENOUGH: u64 = 65_536;

/// Raises the soft limit as far as the hard one allows, and answers what is in force. `None` where it cannot be read.
pub fn raise() -> Option<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    let wanted = hard.min(ENOUGH);
    if wanted <= soft {
        return Some(soft);
    }
    match setrlimit(Resource::RLIMIT_NOFILE, wanted, hard) {
        Ok(()) => Some(wanted),
        Err(_) => Some(soft),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_and_never_lowered() {
        let (before, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("readable");
        let raised = raise().expect("readable");
        let (after, _) = getrlimit(Resource::RLIMIT_NOFILE).expect("readable");
        assert_eq!(raised, after);
        assert!(after >= before && after >= hard.min(ENOUGH), "{before} → {after} of {hard}");
    }
}
