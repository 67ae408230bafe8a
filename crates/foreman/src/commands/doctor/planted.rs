//! For the tests of what judges: one thing after the other is spoilt, and each must be found alone and say what to do.

use super::Finding;

/// What needs attention, with what to do.
pub(super) type Complaint = (&'static str, String);

/// What is spoilt, by the name of its finding, a part of the advice, and how.
pub(super) type Case<F> = (&'static str, &'static str, fn(&mut F));

pub(super) fn complaints(findings: Vec<Finding>) -> Vec<Complaint> {
    findings.into_iter().filter(|it| !it.is_fine).filter_map(|it| Some((it.about, it.advice?))).collect()
}

pub(super) fn assert_found_alone<F>(healthy: fn() -> F, complaints: fn(&F) -> Vec<Complaint>, cases: &[Case<F>]) {
    for (about, remedy, spoil) in cases {
        let mut facts = healthy();
        spoil(&mut facts);
        let found = complaints(&facts);
        let [(found_about, advice)] = found.as_slice() else { panic!("{about}: {found:?}") };
        assert_eq!(found_about, about);
        assert!(advice.contains(remedy), "{about}: {advice}");
    }
}
