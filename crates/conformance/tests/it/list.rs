//! A promise that nobody stamps is kept by nobody.

use std::collections::BTreeSet;
use std::fs;

macro_rules! names {
    ($($file:ident { $($promise:ident,)+ })+) => {
        [$($((stringify!($file), stringify!($promise)),)+)+]
    };
}

#[test]
fn every_promise_that_is_written_is_stamped() {
    const NAMES: &[(&str, &str)] = &foreman_conformance::for_every_promise!(names);
    let stamped = owned(NAMES);
    let mut written = written("(subject: &dyn Subject) {");
    // It follows each of the others.
    assert!(written.remove(&("audit".into(), "a_clean_end".into())));
    let forgotten: Vec<_> = written.difference(&stamped).collect();
    assert!(forgotten.is_empty(), "add these to src/suite.rs: {forgotten:#?}");
    assert!(stamped.len() > 200, "{} promises", stamped.len());
}

#[test]
fn every_promise_about_tenants_that_is_written_is_stamped() {
    const NAMES: &[(&str, &str)] = &foreman_conformance::for_every_tenancy_promise!(names);
    let stamped = owned(NAMES);
    assert_eq!(written("(subject: &dyn TenancySubject) {"), stamped, "see src/tenancy.rs");
}

#[test]
fn every_promise_about_transport_that_is_written_is_stamped() {
    const ANY: &[(&str, &str)] = &foreman_conformance::for_every_feed_promise!(names);
    const BROKER: &[(&str, &str)] = &foreman_conformance::for_every_broker_promise!(names);
    assert_eq!(written("(subject: &dyn TransportSubject) {"), owned(ANY), "see src/transport.rs");
    assert_eq!(written("(subject: &dyn BrokerSubject) {"), owned(BROKER), "see src/transport.rs");
}

#[test]
fn every_promise_about_announcing_that_is_written_is_stamped() {
    const NAMES: &[(&str, &str)] = &foreman_conformance::for_every_announcing_promise!(names);
    let stamped = owned(NAMES);
    assert_eq!(written("(subject: &dyn AnnounceSubject) {"), stamped, "see src/announcing.rs");
}

fn owned(names: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    names.iter().map(|&(file, promise)| (file.to_owned(), promise.to_owned())).collect()
}

/// The public functions of the suite that take such a subject, each with its file.
fn written(signature: &str) -> BTreeSet<(String, String)> {
    let mut written = BTreeSet::new();
    for entry in fs::read_dir("src").expect("the suite has a directory") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            continue;
        }
        let file = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a readable file");
        for line in text.lines() {
            let Some(rest) = line.strip_prefix("pub async fn ") else { continue };
            let Some(name) = rest.strip_suffix(signature) else { continue };
            written.insert((file.clone(), name.to_owned()));
        }
    }
    written
}
