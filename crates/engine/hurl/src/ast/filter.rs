//! Filters: what is done to the value of a query.

use super::{JsonPath, RegexValue, Setting, Template};
use crate::position::Position;

/// What is done to a value.
#[derive(Clone, Debug)]
pub struct Filter {
    /// What it is.
    pub value: FilterValue,
    /// Where it is.
    pub position: Position,
}

/// The kinds of filters.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each has the name of its keyword")]
pub enum FilterValue {
    Base64Decode,
    Base64Encode,
    Base64UrlSafeDecode,
    Base64UrlSafeEncode,
    CharsetDecode(Template),
    Count,
    DateFormat(Template),
    DaysAfterNow,
    DaysBeforeNow,
    Decode(Template),
    First,
    Format(Template),
    HtmlEscape,
    HtmlUnescape,
    JsonPath(JsonPath),
    Last,
    Location,
    Nth(Setting<i64>),
    Regex(RegexValue),
    Replace { old: Template, new: Template },
    ReplaceRegex { pattern: RegexValue, new: Template },
    Split(Template),
    ToDate(Template),
    ToFloat,
    ToHex,
    ToInt,
    ToString,
    UrlDecode,
    UrlEncode,
    UrlQueryParam(Template),
    Utf8Decode,
    Utf8Encode,
    XPath(Template),
}

impl FilterValue {
    /// The keyword.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Base64Decode => "base64Decode",
            Self::Base64Encode => "base64Encode",
            Self::Base64UrlSafeDecode => "base64UrlSafeDecode",
            Self::Base64UrlSafeEncode => "base64UrlSafeEncode",
            Self::CharsetDecode(_) => "charsetDecode",
            Self::Count => "count",
            Self::DateFormat(_) => "dateFormat",
            Self::DaysAfterNow => "daysAfterNow",
            Self::DaysBeforeNow => "daysBeforeNow",
            Self::Decode(_) => "decode",
            Self::First => "first",
            Self::Format(_) => "format",
            Self::HtmlEscape => "htmlEscape",
            Self::HtmlUnescape => "htmlUnescape",
            Self::JsonPath(_) => "jsonpath",
            Self::Last => "last",
            Self::Location => "location",
            Self::Nth(_) => "nth",
            Self::Regex(_) => "regex",
            Self::Replace { .. } => "replace",
            Self::ReplaceRegex { .. } => "replaceRegex",
            Self::Split(_) => "split",
            Self::ToDate(_) => "toDate",
            Self::ToFloat => "toFloat",
            Self::ToHex => "toHex",
            Self::ToInt => "toInt",
            Self::ToString => "toString",
            Self::UrlDecode => "urlDecode",
            Self::UrlEncode => "urlEncode",
            Self::UrlQueryParam(_) => "urlQueryParam",
            Self::Utf8Decode => "utf8Decode",
            Self::Utf8Encode => "utf8Encode",
            Self::XPath(_) => "xpath",
        }
    }
}
