//! A field that has one value, or a list of them.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// One value, or several in a list: `200` or `[200, 404]`. There is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneOrMore<T>(Vec<T>);

impl<T> OneOrMore<T> {
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }
}

impl<T> From<T> for OneOrMore<T> {
    fn from(one: T) -> Self {
        Self(vec![one])
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either(PhantomData))
    }
}

struct Either<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Either<T> {
    fn one<E: Error>(value: impl IntoDeserializer<'de, E>) -> Result<OneOrMore<T>, E> {
        T::deserialize(value.into_deserializer()).map(OneOrMore::from)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
    type Value = OneOrMore<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or a list of values")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Self::one(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Self::one(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Self::one(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        Self::one(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Self::one(value.to_owned())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(OneOrMore::from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, values: A) -> Result<Self::Value, A::Error> {
        let values = Vec::deserialize(SeqAccessDeserializer::new(values))?;
        if values.is_empty() {
            Err(A::Error::custom(
                "the list is empty; write at least one value",
            ))
        } else {
            Ok(OneOrMore(values))
        }
    }
}
