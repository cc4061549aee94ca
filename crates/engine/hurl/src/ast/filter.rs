//! Filters: what is done to the value of a query.

use super::{JsonPath, RegexValue, Setting, Template};
use crate::position::Position;

#[derive(Clone, Debug)]
pub struct Filter {
    pub value: FilterValue,
    pub position: Position,
}

#[derive(Clone, Debug)]
pub enum FilterValue {
    Plain(PlainFilter),
    Text(TextFilter, Template),
    JsonPath(JsonPath),
    Nth(Setting<i64>),
    Regex(RegexValue),
    Replace { old: Template, new: Template },
    ReplaceRegex { pattern: RegexValue, new: Template },
}

keywords! {
    /// Filters without an argument.
    PlainFilter {
        Base64Decode = "base64Decode",
        Base64Encode = "base64Encode",
        Base64UrlSafeDecode = "base64UrlSafeDecode",
        Base64UrlSafeEncode = "base64UrlSafeEncode",
        Count = "count",
        DaysAfterNow = "daysAfterNow",
        DaysBeforeNow = "daysBeforeNow",
        First = "first",
        HtmlEscape = "htmlEscape",
        HtmlUnescape = "htmlUnescape",
        Last = "last",
        Location = "location",
        ToFloat = "toFloat",
        ToHex = "toHex",
        ToInt = "toInt",
        ToString = "toString",
        UrlDecode = "urlDecode",
        UrlEncode = "urlEncode",
        Utf8Decode = "utf8Decode",
        Utf8Encode = "utf8Encode",
    }
}

keywords! {
    /// Filters with a text between quotes.
    TextFilter {
        CharsetDecode = "charsetDecode",
        Decode = "decode",
        Format = "format",
        DateFormat = "dateFormat",
        ToDate = "toDate",
        XPath = "xpath",
        Split = "split",
        UrlQueryParam = "urlQueryParam",
    }
}
