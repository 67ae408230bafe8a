//! The image: small, without root, built from what is sent to the engine.

use std::fs;

use crate::tree::{read, root, walk};

/// The instructions of a Dockerfile, joined where they go on in the next line.
fn instructions(text: &str) -> Vec<(String, String)> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    let joined = code.join("\n").replace("\\\n", " ");
    let split = |line: &str| {
        line.split_once(char::is_whitespace).map(|(name, rest)| (name.to_uppercase(), rest.trim().to_owned()))
    };
    joined.lines().filter(|line| !line.trim().is_empty()).map(|line| split(line.trim()).unwrap()).collect()
}

/// The same, with what stands for another image put in.
fn dockerfile() -> Vec<(String, String)> {
    let all = instructions(&read("deploy/Dockerfile"));
    let defaults: Vec<(String, String)> = all
        .iter()
        .filter(|(name, _)| name == "ARG")
        .filter_map(|(_, rest)| rest.split_once('='))
        .map(|(name, value)| (format!("${{{name}}}"), value.to_owned()))
        .collect();
    let put_in = |text: String| defaults.iter().fold(text, |text, (name, value)| text.replace(name, value));
    all.into_iter().map(|(name, rest)| (name, put_in(rest))).collect()
}

#[test]
fn every_image_that_is_built_upon_can_be_named_by_its_digest() {
    let all = instructions(&read("deploy/Dockerfile"));
    let bases = all.iter().filter(|(name, _)| name == "FROM").map(|(_, base)| base);
    for base in bases {
        assert!(base.contains("_IMAGE}"), "{base} cannot be given by an argument");
    }
    for (_, base) in dockerfile().iter().filter(|(name, _)| name == "FROM") {
        assert!(!base.contains('$') || base.starts_with("--platform=$BUILDPLATFORM "), "{base} has no default");
    }
}

#[test]
fn the_binary_can_be_run_and_not_read() {
    let is_copy = |(name, rest): &(String, String)| name == "COPY" && rest.ends_with("/usr/local/bin/foreman");
    let (_, copy) = instructions(&read("deploy/Dockerfile")).into_iter().find(is_copy).expect("it is shipped");
    assert!(copy.contains("--chmod=0711 "), "a process that runs what it cannot read shows nobody its variables");
}

#[test]
fn the_image_runs_the_binary_as_a_user_without_rights() {
    let all = instructions(&read("deploy/Dockerfile"));
    let stages: Vec<usize> = (0..all.len()).filter(|place| all[*place].0 == "FROM").collect();
    assert_eq!(stages.len(), 3, "one stage builds the dashboard, one the binary, and the last is shipped");
    let shipped = &all[stages[2]..];
    let of = |name: &str| -> Vec<&str> {
        shipped.iter().filter(|(it, _)| it == name).map(|(_, rest)| rest.as_str()).collect()
    };

    assert_eq!(of("USER"), ["65532:65532"], "a number, which Kubernetes can tell from root's");
    assert_eq!(of("ENTRYPOINT"), [r#"["/usr/local/bin/foreman"]"#]);
    assert_eq!(of("EXPOSE"), ["8080 8081"]);
    assert!(of("RUN").is_empty(), "nothing is installed into what is shipped: {:?}", of("RUN"));
    assert!(of("COPY").iter().all(|copy| copy.starts_with("--from=build ")), "no source is shipped: {:?}", of("COPY"));
}

#[test]
fn the_image_is_built_with_the_compiler_that_the_workspace_asks_for() {
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let wanted = manifest["workspace"]["package"]["rust-version"].as_str().unwrap().to_owned();
    let builds = |(name, base): &(String, String)| name == "FROM" && base.ends_with(" AS build");
    let (_, base) = dockerfile().into_iter().find(builds).unwrap();
    assert!(base.starts_with(&format!("rust:{wanted}-")), "{base} is not Rust {wanted}");
}

/// `make run` asks for the same on a machine of one's own.
#[test]
fn the_image_is_built_with_all_that_compiling_takes() {
    let needs = read("scripts/needs/build.sh");
    let wanted: Vec<&str> = needs
        .lines()
        .filter(|line| line.starts_with("need \""))
        .filter_map(|line| line.split('"').nth(3))
        .flat_map(str::split_whitespace)
        .collect();
    assert!(["gcc", "g++", "make"].iter().all(|package| wanted.contains(package)), "{wanted:?}");
    let installs = |(name, rest): &(String, String)| name == "RUN" && rest.contains("apt-get install");
    let (_, install) = dockerfile().into_iter().find(installs).unwrap();
    for package in wanted {
        assert!(install.split_whitespace().any(|word| word == package), "{package} is not installed: {install}");
    }
}

/// What is sent to the engine is a list of exceptions; a file that the build reads and the list leaves out fails only there.
#[test]
fn everything_that_the_build_reads_is_sent_to_the_engine() {
    let ignore = read("deploy/Dockerfile.dockerignore");
    let mut rules = ignore.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    assert_eq!(rules.next(), Some("*"), "everything is left out first");
    let sent: Vec<&str> = rules.map(|rule| rule.strip_prefix('!').expect("and some of it let in")).collect();
    assert!(["Cargo.toml", "Cargo.lock"].iter().all(|name| sent.contains(name)));
    for path in &sent {
        assert!(root().join(path).exists(), "{path} is sent, and is not there");
    }

    let mut sources = Vec::new();
    for place in ["crates", "bench"] {
        walk(&root().join(place), &mut sources);
    }
    let mut included = Vec::new();
    for source in sources.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
        let text = fs::read_to_string(source).unwrap();
        for macro_name in ["include_str!(\"", "include_bytes!(\""] {
            let named = text.split(macro_name).skip(1).filter_map(|rest| rest.split_once('"'));
            included.extend(named.filter_map(|(path, _)| source.parent().unwrap().join(path).canonicalize().ok()));
        }
    }
    assert!(included.len() > 10, "the included files were found: {included:?}");
    let root = root().canonicalize().unwrap();
    for file in included {
        let path = file.strip_prefix(&root).unwrap_or_else(|_| panic!("{} lies outside of the tree", file.display()));
        assert!(sent.iter().any(|sent| path.starts_with(sent)), "{} is compiled in, and not sent", path.display());
    }
}

#[test]
fn the_dashboard_is_built_before_the_binary_that_takes_it_in() {
    let all = instructions(&read("deploy/Dockerfile"));
    let place = |wanted: &str| {
        all.iter().position(|(_, rest)| rest.contains(wanted)).unwrap_or_else(|| panic!("no instruction has {wanted}"))
    };
    assert!(place("npm run build") < place("--from=dashboard /source/dashboard/dist dashboard/dist"));
    assert!(place("--from=dashboard /source/dashboard/dist dashboard/dist") < place("cargo build --locked --release"));
}

#[test]
fn a_dockerfile_is_read_as_instructions() {
    let read = instructions("# a comment\nFROM a AS b\nRUN x \\\n && y\n\nUSER 1:1\n");
    assert_eq!(read.len(), 3);
    assert_eq!(read[1], ("RUN".to_owned(), "x   && y".to_owned()));
}
