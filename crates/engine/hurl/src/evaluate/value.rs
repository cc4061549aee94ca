//! Values of queries, variables and predicates.

use std::cmp::Ordering;
use std::fmt;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use serde::ser::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::response::Redirect;
use crate::number::Number;

/// A value of a query, a variable or a predicate.
#[derive(Clone, Debug)]
pub enum Value {
    Bool(bool),
    Bytes(Vec<u8>),
    Date(DateTime<Utc>),
    List(Vec<Value>),
    Null,
    Number(Number),
    Object(Vec<(String, Value)>),
    Redirect(Redirect),
    Regex(regex::Regex),
    Text(String),
    /// That something is there: `Secure` of a cookie.
    Unit,
}

/// As JSON that [`Value::from_json`] reads as the same value.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let unable = || S::Error::custom("JSON has no such value");
        match self {
            Self::Null => to.serialize_unit(),
            Self::Bool(value) => to.serialize_bool(*value),
            Self::Text(text) => to.serialize_str(text),
            Self::Number(Number::Integer(number)) => to.serialize_i64(*number),
            Self::Number(Number::Float(number)) if number.is_finite() => to.serialize_f64(*number),
            Self::Number(Number::BigInteger(digits)) => {
                to.serialize_u64(digits.parse().map_err(|_| unable())?)
            }
            Self::List(values) => to.collect_seq(values),
            Self::Object(members) => to.collect_map(members.iter().map(|(name, it)| (name, it))),
            Self::Number(Number::Float(_))
            | Self::Bytes(_)
            | Self::Date(_)
            | Self::Redirect(_)
            | Self::Regex(_)
            | Self::Unit => Err(unable()),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        serde_json::Value::deserialize(from).map(|json| Self::from_json(&json))
    }
}

/// The types of two values do not fit a test.
pub(super) struct Mismatch;

impl Value {
    pub fn integer(value: impl TryInto<i64>) -> Self {
        Self::Number(Number::Integer(value.try_into().unwrap_or(i64::MAX)))
    }

