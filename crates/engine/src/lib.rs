//! What happens to a job, in the order a job meets it: submit, promote, claim and run, settle; and the upkeep around
//! it: sweep, prune.

pub mod target;
