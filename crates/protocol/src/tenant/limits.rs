//! How much one tenant may ask for.
//!
//! Every tenant has the deployment's limits, but for what an administrator said about it. They come on top of what any
//! one request may be: a tenant's limit can only be narrower than that in effect.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number, or `unlimited`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    AtMost(u64),
    Unlimited,
}

const UNLIMITED: &str = "unlimited";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a limit: {text:?}; write a whole number or `unlimited`")]
pub struct NotALimit {
    pub text: String,
}

impl Limit {
    /// Whether there may be so many in all.
    pub fn allows(self, count: u64) -> bool {
        match self {
            Limit::AtMost(most) => count <= most,
            Limit::Unlimited => true,
        }
    }

    /// How many more there may be when there are so many.
    pub fn room(self, count: u64) -> u64 {
        match self {
            Limit::AtMost(most) => most.saturating_sub(count),
            Limit::Unlimited => u64::MAX,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::AtMost(most) => most.fmt(f),
            Limit::Unlimited => f.write_str(UNLIMITED),
        }
    }
}

impl FromStr for Limit {
    type Err = NotALimit;

    fn from_str(text: &str) -> Result<Self, NotALimit> {
        match text {
            UNLIMITED => Ok(Limit::Unlimited),
            _ => text.parse().map(Limit::AtMost).map_err(|_| NotALimit { text: text.into() }),
        }
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Limit::AtMost(most) => serializer.serialize_u64(*most),
            Limit::Unlimited => serializer.serialize_str(UNLIMITED),
        }
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a whole number or \"unlimited\"")]
        enum Written {
            Number(u64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(most) => Ok(Limit::AtMost(most)),
            Written::Text(text) if text == UNLIMITED => Ok(Limit::Unlimited),
            Written::Text(text) => Err(serde::de::Error::custom(NotALimit { text })),
        }
    }
}

/// One list of limits, so that none can be forgotten in the defaults, the overrides or their merging.
macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $default:expr,)+) => {
        /// The limits in force for one tenant.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct TenantLimits {
            $($(#[$doc])* pub $name: Limit,)+
        }

        impl Default for TenantLimits {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        /// What one tenant has instead of the deployment's limits.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct LimitOverrides {
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<Limit>,
            )+
        }

        impl TenantLimits {
            /// Nothing is limited: for a server with one user.
            pub fn unlimited() -> Self {
                Self { $($name: Limit::Unlimited,)+ }
            }

            /// These, but for what was said about one tenant.
            #[must_use]
            pub fn with(&self, overrides: &LimitOverrides) -> Self {
                Self { $($name: overrides.$name.unwrap_or(self.$name),)+ }
            }
        }
    };
}

limits! {
    /// Jobs submitted a second, over time.
    submit_per_second: Limit::AtMost(1_000),
    /// Jobs submitted at once after a quiet time.
    submit_burst: Limit::AtMost(10_000),
    /// Jobs that wait: scheduled, pending or retrying.
    queued_jobs: Limit::AtMost(1_000_000),
    /// Queues in which jobs wait: each name takes storage of its own.
    queue_names: Limit::AtMost(10_000),
    /// Bytes of `payload` or `body` of one job.
    payload_bytes: Limit::AtMost(256 * 1024),
    schedules: Limit::AtMost(1_000),
    /// Jobs held by workers at one time.
    running_jobs: Limit::AtMost(1_000),
    /// Different hosts that jobs call in a minute: with many, a server of jobs is a scanner of networks.
    target_hosts_per_minute: Limit::AtMost(100),
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::*;

    fn object(limits: &TenantLimits) -> Map<String, Value> {
        let Ok(Value::Object(fields)) = serde_json::to_value(limits) else { panic!("limits are an object") };
        fields
    }

    #[test]
    fn every_limit_has_a_default_and_can_be_overridden_alone() {
        let defaults = TenantLimits::default();
        let names: Vec<String> = object(&defaults).keys().cloned().collect();
        assert_eq!(names.len(), 8);
        for name in &names {
            let json = format!("{{\"{name}\":42}}");
            let overrides: LimitOverrides = serde_json::from_str(&json).expect("an override");
            assert_eq!(serde_json::to_string(&overrides).expect("plain data"), json, "only what was said is kept");
            let changed = object(&defaults.with(&overrides));
            for (other, value) in object(&defaults) {
                assert_eq!(changed[&other], if other == *name { 42.into() } else { value }, "{other} beside {name}");
            }
        }
        assert_eq!(defaults.with(&LimitOverrides::default()), defaults);
    }

    #[test]
    fn a_limit_is_a_number_or_unlimited() {
        for (json, expected) in [("0", Limit::AtMost(0)), ("7", Limit::AtMost(7)), ("\"unlimited\"", Limit::Unlimited)]
        {
            let limit: Limit = serde_json::from_str(json).expect(json);
            assert_eq!(limit, expected);
            assert_eq!(serde_json::to_string(&limit).expect("plain data"), json);
            assert_eq!(limit.to_string().parse(), Ok(limit));
        }
        for wrong in ["-1", "1.5", "\"7\"", "\"none\"", "null", "[]", "18446744073709551616"] {
            assert!(serde_json::from_str::<Limit>(wrong).is_err(), "{wrong}");
        }
        assert!("-1".parse::<Limit>().is_err() && "Unlimited".parse::<Limit>().is_err());
    }

    #[test]
    fn a_limit_is_reached_when_there_are_as_many() {
        let two = Limit::AtMost(2);
        assert!(two.allows(2) && !two.allows(3) && Limit::Unlimited.allows(u64::MAX));
        assert_eq!((two.room(0), two.room(2), two.room(9)), (2, 0, 0));
        assert!(!Limit::AtMost(0).allows(1));
    }
}
