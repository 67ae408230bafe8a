//! On what kind of file system a store lies.
//!
//! SQLite's locks, its shared memory and the lock beside the file are made for one machine. On a network file system a second machine
//! may be let in: it would take the first one's workers for dead, and both would write one log.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Those that several machines can have mounted at once, as the kernel names them.
const SHARED: [&str; 19] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "fuse.ceph",
    "fuse.glusterfs",
    "fuse.juicefs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "gfs2",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "ocfs2",
    "smb3",
];

/// The name of the network file system that a path, or its directory, lies on; none where it is local, or the system does not say.
pub fn shared_file_system(path: &Path) -> Option<String> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    kind_of(&mounts, device_of(path)?).filter(|kind| SHARED.contains(&kind.as_str()))
}

fn device_of(path: &Path) -> Option<u64> {
    let directory = path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
    let about = std::fs::metadata(path).ok().or_else(|| std::fs::metadata(directory?).ok())?;
    Some(about.dev())
}

/// The kind of the file system with this device number, from `/proc/self/mountinfo`.
fn kind_of(mounts: &str, device: u64) -> Option<String> {
    let major = (device >> 8 & 0xfff) | (device >> 32 & !0xfff);
    let minor = (device & 0xff) | (device >> 12 & !0xff);
    let number = format!("{major}:{minor}");
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let is_it = mount.split_whitespace().nth(2) == Some(&number);
        is_it.then(|| kind.split_whitespace().next().map(str::to_owned)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_file_system_is_recognised_by_its_device() {
        let mounts = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
                      40 22 0:45 / /data rw,relatime shared:20 - nfs4 server:/export rw,vers=4.2,local_lock=none\n";
        let device = |major: u64, minor: u64| major << 8 | minor;
        assert_eq!(kind_of(mounts, device(0, 45)).as_deref(), Some("nfs4"));
        assert_eq!(kind_of(mounts, device(8, 1)).as_deref(), Some("ext4"));
        assert_eq!(kind_of(mounts, device(8, 2)), None);
        assert!(SHARED.contains(&"nfs4") && !SHARED.contains(&"ext4"));
        assert!(SHARED.is_sorted());
    }

    #[test]
    fn a_file_that_is_not_there_yet_lies_where_its_directory_does() {
        let directory = tempfile::tempdir().expect("a directory");
        let of_directory = device_of(directory.path());
        assert!(of_directory.is_some());
        assert_eq!(device_of(&directory.path().join("foreman.db")), of_directory);
        assert_eq!(device_of(Path::new("no-such-file.db")), device_of(Path::new(".")), "a bare name, too");
        assert_eq!(device_of(&directory.path().join("nowhere/foreman.db")), None);
    }
}
