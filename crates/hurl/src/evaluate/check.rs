//! Captures and asserts on a response.

use similar::{ChangeTag, DiffTag, TextDiff};

use super::failure::{Failure, FailureKind, fail};
use super::filter;
use super::predicate;
use super::response::{Cache, Redirect, Response};
use super::scope::{Environment, Scope};
use super::value::{Value, hexadecimal};
use super::variables::Variables;
use crate::ast::{self, Assert, Body, BodyValue, Capture, KeyValue, StatusValue, VersionValue};
use crate::position::{Position, Span};

/// A response and what was computed of it.
#[derive(Debug)]
pub struct Evaluation<'a> {
    pub(super) response: &'a Response<'a>,
    pub(super) redirects: &'a [Redirect],
    pub(super) cache: Cache,
    pub(super) coerces_json_path: bool,
}

/// A captured value.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The variable's name.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// Whether reports must not show it.
    pub is_secret: bool,
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

    /// Checks and captures as Hurl does: if the version or the status is wrong, nothing else is checked; then come the
    /// captures, of which the first failure ends the entry; then the header fields, the body and the asserts.
    ///
    /// # Errors
    ///
    /// The failures, in their order. The variables have the captures before the first failure of one.
    pub fn entry(
        &self,
        expected: &ast::Response,
        variables: &mut Variables,
        environment: &mut dyn Environment,
    ) -> Result<(), Vec<Failure>> {
        let failures = self.status_line(expected);
        if !failures.is_empty() {
            return Err(failures);
        }
        self.captures(&expected.captures, variables, environment)
            .map_err(|failure| vec![failure])?;
        let failures = self.asserts(expected, &mut Scope::new(variables, environment));
        if failures.is_empty() {
            Ok(())
        } else {
            Err(failures)
        }
    }

    /// Checks the version and the status.
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
            let actual = format!("HTTP/{}", self.response.version.number());
            failures.push(Failure {
                span: expected.version.span,
                kind: FailureKind::Version { actual },
            });
        }
        let is_expected = |status| status == u64::from(self.response.status);
        if matches!(expected.status.value, StatusValue::Exactly(status) if !is_expected(status)) {
            let kind = FailureKind::Status {
                actual: self.response.status,
            };
            failures.push(Failure {
                span: expected.status.span,
                kind,
            });
        }
        failures
    }

    /// Sets the variables of captures, each of which may use those before it.
    ///
    /// # Errors
    ///
    /// The first capture that finds nothing or cannot be evaluated.
    pub fn captures(
        &self,
        captures: &[Capture],
        variables: &mut Variables,
        environment: &mut dyn Environment,
    ) -> Result<(), Failure> {
        for capture in captures {
            let captured = self.capture(capture, &mut Scope::new(variables, environment))?;
            match captured.is_secret {
                true => variables.set_secret(captured.name, captured.value),
                false => variables.set(captured.name, captured.value),
            }
        }
        Ok(())
    }

    /// The value of a capture.
    ///
    /// # Errors
    ///
    /// The capture finds nothing or cannot be evaluated.
    pub fn capture(&self, capture: &Capture, scope: &mut Scope<'_>) -> Result<Captured, Failure> {
        let name = scope.text(&capture.name)?;
        let Some(value) = self.query(&capture.query, scope)? else {
            return fail(capture.query.span, FailureKind::QueryWithoutResult);
        };
        let value = match filter::all(&capture.filters, value, scope, self.coerces_json_path)? {
            Some(value) => value,
            None => return fail(filters_span(capture), FailureKind::FilterWithoutResult),
        };
        if capture.is_redacted && !matches!(value, Value::Text(_)) {
            return fail(
                capture.name.span,
                FailureKind::SecretNotText {
                    actual: value.type_name(),
                },
            );
        }
        Ok(Captured {
            name,
            value,
            is_secret: capture.is_redacted,
        })
    }

    /// Checks the header fields, the body and the asserts.
    pub fn asserts(&self, expected: &ast::Response, scope: &mut Scope<'_>) -> Vec<Failure> {
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
            [] => return fail(header.key.span, FailureKind::HeaderMissing),
            [value] => (*value).to_owned(),
            values => {
                let quoted: Vec<String> =
                    values.iter().map(|value| format!("\"{value}\"")).collect();
                format!("[{}]", quoted.join(", "))
            }
        };
        fail(header.value.span, FailureKind::HeaderValue { actual })
    }

    fn body(&self, body: &Body, scope: &mut Scope<'_>) -> Result<(), Failure> {
        let Some((expected, span)) = scope.body_text(body)? else {
            let expected = scope.body(body)?;
            if expected == self.response.body {
                return Ok(());
            }
            let span = match &body.value {
                BodyValue::Bytes(bytes) => bytes.span,
                _ => Span::at(body.span.start),
            };
            return fail(
                span,
                FailureKind::Body {
                    actual: hexadecimal(self.response.body),
                },
            );
        };
        let at_start = |kind| Failure {
            span: Span::at(body.span.start),
            kind,
        };
        let actual = self.cache.text(self.response).map_err(at_start)?;
        if actual == expected {
            return Ok(());
        }
        if !actual.contains('\n') && !expected.contains('\n') {
            return fail(
                span,
                FailureKind::Body {
                    actual: actual.to_owned(),
                },
            );
        }
        let (hunk, line) = first_hunk(&expected, actual);
        let span = Span::at(Position {
            line: span.start.line + line,
            column: 1,
        });
        fail(span, FailureKind::BodyDiff { hunk })
    }

    /// Checks an assert.
    ///
    /// # Errors
    ///
    /// The value is not as expected, or cannot be computed.
    pub fn assert(&self, assert: &Assert, scope: &mut Scope<'_>) -> Result<(), Failure> {
        let value = self.query(&assert.query, scope)?;
        let value = match (value, assert.filters.first()) {
            (value, None) => value,
            (None, Some(filter)) => return fail(filter.span, FailureKind::FilterWithoutInput),
            (Some(value), Some(_)) => {
                filter::all(&assert.filters, value, scope, self.coerces_json_path)?
            }
        };
        predicate::check(&assert.predicate, value.as_ref(), scope)
    }
}

fn filters_span(capture: &Capture) -> Span {
    let first = capture
        .filters
        .first()
        .map_or(capture.query.span, |filter| filter.span);
    let last = capture
        .filters
        .last()
        .map_or(capture.query.span, |filter| filter.span);
    Span {
        start: first.start,
        end: last.end,
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
        hunk.push_str("   ");
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
