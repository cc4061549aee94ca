//! Values in requests: text, or an environment variable that may be secret.

use std::ffi::OsString;
use std::fmt;

use prony_traffic::{HIDDEN, Secrets};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Text that no report, record, log or error shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// A value of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Text in the file.
    Text(String),
    /// Text in the file that is not shown.
    Secret(Secret),
    /// An environment variable.
    Variable(Variable),
}

/// A value from the environment: `{ env = "TOKEN", prefix = "Bearer ", secret = true }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// The variable's name.
    pub env: String,
    /// The text before its value.
    #[serde(default)]
    pub prefix: String,
    /// Whether its value is not shown.
    #[serde(default)]
    pub secret: bool,
}

impl Value {
    /// Whether it must not be shown.
    pub fn is_secret(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::Secret(_) => true,
            Self::Variable(variable) => variable.secret,
        }
    }

    /// What the file says, unless the environment has the value.
    pub(super) fn in_file(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Secret(Secret(text)) => Some(text),
            Self::Variable(_) => None,
        }
    }

    /// The same value, not shown.
    pub(crate) fn into_secret(self) -> Self {
        match self {
            Self::Text(text) => Self::Secret(text.into()),
            Self::Variable(variable) => Self::Variable(Variable {
                secret: true,
                ..variable
            }),
            secret => secret,
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a number, true, false or `{ env = \"NAME\" }`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        let variable = Variable::deserialize(MapAccessDeserializer::new(map))?;
        if variable.env.is_empty() || variable.env.contains(['=', '\0']) {
            Err(A::Error::custom(format_args!(
                "`{}` is not the name of an environment variable",
                variable.env.escape_default()
            )))
        } else {
            Ok(Value::Variable(variable))
        }
    }
}

/// A variable that has no usable value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unset {
    pub(crate) variable: String,
    pub(crate) why: &'static str,
}

/// Finds the values of variables, and remembers those that are secret.
pub(crate) struct Resolver<'a> {
    variables: &'a dyn Fn(&str) -> Option<OsString>,
    pub(crate) secrets: Secrets,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(variables: &'a dyn Fn(&str) -> Option<OsString>) -> Self {
        Self {
            variables,
            secrets: Secrets::default(),
        }
    }

    pub(crate) fn text(&mut self, value: &Value) -> Result<String, Unset> {
        match value {
            Value::Text(text) => Ok(text.clone()),
            Value::Secret(Secret(text)) => {
                self.secrets.add(text);
                Ok(text.clone())
            }
            Value::Variable(variable) => {
                let text = self.variable(&variable.env)?;
                if variable.secret {
                    self.secrets.add(&text);
                }
                Ok(format!("{}{text}", variable.prefix))
            }
        }
    }

    fn variable(&self, name: &str) -> Result<String, Unset> {
        let unset = |why| Unset {
            variable: name.to_owned(),
            why,
        };
        let value = (self.variables)(name).ok_or_else(|| unset("not set"))?;
        match value.into_string() {
            Ok(text) if text.is_empty() => Err(unset("empty")),
            Ok(text) => Ok(text),
            Err(_) => Err(unset("not UTF-8")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debugging_shows_no_secret() {
        let value = Value::Text("swordfish".into()).into_secret();
        let shown = format!("{value:?} {}", Secret::from("x".to_owned()));
        assert_eq!(shown, "Secret(***) ***");
        assert!(value.is_secret());
    }
}
