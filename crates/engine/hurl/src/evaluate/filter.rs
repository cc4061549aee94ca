//! Values of filters.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, URL_SAFE_NO_PAD};
use chrono::{DateTime, Utc};

use super::failure::{Failure, fail};
use super::query::{first_group, json_path};
use super::scope::Scope;
use super::value::{Number, Value, hexadecimal};
use super::{date, html, url};
use crate::ast::{Filter, FilterValue, JsonPath, Template};

pub(super) const TITLE: &str = "Filter error";
pub(super) const WITHOUT_INPUT: &str = "missing value to apply filter";
const NOT_BASE64: &str = "string is not base64";

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
            FilterValue::Base64Decode => {
                Value::Bytes(self.base64_decoded("base64 string", &STANDARD, NOT_BASE64)?)
            }
            FilterValue::Base64UrlSafeDecode => Value::Bytes(self.base64_decoded(
                "string",
                &URL_SAFE_NO_PAD,
                "base64 string contains padding",
            )?),
            FilterValue::Base64Encode => Value::Text(STANDARD.encode(self.bytes()?)),
            FilterValue::Base64UrlSafeEncode => Value::Text(URL_SAFE_NO_PAD.encode(self.bytes()?)),
            FilterValue::CharsetDecode(encoding) | FilterValue::Decode(encoding) => {
                let encoding = scope.text(encoding)?;
                self.charset_decoded(encoding)?
            }
            FilterValue::Count => Value::integer(self.count()?),
            FilterValue::DateFormat(format) | FilterValue::Format(format) => {
                self.date_text(format, scope)?
            }
            FilterValue::ToDate(format) => self.parsed_date(format, scope)?,
            FilterValue::DaysAfterNow => {
                Value::integer((self.date()? - DateTime::<Utc>::from(scope.now())).num_days())
            }
            FilterValue::DaysBeforeNow => {
                Value::integer((DateTime::<Utc>::from(scope.now()) - self.date()?).num_days())
            }
            FilterValue::First => {
                self.element(|values| values.first(), |_| "list is empty".into())?
            }
            FilterValue::Last => {
                self.element(|values| values.last(), |_| "list is empty".into())?
            }
            FilterValue::Nth(index) => {
                let index = scope.index(index)?;
                self.element(
                    |values| nth(values, index),
                    |size| format!("out of bound - size is {size}"),
                )?
            }
            FilterValue::HtmlEscape => Value::Text(html::escaped(self.text()?)),
            FilterValue::HtmlUnescape => Value::Text(html::unescaped(self.text()?)),
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
            FilterValue::Split(separator) => {
                let separator = scope.text(separator)?;
                Value::List(
                    self.text()?
                        .split(&separator)
                        .map(|part| Value::Text(part.to_owned()))
                        .collect(),
                )
            }
            FilterValue::ToFloat => self.float()?,
            FilterValue::ToInt => self.integer()?,
            FilterValue::ToHex => Value::Text(hexadecimal(self.bytes()?)),
            FilterValue::ToString => match self.value.rendered() {
                Some(text) => Value::Text(text),
                None => {
                    return self.invalid(format!(
                        "{} can not be converted to a string",
                        self.value.described()
                    ));
                }
            },
            FilterValue::UrlDecode => Value::Text(url::decoded(self.text()?)),
            FilterValue::UrlEncode => Value::Text(url::encoded(self.text()?)),
            FilterValue::UrlQueryParam(name) => return self.url_parameter(name, scope),
            FilterValue::Utf8Decode => {
                Value::Text(String::from_utf8_lossy(self.bytes()?).into_owned())
            }
            FilterValue::Utf8Encode => Value::Bytes(self.text()?.as_bytes().to_vec()),
            FilterValue::Location => match &self.value {
                Value::Redirect(redirect) => Value::Text(redirect.location.clone()),
                _ => return self.wrong_type("http response"),
            },
            FilterValue::XPath(_) => {
                let reason = format!("the filter {} is not supported", self.filter.value.name());
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

    fn count(&self) -> Result<usize, Failure> {
        match &self.value {
            Value::List(values) => Ok(values.len()),
            Value::Bytes(bytes) => Ok(bytes.len()),
            _ => self.wrong_type("list, bytes or nodeset"),
        }
    }

    fn element(
        &self,
        pick: impl Fn(&[Value]) -> Option<&Value>,
        reason: impl Fn(usize) -> String,
    ) -> Result<Value, Failure> {
        let Value::List(values) = &self.value else {
            return self.wrong_type("list");
        };
        match pick(values) {
            Some(value) => Ok(value.clone()),
            None => self.invalid(reason(values.len())),
        }
    }

    fn base64_decoded(
        &self,
        expected: &'static str,
        engine: &GeneralPurpose,
        wrong_padding: &str,
    ) -> Result<Vec<u8>, Failure> {
        let text = self.value.text().or_else(|_| self.wrong_type(expected))?;
        engine.decode(text).or_else(|error| match error {
            base64::DecodeError::InvalidPadding => self.invalid(wrong_padding),
            _ => self.invalid(NOT_BASE64),
        })
    }

    fn charset_decoded(&self, encoding: String) -> Result<Value, Failure> {
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

    fn date_text(&self, format: &Template, scope: &mut Scope<'_>) -> Result<Value, Failure> {
        let format = scope.text(format)?;
        match date::formatted(self.date()?, &format) {
            Some(text) => Ok(Value::Text(text)),
            None => self.fail(format!("date format <{format}> is not supported")),
        }
    }

    fn parsed_date(&self, format: &Template, scope: &mut Scope<'_>) -> Result<Value, Failure> {
        let format = scope.text(format)?;
        let text = self.text()?;
        match date::parsed(text, &format) {
            Some(date) => Ok(Value::Date(date)),
            None => self.fail(format!(
                "value <{text}> could not be parsed with <{format}> format"
            )),
        }
    }

    fn json_path(&self, path: &JsonPath, scope: &mut Scope<'_>) -> Filtered {
        match serde_json::from_str(self.text()?) {
            Ok(json) => json_path(&json, path, scope, self.coerces),
            Err(_) => self.invalid("value is not a valid JSON"),
        }
    }

    fn url_parameter(&self, name: &Template, scope: &mut Scope<'_>) -> Filtered {
        let name = scope.text(name)?;
        let url = self.text()?;
        let invalid = |message| {
            let reason = format!("invalid URL <{url}> ({message})");
            fail(self.filter.position, "Invalid URL", reason)
        };
        url::parameter(url, &name)
            .map(|value| value.map(Value::Text))
            .or_else(invalid)
    }

    fn float(&self) -> Result<Value, Failure> {
        let value = match &self.value {
            Value::Number(Number::Float(value)) => *value,
            Value::Number(Number::Integer(value)) => *value as f64,
            Value::Number(Number::BigInteger(_)) => {
                return self.invalid(format!(
                    "{} is too big to be cast as a float",
                    self.value.described()
                ));
            }
            Value::Text(text) => text
                .parse()
                .or_else(|_| self.invalid(self.value.described()))?,
            _ => return self.wrong_type("float, integer or string"),
        };
        Ok(Value::Number(Number::Float(value)))
    }

    fn integer(&self) -> Result<Value, Failure> {
        let value = match &self.value {
            Value::Number(Number::Integer(value)) => *value,
            Value::Number(Number::Float(value)) => *value as i64,
            Value::Text(text) => text
                .parse()
                .or_else(|_| self.invalid(self.value.described()))?,
            _ => return self.wrong_type("float, integer or string"),
        };
        Ok(Value::integer(value))
    }
}

/// The element at an index, which counts from the end if it is negative.
fn nth(values: &[Value], index: i64) -> Option<&Value> {
    let distance = usize::try_from(index.unsigned_abs()).ok()?;
    let index = if index < 0 {
        values.len().checked_sub(distance)?
    } else {
        distance
    };
    values.get(index)
}
