//! Captures and asserts on a response.

use similar::{ChangeTag, DiffTag, TextDiff};

use super::failure::{Failure, fail};
use super::filter;
use super::predicate;
use super::response::{Cache, Redirect, Response};
use super::scope::{Environment, Scope};
use super::value::{Value, hexadecimal};
use super::variables::Variables;
use crate::ast::{self, Assert, Body, BodyValue, Capture, KeyValue, StatusValue, VersionValue};
use crate::position::Position;

const WRONG_BODY: &str = "Assert body value";

/// A response and what was computed of it.
#[derive(Debug)]
pub struct Evaluation<'a> {
    pub(super) response: &'a Response<'a>,
    pub(super) redirects: &'a [Redirect],
    pub(super) cache: Cache,
    pub(super) coerces_json_path: bool,
}

impl<'a> Evaluation<'a> {
    /// The evaluation of a response. A JSONPath that finds one value gives it, and not a list of it.
    pub fn new(response: &'a Response<'a>) -> Self {
        Self {
            response,
            redirects: &[],
            cache: Cache::default(),
            coerces_json_path: true,
        }
    }

    /// The same, but a JSONPath always gives a list: the option `no-jsonpath-coercion`.
    #[must_use]
    pub fn without_json_path_coercion(self) -> Self {
        Self {
            coerces_json_path: false,
            ..self
        }
    }

    /// The same, but these responses came before it.
    #[must_use]
    pub fn after_redirects(self, redirects: &'a [Redirect]) -> Self {
        Self { redirects, ..self }
    }

    /// Checks the version and the status. If one is wrong, nothing else is to be checked.
    pub fn status_line(&self, expected: &ast::Response) -> Vec<Failure> {
        let mut failures = Vec::new();
        let expected_version = match expected.version.value {
            VersionValue::Any => self.response.version.number(),
            VersionValue::Http10 => "1.0",
            VersionValue::Http11 => "1.1",
            VersionValue::Http2 => "2",
            VersionValue::Http3 => "3",
        };
        if expected_version != self.response.version.number() {
            let reason = format!("actual value is <HTTP/{}>", self.response.version.number());
            let position = expected.version.position;
            failures.push(Failure::new(position, "Assert HTTP version", reason));
        }
        let is_expected = |status| status == u64::from(self.response.status);
        if matches!(expected.status.value, StatusValue::Exactly(status) if !is_expected(status)) {
            failures.push(Failure::status(&expected.status, self.response.status));
        }
        failures
    }

    /// Captures, then checks the header fields, the body and the asserts. The first capture that fails ends the entry.
    ///
    /// # Errors
    ///
    /// The failures, in their order. The variables have the captures before the first failure of one.
    pub fn content(
        &self,
        expected: &ast::Response,
        variables: &mut Variables,
        environment: &mut dyn Environment,
    ) -> Result<(), Vec<Failure>> {
        for capture in &expected.captures {
            let scope = &mut Scope::new(variables, environment);
            let captured = self.capture(capture, scope);
            let (name, value) = captured.map_err(|failure| vec![failure])?;
            if capture.is_redacted {
                variables.set_secret(name, value);
            } else {
                variables.set(name, value);
            }
        }
        let failures = self.asserts(expected, &mut Scope::new(variables, environment));
        if failures.is_empty() {
            Ok(())
        } else {
            Err(failures)
        }
    }

    /// The name and the value of a capture.
    fn capture(
        &self,
        capture: &Capture,
        scope: &mut Scope<'_>,
    ) -> Result<(String, Value), Failure> {
        let name = scope.text(&capture.name)?;
        let Some(value) = self.query(&capture.query, scope)? else {
            let reason = "query didn't return any result";
            return fail(capture.query.position, "No query result", reason);
        };
        let Some(value) = filter::all(&capture.filters, value, scope, self.coerces_json_path)?
        else {
            let first = capture.filters.first();
            let position = first.map_or(capture.query.position, |filter| filter.position);
            return fail(position, filter::TITLE, "a filter didn't return any result");
        };
        if capture.is_redacted && !matches!(value, Value::Text(_)) {
            let actual = value.type_name();
            let reason = format!("secret must be string, actual value is <{actual}>");
            return fail(capture.name.position, "Invalid secret type", reason);
        }
        Ok((name, value))
    }

