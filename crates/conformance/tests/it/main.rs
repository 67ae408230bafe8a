//! The reference store against every promise, and the proof that the promises can be broken.

mod audit;
mod list;
mod rules;
mod same;
mod subject;

use subject::memory;

foreman_core::conformance_suite!(memory);
foreman_core::tenancy_suite!(memory);
