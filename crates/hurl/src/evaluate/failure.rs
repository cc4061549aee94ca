//! Why an entry failed.

use std::fmt;

use crate::listing::{Listing, Reason};
use crate::position::{Position, Span};

/// Why an entry failed, and where the file says what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The place in the file.
    pub span: Span,
    /// What failed.
    pub kind: FailureKind,
}

/// What failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "`title` and `reason` have a sentence for each")]
pub enum FailureKind {
    Body {
        actual: String,
    },
    BodyDiff {
        hunk: String,
    },
    Predicate {
        actual: String,
        expected: String,
        is_type_mismatch: bool,
    },
    HeaderValue {
        actual: String,
    },
    Status {
        actual: u16,
    },
    Version {
        actual: String,
    },
    ExpressionType {
        value: String,
        expected: &'static str,
    },
    FileUnreadable {
        name: String,
        reason: String,
    },
    FileForbidden {
        name: String,
    },
    FilterInput(String),
    FilterInputType {
        actual: &'static str,
        expected: &'static str,
    },
    FilterDate {
        date: String,
        format: String,
    },
    FilterDecoding {
        encoding: String,
    },
    FilterEncoding {
        encoding: String,
    },
    FilterFormat {
        format: String,
    },
    FilterWithoutInput,
    FilterWithoutResult,
    Charset {
        charset: String,
    },
    Decoding {
        charset: String,
    },
    CookieExpires {
        value: String,
    },
    HeaderMissing,
    InvalidJson {
        value: String,
    },
    InvalidJsonPath {
        value: String,
    },
    InvalidOption {
        name: &'static str,
        value: String,
        message: &'static str,
    },
    InvalidRegex,
    InvalidUrl {
        url: String,
        message: &'static str,
    },
    QueryWithoutResult,
    ResponseNotJson,
    SecretNotText {
        actual: &'static str,
    },
    TooManyRedirects,
    Undefined {
        name: String,
    },
    Unrenderable {
        value: String,
    },
    Unsupported {
        feature: String,
    },
}

