//! Captures and asserts on a response.

use similar::{DiffTag, TextDiff};

use super::failure::{Failure, fail};
use super::filter;
use super::predicate;
use super::response::{Cache, Redirect, Response};
use super::scope::{Environment, Scope};
use super::value::{Value, hexadecimal};
use super::variables::Variables;
use crate::ast::{self, Assert, Body, Capture, KeyValue, StatusValue};
use crate::position::Position;

const WRONG_BODY: &str = "Assert body value";

/// A response and what was computed of it.
#[derive(Debug)]
pub struct Evaluation<'a> {
    pub(super) response: &'a Response<'a>,
    pub redirects: &'a [Redirect],
    /// Whether a JSONPath that finds one value gives it, and not a list of it.
    pub coerces_json_path: bool,
    pub(super) cache: Cache,
}

impl<'a> Evaluation<'a> {
    /// The evaluation of a response to the first request of an entry.
    pub fn new(response: &'a Response<'a>) -> Self {
        Self {
            response,
            redirects: &[],
            coerces_json_path: true,
            cache: Cache::default(),
        }
    }

    /// Checks the version and the status. If one is wrong, nothing else is to be checked.
    pub fn status_line(&self, expected: &ast::Response) -> Vec<Failure> {
        let mut failures = Vec::new();
        let actual = self.response.version;
        if expected.version.is_some_and(|version| version != actual) {
            let actual = format_args!("HTTP/{}", actual.name());
            failures.push(Failure::actual(
                expected.position,
                "Assert HTTP version",
                actual,
            ));
        }
        let is_expected = |status| status == u64::from(self.response.status);
        if matches!(expected.status.value, StatusValue::Exactly(status) if !is_expected(status)) {
            failures.push(Failure::status(&expected.status, self.response.status));
        }
        failures
    }

    /// Captures, then checks the header fields, the body and the asserts. The first capture that fails ends the entry.
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
        let mut failures = Vec::new();
        for header in &expected.headers {
            failures.extend(self.header_field(header, scope).err());
        }
        if let Some(body) = &expected.body {
            failures.extend(self.body(body, scope).err());
        }
        for assert in &expected.asserts {
            failures.extend(self.assert(assert, scope).err());
        }
        failures
    }

    /// Checks that a header field has a value, or one of its values.
    fn header_field(&self, header: &KeyValue, scope: &mut Scope<'_>) -> Result<(), Failure> {
        let expected = scope.text(&header.value)?;
        let name = scope.text(&header.key)?;
        let values: Vec<&str> = self.response.header(&name).collect();
        if values.contains(&expected.as_str()) {
            return Ok(());
        }
        let actual = match values.as_slice() {
            [] => {
                let reason = "this header has not been found in the response";
                return fail(header.key.position, "Header not found", reason);
            }
            [value] => (*value).to_owned(),
            values => format!("{values:?}"),
        };
        let position = header.value.position;
        Err(Failure::actual(position, "Assert header value", actual))
    }

    fn body(&self, body: &Body, scope: &mut Scope<'_>) -> Result<(), Failure> {
        let Some((expected, position)) = scope.body_text(body)? else {
            let expected = scope.body(body)?;
            if expected == self.response.body {
                return Ok(());
            }
            let actual = hexadecimal(self.response.body);
            return Err(Failure::actual(body.position, WRONG_BODY, actual));
        };
        let start = body.position;
        let actual = self.cache.text(self.response, start)?;
        if actual == expected {
            return Ok(());
        }
        if !actual.contains('\n') && !expected.contains('\n') {
            return Err(Failure::actual(position, WRONG_BODY, actual));
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
    let operations = groups.first().map_or(&[][..], Vec::as_slice);
    let changes = operations.iter().flat_map(|it| diff.iter_changes(it));
    let lines = changes.map(|change| {
        let line = change.value().trim_end_matches('\n');
        format!("{}{line}\n", change.tag())
    });
    let line = operations.first().map_or(0, |first| match first.tag() {
        DiffTag::Insert => first.old_range().start.saturating_sub(1),
        _ => first.old_range().start,
    });
    (lines.collect(), line)
}
