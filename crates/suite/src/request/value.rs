//! Values in requests: text, or an environment variable that may be secret.

use std::ffi::OsString;
use std::fmt;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::prepared::UNRESERVED;

/// What stands for a secret.
const HIDDEN: &str = "***";
/// Messages show the start of a long text: a shorter start of a secret reveals nothing.
const SHORTEST_START: usize = 4;
/// No message shows more of a text, even if it escapes every byte.
const LONGEST_START: usize = 256;

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
    pub fn into_secret(self) -> Self {
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
        match variable.env.is_empty() || variable.env.contains(['=', '\0']) {
            true => Err(A::Error::custom(format_args!(
                "`{}` is not the name of an environment variable",
                variable.env.escape_default()
            ))),
            false => Ok(Value::Variable(variable)),
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

/// The secrets of a request, in every form in which it sends them.
#[derive(Clone, Default)]
pub struct Secrets(Vec<Vec<u8>>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} forms of secrets", self.0.len())
    }
}

impl Secrets {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a secret, and how queries, forms, JSON and messages write it.
    pub(crate) fn add(&mut self, secret: &str) {
        let json = serde_json::Value::from(secret).to_string();
        let form: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
        let query = utf8_percent_encode(secret, UNRESERVED).to_string();
        let forms = [
            secret.to_owned(),
            secret.trim().to_owned(),
            utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string(),
            lower_case_escapes(&query),
            lower_case_escapes(&form),
            query,
            form,
            secret.as_bytes().escape_ascii().to_string(),
            json[1..json.len() - 1].to_owned(),
            BASE64_STANDARD.encode(secret),
        ];
        let forms = forms.into_iter().chain(within_base64(secret));
        let forms = forms.map(String::into_bytes);
        self.0.extend(forms.filter(|form| !form.is_empty()));
        // The longest first: one form may be a part of another.
        self.0.sort_by_key(|form| std::cmp::Reverse(form.len()));
        self.0.dedup();
    }

    /// The text with `***` for every secret, also if it shows only the start of one.
    pub fn hide(&self, text: &str) -> String {
        let mut bytes = self.hide_whole(text.as_bytes());
        for form in self.0.iter().filter(|form| form.len() > SHORTEST_START) {
            for end in (SHORTEST_START..form.len().min(LONGEST_START)).rev() {
                let start = [&form[..end], "…".as_bytes()].concat();
                bytes = replace(&bytes, &start, format!("{HIDDEN}…").as_bytes());
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The bytes with `***` for every secret, also for the start of one at their end: they may have been cut.
    pub(crate) fn hide_in(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = self.hide_whole(bytes);
        let starts = self.0.iter().flat_map(|form| {
            let ends = (SHORTEST_START..form.len()).rev();
            ends.map(move |end| &form[..end])
        });
        let longest = starts.filter(|start| bytes.ends_with(start));
        if let Some(length) = longest.map(<[u8]>::len).max() {
            bytes.truncate(bytes.len() - length);
            bytes.extend_from_slice(HIDDEN.as_bytes());
        }
        bytes
    }

    fn hide_whole(&self, bytes: &[u8]) -> Vec<u8> {
        let hide = |bytes: Vec<u8>, form: &Vec<u8>| replace(&bytes, form, HIDDEN.as_bytes());
        self.0.iter().fold(bytes.to_vec(), hide)
    }
}

/// How base64 writes a secret in the middle of a text, without the characters that also depend on what is beside it.
fn within_base64(secret: &str) -> impl Iterator<Item = String> {
    (0..3).filter_map(move |before| {
        let bytes = [&[0; 3][..before], secret.as_bytes()].concat();
        let encoded = BASE64_STANDARD_NO_PAD.encode(&bytes);
        let inner = encoded.get((before * 8).div_ceil(6)..bytes.len() * 8 / 6)?;
        (inner.len() > SHORTEST_START).then(|| inner.to_owned())
    })
}

/// `%c3` instead of `%C3`: a server may write them so.
fn lower_case_escapes(text: &str) -> String {
    let mut parts = text.split('%');
    let mut lower = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // What percent-encoding writes has two digits after each sign.
        let (digits, rest) = part.split_at(2);
        lower.push_str(&format!("%{}{rest}", digits.to_ascii_lowercase()));
    }
    lower
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr::memmem::find(rest, from) {
        replaced.extend_from_slice(&rest[..at]);
        replaced.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    replaced.extend_from_slice(rest);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(secret: &str) -> Secrets {
        let mut secrets = Secrets::default();
        secrets.add(secret);
        secrets
    }

    #[test]
    fn a_secret_is_hidden_in_every_form() {
        let secrets = secrets("p&ss 'wörd\"");
        for text in [
            "a p&ss 'wörd\" b",
            "a p%26ss%20%27w%C3%B6rd%22 b",
            "a p%26ss%20%27w%c3%b6rd%22 b",
            "a p%26ss+%27w%C3%B6rd%22 b",
            "a p&ss 'wörd\\\" b",
            "a p&ss \\'w\\xc3\\xb6rd\\\" b",
        ] {
            assert_eq!(secrets.hide(text), "a *** b", "{text}");
        }
        for (before, after) in [("a", ""), ("ab", "c"), ("abc", "cd"), ("", "cde")] {
            let encoded = BASE64_STANDARD.encode(format!("{before}p&ss 'wörd\"{after}"));
            let hidden = secrets.hide(&encoded);
            assert!(hidden.contains("***") && hidden.len() < 16, "{hidden}");
        }
        let encoded = BASE64_STANDARD.encode("p&ss 'wörd\"");
        assert_eq!(secrets.hide(&encoded), "***");
        assert!(!format!("{secrets:?}").contains("rd"));
    }

    #[test]
    fn the_start_of_a_secret_is_hidden_if_the_rest_is_cut() {
        let secrets = secrets("swordfish");
        assert_eq!(secrets.hide("`is sword…`"), "`is ***…`");
        assert_eq!(secrets.hide_in(b"is swordfi"), b"is ***");
        assert_eq!(secrets.hide_in(b"swordfish, swo"), b"***, swo");
    }

    #[test]
    fn a_long_secret_is_hidden_in_reasonable_time() {
        let secrets = secrets(&"long&".repeat(20_000));
        let body = "long&".repeat(19_000);
        assert_eq!(secrets.hide_in(body.as_bytes()), b"***");
        assert_eq!(secrets.hide("is `long&long&lo…`"), "is `***…`");
    }

    #[test]
    fn debugging_shows_no_secret() {
        let value = Value::Text("swordfish".into()).into_secret();
        assert_eq!(
            format!("{value:?} {}", Secret::from("x".to_owned())),
            "Secret(***) ***"
        );
        assert!(value.is_secret());
    }
}
