//! The reference store against every promise, and the proof that the promises can be broken.

mod audit;
mod list;
mod rules;
mod same;
mod subject;
mod transport;

use subject::memory;

foreman_conformance::conformance_suite!(memory);
foreman_conformance::tenancy_suite!(memory);
foreman_conformance::announcing_suite!(memory);
