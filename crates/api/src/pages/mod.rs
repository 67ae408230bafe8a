//! What a browser is shown: the dashboard, the reference of the API, and a page for each problem.

pub(crate) mod dashboard;
pub(crate) mod docs;
pub(crate) mod home;
