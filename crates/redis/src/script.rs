//! A script that Redis runs as one step.

use redis::{Cmd, ToRedisArgs};

pub(crate) struct Lua {
    text: &'static str,
    hash: String,
}

impl Lua {
    pub fn new(text: &'static str) -> Self {
        Self { text, hash: redis::Script::new(text).get_hash().to_owned() }
    }

    /// By its hash, for a server that has seen it.
    pub fn call(&self, key: &str, args: &[impl ToRedisArgs]) -> Cmd {
        command("EVALSHA", &self.hash, key, args)
    }

    /// With its text: the server remembers it, in a cluster the one node that has the key.
    pub fn teach(&self, key: &str, args: &[impl ToRedisArgs]) -> Cmd {
        command("EVAL", self.text, key, args)
    }
}

/// One key each, so that a cluster knows where it runs.
fn command(verb: &str, script: &str, key: &str, args: &[impl ToRedisArgs]) -> Cmd {
    let mut command = redis::cmd(verb);
    command.arg(script).arg(1).arg(key);
    for arg in args {
        command.arg(arg);
    }
    command
}
