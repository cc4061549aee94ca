//! Values of queries.

use md5::Md5;
use sha2::{Digest, Sha256};

use super::check::Evaluation;
use super::cookie;
use super::failure::{Failure, fail};
use super::scope::Scope;
use super::value::Value;
use crate::ast::{CookieAttribute, JsonPath, Query, QueryValue};

impl Evaluation<'_> {
    /// The value of a query, if the response has one.
    ///
    /// # Errors
    ///
    /// A variable is not defined, the body is not what the query reads, or the query is not supported.
    pub fn query(&self, query: &Query, scope: &mut Scope<'_>) -> Result<Option<Value>, Failure> {
        let response = self.response;
        let text = || self.cache.text(response, query.position);
        Ok(Some(match &query.value {
            QueryValue::Status => Value::integer(response.status),
            QueryValue::Version => Value::Text(response.version.number().to_owned()),
            QueryValue::Url => Value::Text(response.url.to_owned()),
            QueryValue::Header(name) => {
                let name = scope.text(name)?;
                return Ok(self.header(&name));
            }
            QueryValue::Cookie(path) => {
                let name = scope.text(&path.name)?;
                let attribute = path.attribute.unwrap_or(CookieAttribute::Value);
                return cookie::attribute(response, &name, attribute, path.name.position);
            }
            QueryValue::Body => Value::Text(text()?.to_owned()),
            QueryValue::JsonPath(path) => {
                let json = self.cache.json(response, query.position)?;
                return json_path(json, path, scope, self.coerces_json_path);
            }
            QueryValue::Regex(regex) => {
                let text = text()?;
                let regex = scope.regex(regex)?;
                return Ok(first_group(&regex, text));
            }
            QueryValue::Variable(name) => {
                let name = scope.text(name)?;
                return Ok(scope
                    .variables()
                    .get(&name)
                    .map(|variable| variable.value.clone()));
            }
            QueryValue::Duration => Value::integer(response.duration.as_millis()),
            QueryValue::Bytes => Value::Bytes(response.body.to_vec()),
            QueryValue::RawBytes => Value::Bytes(response.raw_body.to_vec()),
            QueryValue::Sha256 => Value::Bytes(Sha256::digest(response.body).to_vec()),
            QueryValue::Md5 => Value::Bytes(Md5::digest(response.body).to_vec()),
            QueryValue::Ip => Value::Text(response.ip.to_string()),
            QueryValue::Redirects => Value::List(
                self.redirects
                    .iter()
                    .cloned()
                    .map(Value::Redirect)
                    .collect(),
            ),
            QueryValue::XPath(_) | QueryValue::Certificate(_) => {
                let reason = format!("the query {} is not supported", query.value.name());
                return fail(query.position, "Unsupported by Prony", reason);
            }
        }))
    }

    /// The value of a header field, or a list if there are several.
    fn header(&self, name: &str) -> Option<Value> {
        let mut values: Vec<Value> = self
            .response
            .header(name)
            .map(|value| Value::Text(value.to_owned()))
            .collect();
        match values.len() {
            0 => None,
            1 => values.pop(),
            _ => Some(Value::List(values)),
        }
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
