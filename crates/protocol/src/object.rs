//! Structs that are written as JSON objects and in no other way.
//!
//! serde's own code for a struct also takes an array, with the fields in the order of their declaration: a spelling that
//! nobody documents and that changes its meaning with the next field.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// For `deserialize_with`.
pub(crate) fn required<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(Object(PhantomData))
}

/// The same for a field that may be `null`.
pub(crate) fn optional<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<Wrapped<T>>::deserialize(deserializer)?.map(|wrapped| wrapped.0))
}

struct Wrapped<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Wrapped<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        required(deserializer).map(Self)
    }
}

struct Object<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}
