//! A field that has text or a list.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

pub(super) enum TextOrList<T> {
    Text(String),
    List(Vec<T>),
}

/// What a list that text can stand for consists of.
pub(super) trait Element {
    /// Text and list in words, for the error about anything else.
    const EXPECTED: &'static str;
}

/// By hand, because serde's untagged enums do not say which field is wrong.
impl<'de, T: Deserialize<'de> + Element> Deserialize<'de> for TextOrList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either(PhantomData))
    }
}

struct Either<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Element> Visitor<'de> for Either<T> {
    type Value = TextOrList<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(TextOrList::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(TextOrList::List)
    }
}
