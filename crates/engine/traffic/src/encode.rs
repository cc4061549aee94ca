//! How texts are written where they are sent.

use std::borrow::Cow;

use percent_encoding::utf8_percent_encode;
use serde::{Deserialize, Serialize};

use crate::target::{IN_PATHS, UNRESERVED};

/// How a text is written where it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encode {
    Unchanged,
    Path,
    /// As a name or a value of a query.
    Query,
    /// As a name or a value of a form.
    Form,
    /// As the user of basic authentication.
    User,
    /// As the value of a cookie.
    Cookie,
    JsonString,
    JsonValue,
}

impl Encode {
    /// The text as it is written. An error completes the sentence "the value `x` …".
    pub(crate) fn encode(self, text: &str) -> Result<Cow<'_, str>, &'static str> {
        match self {
            Self::Unchanged => Ok(Cow::Borrowed(text)),
            Self::Path => Ok(utf8_percent_encode(text, IN_PATHS).into()),
            Self::Query => Ok(utf8_percent_encode(text, UNRESERVED).into()),
            Self::Form => Ok(form_urlencoded::byte_serialize(text.as_bytes()).collect()),
            Self::User => in_user(text),
            Self::Cookie => in_cookie(text),
            Self::JsonString => Ok(in_json_string(text)),
            Self::JsonValue => as_json_value(text),
        }
    }
}

fn in_user(text: &str) -> Result<Cow<'_, str>, &'static str> {
    if text.contains(':') {
        Err("contains a colon")
    } else {
        Ok(Cow::Borrowed(text))
    }
}

fn in_cookie(text: &str) -> Result<Cow<'_, str>, &'static str> {
    if text.bytes().all(is_in_cookie) {
        Ok(Cow::Borrowed(text))
    } else {
        Err("has a byte that cookies cannot have")
    }
}

/// Whether the value of a cookie may have this byte (RFC 6265, section 4.1.1).
fn is_in_cookie(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\",;\\".contains(&byte)
}

fn in_json_string(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let quoted = serde_json::Value::from(text).to_string();
    Cow::Owned(quoted[1..quoted.len() - 1].to_owned())
}

fn as_json_value(text: &str) -> Result<Cow<'_, str>, &'static str> {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Ok(Cow::Borrowed(text)),
        Err(_) => Err("is not JSON by itself; write the placeholder between quotes"),
    }
}
