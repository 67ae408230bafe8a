//! What a request brings: its id, its path and query, its body, and the JSON in it.

pub(crate) mod body;
pub(crate) mod buffers;
pub(crate) mod json;
pub(crate) mod paging;
pub(crate) mod params;
pub(crate) mod request_id;