impl FailureKind {
    /// What failed, in Hurl's words.
    pub fn title(&self) -> &'static str {
        match self {
            Self::Body { .. } | Self::BodyDiff { .. } => "Assert body value",
            Self::Predicate { .. } => "Assert failure",
            Self::HeaderValue { .. } => "Assert header value",
            Self::Status { .. } => "Assert status code",
            Self::Version { .. } => "Assert HTTP version",
            Self::ExpressionType { .. } => "Invalid expression type",
            Self::FileUnreadable { .. } => "File read access",
            Self::FileForbidden { .. } => "Unauthorized file access",
            Self::FilterInput(_)
            | Self::FilterInputType { .. }
            | Self::FilterDate { .. }
            | Self::FilterDecoding { .. }
            | Self::FilterEncoding { .. }
            | Self::FilterFormat { .. }
            | Self::FilterWithoutInput
            | Self::FilterWithoutResult => "Filter error",
            Self::Charset { .. } => "Invalid charset",
            Self::Decoding { .. } => "Invalid decoding",
            Self::CookieExpires { .. } | Self::TooManyRedirects => "HTTP connection",
            Self::HeaderMissing => "Header not found",
            Self::InvalidJson { .. } | Self::ResponseNotJson => "Invalid JSON",
            Self::InvalidJsonPath { .. } => "Invalid JSONPath",
            Self::InvalidOption { .. } => "Invalid option value",
            Self::InvalidRegex => "Invalid regex",
            Self::InvalidUrl { .. } => "Invalid URL",
            Self::QueryWithoutResult => "No query result",
            Self::SecretNotText { .. } => "Invalid secret type",
            Self::Undefined { .. } => "Undefined variable",
            Self::Unrenderable { .. } => "Unrenderable expression",
            Self::Unsupported { .. } => "Unsupported by Prony",
        }
    }

    /// Why, in Hurl's words.
    pub fn reason(&self) -> String {
        match self {
            Self::BodyDiff { hunk } => hunk.clone(),
            Self::Body { actual } | Self::HeaderValue { actual } | Self::Version { actual } => {
                format!("actual value is <{actual}>")
            }
            Self::Status { actual } => format!("actual value is <{actual}>"),
            Self::Predicate {
                actual,
                expected,
                is_type_mismatch,
            } => {
                let note = match is_type_mismatch {
                    true => "\n   >>> types between actual and expected are not consistent",
                    false => "",
                };
                format!("   actual:   {actual}\n   expected: {expected}{note}")
            }
            Self::ExpressionType { value, expected } => {
                format!("expecting {expected}, actual value is {value}")
            }
            Self::FileUnreadable { name, reason } => {
                format!("file {name} can not be read: {reason}")
            }
            Self::FileForbidden { name } => format!("unauthorized access to file {name}"),
            Self::FilterInput(reason) => format!("invalid filter input: {reason}"),
            Self::FilterInputType { actual, expected } => {
                format!("invalid filter input type\n   actual:   {actual}\n   expected: {expected}")
            }
            Self::FilterDate { date, format } => {
                format!("value <{date}> could not be parsed with <{format}> format")
            }
            Self::FilterDecoding { encoding } => {
                format!("value can not be decoded with <{encoding}> encoding")
            }
            Self::FilterEncoding { encoding } => format!("<{encoding}> encoding is not supported"),
            Self::FilterFormat { format } => format!("date format <{format}> is not supported"),
            Self::FilterWithoutInput => "missing value to apply filter".into(),
            Self::FilterWithoutResult => "a filter didn't return any result".into(),
            Self::Charset { charset } => format!("the charset '{charset}' is not valid"),
            Self::Decoding { charset } => {
                format!("could not decode response body with charset '{charset}'")
            }
            Self::CookieExpires { value } => {
                format!("could not parse Cookie Expires attribute value <{value}>")
            }
            Self::HeaderMissing => "this header has not been found in the response".into(),
            Self::InvalidJson { value } => format!("actual value is <{value}>"),
            Self::InvalidJsonPath { value } => {
                format!("JSONPath expression '{value}' is not valid")
            }
            Self::InvalidOption {
                name,
                value,
                message,
            } => {
                format!("invalid {name} option value <{value}>: {message}")
            }
            Self::InvalidRegex => "regex expression is not valid".into(),
            Self::InvalidUrl { url, message } => format!("invalid URL <{url}> ({message})"),
            Self::QueryWithoutResult => "query didn't return any result".into(),
            Self::ResponseNotJson => "HTTP response is not a valid JSON".into(),
            Self::SecretNotText { actual } => {
                format!("secret must be string, actual value is <{actual}>")
            }
            Self::TooManyRedirects => "too many redirect".into(),
            Self::Undefined { name } => format!("you must set the variable {name}"),
            Self::Unrenderable { value } => {
                format!("expression with value {value} can not be rendered")
            }
            Self::Unsupported { feature } => format!("{feature} is not supported"),
        }
    }
}

impl Failure {
    /// The failure as Hurl prints it after `error: `. `entry` is where the entry's request is.
    pub fn render(&self, file: &str, text: &str, entry: Position) -> String {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let reason = self.kind.reason();
        let reason = match self.kind {
            FailureKind::Predicate { .. } | FailureKind::BodyDiff { .. } => Reason::Lines(&reason),
            _ => Reason::Carets(&reason),
        };
        Listing {
            title: self.kind.title(),
            span: self.span,
            entry_line: Some(entry.line),
            reason,
        }
        .render(file, text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}: {}: {}",
            self.span.start.line,
            self.kind.title(),
            self.kind.reason().trim_start()
        )
    }
}

impl std::error::Error for Failure {}

/// A result that fails at `span`.
pub(super) fn fail<T>(span: Span, kind: FailureKind) -> Result<T, Failure> {
    Err(Failure { span, kind })
}
