//! What lies in deploy/ fits the binary and itself. No engine runs it here, so it is held to what can be read: every key is one that
//! the platform knows (as far as we use it), every command and variable one that the binary knows, every stop is given more
//! time than the binary takes, every probe asks a path and a port that answer, and nothing runs as root.

#![expect(clippy::unwrap_used, reason = "a file that is not what it should be is the failure")]

mod alerts;
mod binary;
mod compose;
mod image;
mod kubernetes;
mod redis;
mod systemd;
mod tree;
