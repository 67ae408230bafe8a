//! What a client asks of the stream: its query, and where it wants to go on.

use serde::Deserialize;

#[derive(Default, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "not served yet")]
pub(crate) struct StreamParams {
    /// Only these jobs: ids with commas between them, at most 100.
    #[param(value_type = Option<String>)]
    job: Option<String>,
    /// Only jobs of these queues, with commas between them, at most 20.
    #[param(value_type = Option<String>)]
    queue: Option<String>,
    /// Only jobs of these kinds, with commas between them, at most 20.
    #[param(value_type = Option<String>)]
    kind: Option<String>,
    /// Only jobs with one of these tags, with commas between them, at most 20.
    #[param(value_type = Option<String>)]
    tag: Option<String>,
    /// Tell first how things stand: the jobs named by `job`, or else the newest 1,000 that match. Not told again to a client that
    /// goes on where it was.
    #[param(value_type = Option<bool>)]
    snapshot: Option<bool>,
    /// Go on after the event with this `id:`.
    after: Option<String>,
    /// A ticket instead of a key.
    ticket: Option<String>,
    /// The tenant, for operators: as the header `Foreman-Tenant`, where no header can be sent.
    tenant: Option<String>,
}
