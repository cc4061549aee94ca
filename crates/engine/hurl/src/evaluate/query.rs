//! Values of queries.

use md5::Md5;
use sha2::{Digest, Sha256};

use super::check::Evaluation;
use super::cookie;
use super::failure::{Failure, fail};
use super::filter::{first_group, json_path};
use super::scope::Scope;
use super::value::Value;
use crate::ast::{CookiePath, PlainQuery, Query, QueryValue};
use crate::position::Position;

impl Evaluation<'_> {
    /// The value of a query, if the response has one.
    pub(super) fn query(
        &self,
        query: &Query,
        scope: &mut Scope<'_>,
    ) -> Result<Option<Value>, Failure> {
        let response = self.response;
        Ok(match &query.value {
            QueryValue::Plain(plain) => Some(self.plain(*plain, query.position)?),
            QueryValue::Header(name) => self.header(&scope.text(name)?),
            QueryValue::Cookie(CookiePath { name, attribute }) => {
                let text = scope.text(name)?;
                cookie::attribute(response, &text, *attribute, name.position)?
            }
            QueryValue::JsonPath(path) => {
                let json = self.cache.json(response, query.position)?;
                json_path(json, path, scope, self.coerces_json_path)?
            }
            QueryValue::Regex(regex) => {
                let text = self.cache.text(response, query.position)?;
                first_group(&*scope.regex(regex)?, text)
            }
            QueryValue::Variable(name) => {
                let name = scope.text(name)?;
                let variable = scope.variables().get(&name);
                variable.map(|variable| variable.value.clone())
            }
            QueryValue::XPath(_) => return unsupported(query, "xpath"),
            QueryValue::Certificate => return unsupported(query, "certificate"),
        })
    }

    fn plain(&self, query: PlainQuery, position: Position) -> Result<Value, Failure> {
        let response = self.response;
        Ok(match query {
            PlainQuery::Status => Value::integer(response.status),
            PlainQuery::Version => Value::Text(response.version.name().to_owned()),
            PlainQuery::Url => Value::Text(response.url.to_owned()),
            PlainQuery::Body => Value::Text(self.cache.text(response, position)?.to_owned()),
            PlainQuery::Duration => Value::integer(response.duration.as_millis()),
            PlainQuery::Bytes => Value::Bytes(response.body.to_vec()),
            PlainQuery::RawBytes => Value::Bytes(response.raw_body.to_vec()),
            PlainQuery::Sha256 => Value::Bytes(Sha256::digest(response.body).to_vec()),
            PlainQuery::Md5 => Value::Bytes(Md5::digest(response.body).to_vec()),
            PlainQuery::Ip => Value::Text(response.ip.to_string()),
            PlainQuery::Redirects => {
                let redirects = self.redirects.iter().cloned();
                Value::List(redirects.map(Value::Redirect).collect())
            }
        })
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

fn unsupported(query: &Query, name: &str) -> Result<Option<Value>, Failure> {
    let reason = format!("the query {name} is not supported");
    fail(query.position, "Unsupported by Prony", reason)
}