    /// The name of the value's type in messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Bool(_) => "boolean",
            Self::Bytes(_) => "bytes",
            Self::Date(_) => "date",
            Self::List(_) => "list",
            Self::Null => "null",
            Self::Number(Number::Float(_)) => "float",
            Self::Number(Number::Integer(_) | Number::BigInteger(_)) => "integer",
            Self::Object(_) => "object",
            Self::Redirect(_) => "http response",
            Self::Regex(_) => "regex",
            Self::Text(_) => "string",
            Self::Unit => "unit",
        }
    }

    /// The type and the value, as in `integer <1>`.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Unit => self.type_name().to_owned(),
            _ => format!("{} <{self}>", self.type_name()),
        }
    }

    /// The text that stands for the value in a template, if there is one.
    pub fn rendered(&self) -> Option<String> {
        match self {
            Self::Bool(_) | Self::Null | Self::Number(_) | Self::Text(_) => Some(self.to_string()),
            Self::Date(date) => Some(date.format("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()),
            Self::Bytes(_)
            | Self::List(_)
            | Self::Object(_)
            | Self::Redirect(_)
            | Self::Regex(_)
            | Self::Unit => None,
        }
    }

    /// The value of a piece of JSON.
    pub fn from_json(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => Self::Number(number.into()),
            serde_json::Value::String(text) => Self::Text(text.clone()),
            serde_json::Value::Array(elements) => {
                Self::List(elements.iter().map(Self::from_json).collect())
            }
            serde_json::Value::Object(members) => Self::Object(
                members
                    .iter()
                    .map(|(name, value)| (name.clone(), Self::from_json(value)))
                    .collect(),
            ),
        }
    }

    pub(super) fn order(&self, other: &Self) -> Result<Ordering, Mismatch> {
        match (self, other) {
            (Self::Text(left), Self::Text(right)) => Ok(left.cmp(right)),
            (Self::Number(left), Self::Number(right)) => Ok(left.compare(right)),
            (Self::Date(left), Self::Date(right)) => Ok(left.cmp(right)),
            _ => Err(Mismatch),
        }
    }

    pub(super) fn starts_with(&self, prefix: &Self) -> Result<bool, Mismatch> {
        match (self, prefix) {
            (Self::Text(text), Self::Text(prefix)) => Ok(text.starts_with(prefix)),
            (Self::Bytes(bytes), Self::Bytes(prefix)) => Ok(bytes.starts_with(prefix)),
            _ => Err(Mismatch),
        }
    }

    pub(super) fn ends_with(&self, suffix: &Self) -> Result<bool, Mismatch> {
        match (self, suffix) {
            (Self::Text(text), Self::Text(suffix)) => Ok(text.ends_with(suffix)),
            (Self::Bytes(bytes), Self::Bytes(suffix)) => Ok(bytes.ends_with(suffix)),
            _ => Err(Mismatch),
        }
    }

    pub(super) fn contains(&self, part: &Self) -> Result<bool, Mismatch> {
        match (self, part) {
            (Self::Text(text), Self::Text(part)) => Ok(text.contains(part)),
            (Self::Bytes(bytes), Self::Bytes(part)) => {
                Ok(part.is_empty() || bytes.windows(part.len()).any(|window| window == part))
            }
            (Self::List(_), _) => self.includes(part),
            _ => Err(Mismatch),
        }
    }

    pub(super) fn includes(&self, element: &Self) -> Result<bool, Mismatch> {
        match self {
            Self::List(values) => Ok(values.contains(element)),
            _ => Err(Mismatch),
        }
    }

    /// How much is in a text (in bytes), bytes, a list or an object.
    pub(super) fn size(&self) -> Result<usize, Mismatch> {
        match self {
            Self::Text(text) => Ok(text.len()),
            Self::Bytes(bytes) => Ok(bytes.len()),
            Self::List(values) => Ok(values.len()),
            Self::Object(members) => Ok(members.len()),
            _ => Err(Mismatch),
        }
    }

    pub(super) fn text(&self) -> Result<&str, Mismatch> {
        match self {
            Self::Text(text) => Ok(text),
            _ => Err(Mismatch),
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Bytes(left), Self::Bytes(right)) => left == right,
            (Self::Date(left), Self::Date(right)) => left == right,
            (Self::List(left), Self::List(right)) => left == right,
            (Self::Null, Self::Null) | (Self::Unit, Self::Unit) => true,
            (Self::Number(left), Self::Number(right)) => left.compare(right) == Ordering::Equal,
            (Self::Object(left), Self::Object(right)) => left == right,
            (Self::Text(left), Self::Text(right)) => left == right,
            _ => false,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(formatter, "{value}"),
            Self::Bytes(bytes) => formatter.write_str(&hexadecimal(bytes)),
            Self::Date(date) => write!(formatter, "{date}"),
            Self::List(values) => {
                let values: Vec<String> = values.iter().map(Self::to_string).collect();
                write!(formatter, "[{}]", values.join(","))
            }
            Self::Null => formatter.write_str("null"),
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Object(_) => formatter.write_str("Object()"),
            Self::Redirect(Redirect { location, status }) => {
                write!(formatter, "Response(location={location}, status={status})")
            }
            Self::Regex(regex) => write!(formatter, "/{}/", regex.as_str().replace('/', "\\/")),
            Self::Text(text) => formatter.write_str(text),
            Self::Unit => formatter.write_str("Unit"),
        }
    }
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// A UUID: with or without hyphens, between braces, or as a URN.
static UUID: LazyLock<Option<regex::Regex>> = LazyLock::new(|| {
    let plain = "[[:xdigit:]]{8}(?:-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}";
    let all = format!(r"^(?:[[:xdigit:]]{{32}}|(?:urn:uuid:)?(?:{plain}|\{{{plain}\}}))$");
    regex::Regex::new(&all).ok()
});

pub(super) fn is_uuid(text: &str) -> bool {
    UUID.as_ref().is_some_and(|uuid| uuid.is_match(text))
}

/// Whether a text is an address of IPv4 or IPv6.
pub(super) fn is_ip(text: &str, is_version: fn(&IpAddr) -> bool) -> bool {
    text.parse().is_ok_and(|address| is_version(&address))
}
