//! A release build has the dashboard in it: built anew, it is compiled anew. A debug build reads it when it starts.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[expect(clippy::disallowed_methods, reason = "what Cargo tells a build script, not a setting of the program")]
    if std::env::var("PROFILE").as_deref() == Ok("debug") {
        return;
    }
    // What is not there would be new every time; the directory above it changes when it comes.
    let built = Path::new("../../dashboard/dist");
    let watched = if built.exists() { built } else { Path::new("../../dashboard") };
    println!("cargo::rerun-if-changed={}", watched.display());
}
