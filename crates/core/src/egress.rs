//! Where Foreman may be sent: which URLs and addresses a job may call, and which it may not.
//!
//! Whoever may submit a job may name a URL, and the request then comes from where Foreman stands: inside. So a URL is
//! judged three times, each time by the one [`Policy`] that is in force: as it is written ([`Policy::judge_url`], when it
//! is given and again at each attempt), by every address its name has at that moment, and by the address that a
//! connection was made to in the end ([`Policy::judge_resolved`]). What is judged is the parsed URL and never its text:
//! `http://0x7f.1/` and `http://127。0。0。1/` are one address, and a second parser might think otherwise.
//!
//! All of it is plain functions without state: it makes no difference how many judge, and none can die half way. The
//! requests themselves are made by the engine, which asks here before it connects.
//!
//! Whoever is refused learns that and no more, always in the same words ([`EgressRefusal`]), so that the answer does not map the
//! network for them; the operator's log gets the [`Reason`]. `docs/egress.md` tells it to an operator.

mod destination;
mod names;
mod policy;
mod ranges;

pub use destination::{Destination, HostPattern, NotADestination, destinations};
pub use policy::{EgressRefusal, Policy, Reach, Reason};
pub use ranges::Network;
