//! The pages that people read: what they tell people to type, and the end of what was typed.

use std::path::Path;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// The shell blocks of a section of a page, in order.
pub fn blocks(page: &str, heading: &str) -> Vec<String> {
    let path = Path::new("../..").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().skip_while(|line| *line != format!("## {heading}")).skip(1).peekable();
    assert!(lines.peek().is_some(), "{page} has no section {heading:?}");
    let mut blocks: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in lines.take_while(|line| !line.starts_with("## ")) {
        match (line, is_open) {
            ("```sh", false) => {
                blocks.push(String::new());
                is_open = true;
            }
            ("```", true) => is_open = false,
            (line, true) => {
                let block = blocks.last_mut().unwrap();
                block.push_str(line);
                block.push('\n');
            }
            _ => {}
        }
    }
    assert!(!blocks.is_empty(), "{page} has nothing to type in {heading:?}");
    blocks
}

/// Whatever a script has started ends with the test.
pub struct Group(pub Pid);

impl Drop for Group {
    fn drop(&mut self) {
        // Gone already when all went well.
        let _ = killpg(self.0, Signal::SIGKILL);
    }
}
