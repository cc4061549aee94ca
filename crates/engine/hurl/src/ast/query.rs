//! Queries: what is taken from a response.

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
#[derive(Clone, Debug)]
pub struct RegexTemplate {
    pub template: Template,
    /// The expression, if there is no placeholder in the text and it is valid.
    pub(crate) regex: Option<regex::Regex>,
}

impl RegexTemplate {
    pub(crate) fn new(template: Template) -> Self {
        let regex = template
            .literal()
            .and_then(|pattern| regex::Regex::new(pattern).ok());
        Self { template, regex }
    }
}

/// A JSONPath with placeholders.
#[derive(Clone, Debug)]
pub struct JsonPath {
    pub template: Template,
    /// The path, if there is no placeholder in the text and it is valid.
    pub(crate) path: Option<serde_json_path::JsonPath>,
}

impl JsonPath {
    pub(crate) fn new(template: Template) -> Self {
        let path = template
            .literal()
            .and_then(|path| serde_json_path::JsonPath::parse(path).ok());
        Self { template, path }
    }
}
