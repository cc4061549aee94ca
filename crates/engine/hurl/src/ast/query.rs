//! Queries: what is taken from a response.

use super::Template;
use crate::position::Position;

/// What is taken from a response.
#[derive(Clone, Debug)]
pub struct Query {
    /// What it is.
    pub value: QueryValue,
    /// Where it is.
    pub position: Position,
}

/// The kinds of queries.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each has the name of its keyword")]
pub enum QueryValue {
    Status,
    Version,
    Url,
    Header(Template),
    Cookie(CookiePath),
    Body,
    XPath(Template),
    JsonPath(JsonPath),
    Regex(RegexValue),
    Variable(Template),
    Duration,
    Bytes,
    RawBytes,
    Sha256,
    Md5,
    Certificate(CertificateField),
    Ip,
    Redirects,
}

impl QueryValue {
    /// The keyword.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Version => "version",
            Self::Url => "url",
            Self::Header(_) => "header",
            Self::Cookie(_) => "cookie",
            Self::Body => "body",
            Self::XPath(_) => "xpath",
            Self::JsonPath(_) => "jsonpath",
            Self::Regex(_) => "regex",
            Self::Variable(_) => "variable",
            Self::Duration => "duration",
            Self::Bytes => "bytes",
            Self::RawBytes => "rawbytes",
            Self::Sha256 => "sha256",
            Self::Md5 => "md5",
            Self::Certificate(_) => "certificate",
            Self::Ip => "ip",
            Self::Redirects => "redirects",
        }
    }
}

/// `"name[attribute]"`
#[derive(Clone, Debug)]
pub struct CookiePath {
    /// The cookie's name.
    pub name: Template,
    /// The attribute, or its value if there is none.
    pub attribute: Option<CookieAttribute>,
}

/// What is taken from a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "RFC 6265 defines them")]
pub enum CookieAttribute {
    Value,
    Expires,
    MaxAge,
    Domain,
    Path,
    Secure,
    HttpOnly,
    SameSite,
}

/// What is taken from a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "RFC 5280 defines them")]
pub enum CertificateField {
    Subject,
    Issuer,
    StartDate,
    ExpireDate,
    SerialNumber,
    SubjectAltName,
    Value,
}

/// A regular expression.
#[derive(Clone, Debug)]
pub enum RegexValue {
    /// `"…"`
    Template(RegexTemplate),
    /// `/…/`
    Literal(RegexLiteral),
}

/// `"…"`, a regular expression with placeholders.
#[derive(Clone, Debug)]
pub struct RegexTemplate {
    /// The text.
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
    /// The text.
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

/// `/…/`
#[derive(Clone, Debug)]
pub struct RegexLiteral {
    /// The compiled expression.
    pub regex: regex::Regex,
}
