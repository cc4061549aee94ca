//! Values of filters.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, URL_SAFE_NO_PAD};
use chrono::{DateTime, TimeDelta, Utc};

use super::failure::{Failure, fail};
use super::scope::Scope;
use super::value::{Value, hexadecimal};
use super::{date, html, url};
use crate::ast::{Filter, FilterValue, JsonPath, PlainFilter, TextFilter};
use crate::number::Number;

pub(super) const TITLE: &str = "Filter error";
pub(super) const WITHOUT_INPUT: &str = "missing value to apply filter";

type Filtered = Result<Option<Value>, Failure>;

/// What filters make of a value. Nothing if the last one finds nothing.
pub(super) fn all(
    filters: &[Filter],
    value: Value,
    scope: &mut Scope<'_>,
    coerces: bool,
) -> Filtered {
    let mut value = Some(value);
    for filter in filters {
        value = match value {
            Some(value) => Input {
                filter,
                value,
                coerces,
            }
            .filtered(scope)?,
            None => return fail(filter.position, TITLE, WITHOUT_INPUT),
        };
    }
    Ok(value)
}

/// A filter and the value that it filters.
struct Input<'a> {
    filter: &'a Filter,
    value: Value,
    coerces: bool,
}

impl Input<'_> {
    fn filtered(self, scope: &mut Scope<'_>) -> Filtered {
        let value = match &self.filter.value {
            FilterValue::Plain(filter) => self.plain(*filter, scope)?,
            FilterValue::Text(filter, text) => {
                let text = scope.text(text)?;
                return self.with_text(*filter, &text);
            }
            FilterValue::Nth(index) => self.nth(scope.index(index)?)?,
            FilterValue::JsonPath(path) => return self.json_path(path, scope),
            FilterValue::Regex(regex) => {
                let regex = scope.regex(regex)?;
                return Ok(first_group(&regex, self.text()?));
            }
            FilterValue::Replace { old, new } => {
                Value::Text(self.text()?.replace(&scope.text(old)?, &scope.text(new)?))
            }
            FilterValue::ReplaceRegex { pattern, new } => {
                let (pattern, new) = (scope.regex(pattern)?, scope.text(new)?);
                Value::Text(pattern.replace_all(self.text()?, new).into_owned())
            }
        };
        Ok(Some(value))
    }

    fn plain(&self, filter: PlainFilter, scope: &mut Scope<'_>) -> Result<Value, Failure> {
        Ok(match filter {
            PlainFilter::Base64Decode => self.base64_decoded("base64 string", &STANDARD)?,
            PlainFilter::Base64UrlSafeDecode => self.base64_decoded("string", &URL_SAFE_NO_PAD)?,
            PlainFilter::Base64Encode => Value::Text(STANDARD.encode(self.bytes()?)),
            PlainFilter::Base64UrlSafeEncode => Value::Text(URL_SAFE_NO_PAD.encode(self.bytes()?)),
            PlainFilter::Count => Value::integer(self.count()?),
            PlainFilter::DaysAfterNow => Value::integer(self.after_now(scope)?.num_days()),
            PlainFilter::DaysBeforeNow => Value::integer(-self.after_now(scope)?.num_days()),
            PlainFilter::First => self.nth(0)?,
            PlainFilter::Last => self.nth(-1)?,
            PlainFilter::HtmlEscape => Value::Text(html::escaped(self.text()?)),
            PlainFilter::HtmlUnescape => Value::Text(html::unescaped(self.text()?)),
            PlainFilter::ToFloat => self.float()?,
            PlainFilter::ToInt => self.integer()?,
            PlainFilter::ToHex => Value::Text(hexadecimal(self.bytes()?)),
            PlainFilter::ToString => match self.value.rendered() {
                Some(text) => Value::Text(text),
                None => return self.not("can not be converted to a string"),
            },
            PlainFilter::UrlDecode => Value::Text(url::decoded(self.text()?)),
            PlainFilter::UrlEncode => Value::Text(url::encoded(self.text()?)),
            PlainFilter::Utf8Decode => {
                Value::Text(String::from_utf8_lossy(self.bytes()?).into_owned())
            }
            PlainFilter::Utf8Encode => Value::Bytes(self.text()?.as_bytes().to_vec()),
            PlainFilter::Location => match &self.value {
                Value::Redirect(redirect) => Value::Text(redirect.location.clone()),
                _ => return self.wrong_type("http response"),
            },
        })
    }

    fn with_text(&self, filter: TextFilter, argument: &str) -> Filtered {
        let value = match filter {
            TextFilter::CharsetDecode | TextFilter::Decode => self.charset_decoded(argument)?,
            TextFilter::DateFormat | TextFilter::Format => {
                match date::formatted(self.date()?, argument) {
                    Some(text) => Value::Text(text),
                    None => {
                        return self.fail(format!("date format <{argument}> is not supported"));
                    }
                }
            }
            TextFilter::ToDate => {
                let text = self.text()?;
                match date::parsed(text, argument) {
                    Some(date) => Value::Date(date),
                    None => {
                        return self.fail(format!(
                            "value <{text}> could not be parsed with <{argument}> format"
                        ));
                    }
                }
            }
            TextFilter::Split => {
                let parts = self.text()?.split(argument);
                Value::List(parts.map(|part| Value::Text(part.to_owned())).collect())
            }
            TextFilter::UrlQueryParam => return self.url_parameter(argument),
            TextFilter::XPath => {
                let reason = "the filter xpath is not supported";
                return fail(self.filter.position, "Unsupported by Prony", reason);
            }
        };
        Ok(Some(value))
    }

    fn wrong_type<T>(&self, expected: &'static str) -> Result<T, Failure> {
        let actual = self.value.type_name();
        self.fail(format!(
            "invalid filter input type actual: {actual} expected: {expected}"
        ))
    }

    fn invalid<T>(&self, reason: impl fmt::Display) -> Result<T, Failure> {
        self.fail(format!("invalid filter input: {reason}"))
    }

    /// What the value is not, or cannot become.
    fn not<T>(&self, what: &str) -> Result<T, Failure> {
        self.invalid(format!("{} {what}", self.value.described()))
    }

    fn fail<T>(&self, reason: String) -> Result<T, Failure> {
        fail(self.filter.position, TITLE, reason)
    }

    fn text(&self) -> Result<&str, Failure> {
        self.value.text().or_else(|_| self.wrong_type("string"))
    }

    fn bytes(&self) -> Result<&[u8], Failure> {
        match &self.value {
            Value::Bytes(bytes) => Ok(bytes),
            _ => self.wrong_type("bytes"),
        }
    }

    fn date(&self) -> Result<DateTime<Utc>, Failure> {
        match &self.value {
            Value::Date(date) => Ok(*date),
            _ => self.wrong_type("date"),
        }
    }

    /// How long after the present time the date is.
    fn after_now(&self, scope: &mut Scope<'_>) -> Result<TimeDelta, Failure> {
        Ok(self.date()? - DateTime::<Utc>::from(scope.now()))
    }

    fn count(&self) -> Result<usize, Failure> {
        match &self.value {
            Value::List(values) => Ok(values.len()),
            Value::Bytes(bytes) => Ok(bytes.len()),
            _ => self.wrong_type("list, bytes or nodeset"),
        }
    }

    /// The element at an index, which counts from the end if it is negative.
    fn nth(&self, index: i64) -> Result<Value, Failure> {
        let Value::List(values) = &self.value else {
            return self.wrong_type("list");
        };
        let distance = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
        let index = match index {
            ..0 => values.len().checked_sub(distance),
            _ => Some(distance),
        };
        match index.and_then(|index| values.get(index)) {
            Some(value) => Ok(value.clone()),
            None => self.invalid(format!("out of bound - size is {}", values.len())),
        }
    }

    fn base64_decoded(
        &self,
        expected: &'static str,
        engine: &GeneralPurpose,
    ) -> Result<Value, Failure> {
        let text = self.value.text().or_else(|_| self.wrong_type(expected))?;
        match engine.decode(text) {
            Ok(bytes) => Ok(Value::Bytes(bytes)),
            Err(error) => self.invalid(format!("string is not base64: {error}")),
        }
    }

    fn charset_decoded(&self, encoding: &str) -> Result<Value, Failure> {
        let bytes = self.bytes()?;
        let Some(decoder) = encoding_rs::Encoding::for_label(encoding.as_bytes()) else {
            return self.fail(format!("<{encoding}> encoding is not supported"));
        };
        match decoder.decode_without_bom_handling_and_without_replacement(bytes) {
            Some(text) => Ok(Value::Text(text.into_owned())),
            None => self.fail(format!(
                "value can not be decoded with <{encoding}> encoding"
            )),
        }
    }

    fn json_path(&self, path: &JsonPath, scope: &mut Scope<'_>) -> Filtered {
        match serde_json::from_str(self.text()?) {
            Ok(json) => json_path(&json, path, scope, self.coerces),
            Err(_) => self.invalid("value is not a valid JSON"),
        }
    }

    fn url_parameter(&self, name: &str) -> Filtered {
        let url = self.text()?;
        match url::parameter(url, name) {
            Ok(value) => Ok(value.map(Value::Text)),
            Err(message) => {
                let reason = format!("invalid URL <{url}> ({message})");
                fail(self.filter.position, "Invalid URL", reason)
            }
        }
    }

    fn float(&self) -> Result<Value, Failure> {
        let value = match &self.value {
            Value::Number(Number::Float(value)) => *value,
            Value::Number(Number::Integer(value)) => *value as f64,
            Value::Number(Number::BigInteger(_)) => {
                return self.not("is too big to be cast as a float");
            }
            Value::Text(text) => text.parse().or_else(|_| self.not("is no number"))?,
            _ => return self.wrong_type("float, integer or string"),
        };
        Ok(Value::Number(Number::Float(value)))
    }

    fn integer(&self) -> Result<Value, Failure> {
        let value = match &self.value {
            Value::Number(Number::Integer(value)) => *value,
            Value::Number(Number::Float(value)) => *value as i64,
            Value::Text(text) => text.parse().or_else(|_| self.not("is no integer"))?,
            _ => return self.wrong_type("float, integer or string"),
        };
        Ok(Value::integer(value))
    }
}

/// What a path finds: nothing, a value or a list. Without coercion, always a list.
pub(super) fn json_path(
    json: &serde_json::Value,
    path: &JsonPath,
    scope: &mut Scope<'_>,
    coerces: bool,
) -> Result<Option<Value>, Failure> {
    let path = scope.json_path(path)?;
    let mut found: Vec<Value> = path
        .query(json)
        .iter()
        .map(|value| Value::from_json(value))
        .collect();
    Ok(match found.len() {
        0 if coerces => None,
        1 if coerces => found.pop(),
        _ => Some(Value::List(found)),
    })
}

/// What the first group of the first match is.
pub(super) fn first_group(regex: &regex::Regex, text: &str) -> Option<Value> {
    let group = regex.captures(text)?.get(1)?;
    Some(Value::Text(group.as_str().to_owned()))
}