    /// Checks the header fields, the body and the asserts.
    fn asserts(&self, expected: &ast::Response, scope: &mut Scope<'_>) -> Vec<Failure> {
        let headers = expected
            .headers
            .iter()
            .map(|header| self.header_field(header, scope).err());
        let mut failures: Vec<Failure> = headers.flatten().collect();
        if let Some(body) = &expected.body {
            failures.extend(self.body(body, scope).err());
        }
        failures.extend(
            expected
                .asserts
                .iter()
                .filter_map(|assert| self.assert(assert, scope).err()),
        );
        failures
    }

    /// Checks that a header field has a value, or one of its values.
    fn header_field(&self, header: &KeyValue, scope: &mut Scope<'_>) -> Result<(), Failure> {
        let expected = scope.text(&header.value)?;
        let name = scope.text(&header.key)?;
        let values: Vec<&str> = self.response.header(&name).collect();
        let actual = match values.as_slice() {
            values if values.contains(&expected.as_str()) => return Ok(()),
            [] => {
                let reason = "this header has not been found in the response";
                return fail(header.key.position, "Header not found", reason);
            }
            [value] => (*value).to_owned(),
            values => {
                let quoted: Vec<String> =
                    values.iter().map(|value| format!("\"{value}\"")).collect();
                format!("[{}]", quoted.join(", "))
            }
        };
        let reason = format!("actual value is <{actual}>");
        fail(header.value.position, "Assert header value", reason)
    }

    fn body(&self, body: &Body, scope: &mut Scope<'_>) -> Result<(), Failure> {
        let Some((expected, position)) = scope.body_text(body)? else {
            let expected = scope.body(body)?;
            if expected == self.response.body {
                return Ok(());
            }
            let position = match &body.value {
                BodyValue::Bytes(bytes) => bytes.position,
                _ => body.position,
            };
            let actual = hexadecimal(self.response.body);
            return fail(position, WRONG_BODY, format!("actual value is <{actual}>"));
        };
        let start = body.position;
        let actual = self.cache.text(self.response, start)?;
        if actual == expected {
            return Ok(());
        }
        if !actual.contains('\n') && !expected.contains('\n') {
            return fail(position, WRONG_BODY, format!("actual value is <{actual}>"));
        }
        let (hunk, line) = first_hunk(&expected, actual);
        let position = Position {
            line: position.line + line,
            column: 1,
        };
        fail(position, WRONG_BODY, hunk)
    }

    fn assert(&self, assert: &Assert, scope: &mut Scope<'_>) -> Result<(), Failure> {
        let value = self.query(&assert.query, scope)?;
        let value = match (value, assert.filters.first()) {
            (value, None) => value,
            (None, Some(filter)) => {
                return fail(filter.position, filter::TITLE, filter::WITHOUT_INPUT);
            }
            (Some(value), Some(_)) => {
                filter::all(&assert.filters, value, scope, self.coerces_json_path)?
            }
        };
        predicate::check(&assert.predicate, value.as_ref(), scope)
    }
}

/// The first lines that differ, as a diff shows them, and how many lines come before them.
fn first_hunk(expected: &str, actual: &str) -> (String, usize) {
    let diff = TextDiff::from_lines(expected, actual);
    let groups = diff.grouped_ops(0);
    let Some(operations) = groups.first() else {
        return (String::new(), 0);
    };
    let mut hunk = String::new();
    for change in operations
        .iter()
        .flat_map(|operation| diff.iter_changes(operation))
    {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        hunk.push(sign);
        hunk.push_str(change.value().trim_end_matches('\n'));
        hunk.push('\n');
    }
    let changed = operations
        .iter()
        .find(|operation| operation.tag() != DiffTag::Equal);
    let line = changed.map_or(0, |operation| match operation.tag() {
        DiffTag::Insert => operation.old_range().start.saturating_sub(1),
        _ => operation.old_range().start,
    });
    (hunk, line)
}
