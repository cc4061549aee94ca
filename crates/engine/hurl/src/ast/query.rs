//! Queries: what is taken from a response.

use std::str::FromStr;

use super::Template;
use crate::position::Position;

#[derive(Clone, Debug)]
pub struct Query {
    pub value: QueryValue,
    pub position: Position,
}

#[derive(Clone, Debug)]
pub enum QueryValue {
    Plain(PlainQuery),
    Header(Template),
    Cookie(CookiePath),
    XPath(Template),
    JsonPath(JsonPath),
    Regex(RegexValue),
    Variable(Template),
    Certificate,
}

keywords! {
    /// Queries without an argument.
    PlainQuery {
        Status = "status",
        Version = "version",
        Url = "url",
        Body = "body",
        Duration = "duration",
        Bytes = "bytes",
        RawBytes = "rawbytes",
        Sha256 = "sha256",
        Md5 = "md5",
        Ip = "ip",
        Redirects = "redirects",
    }
}

/// `"name[attribute]"`
#[derive(Clone, Debug)]
pub struct CookiePath {
    pub name: Template,
    pub attribute: CookieAttribute,
}

keywords! {
    /// What is taken from a cookie (RFC 6265).
    CookieAttribute {
        Value = "value",
        Expires = "expires",
        MaxAge = "max-age",
        Domain = "domain",
        Path = "path",
        Secure = "secure",
        HttpOnly = "httponly",
        SameSite = "samesite",
    }
}

#[derive(Clone, Debug)]
pub enum RegexValue {
    /// `"…"`
    Template(RegexTemplate),
    /// `/…/`
    Literal(regex::Regex),
}

/// `"…"`, a regular expression with placeholders.
pub type RegexTemplate = Compiled<regex::Regex>;

/// A JSONPath with placeholders.
pub type JsonPath = Compiled<serde_json_path::JsonPath>;

/// A text with placeholders that means a `T`.
#[derive(Clone, Debug)]
pub struct Compiled<T> {
    pub template: Template,
    /// What it means, if there is no placeholder in the text and it is valid.
    pub(crate) value: Option<T>,
}

impl<T: FromStr> Compiled<T> {
    pub(crate) fn new(template: Template) -> Self {
        let value = template.literal().and_then(|text| text.parse().ok());
        Self { template, value }
    }
}
