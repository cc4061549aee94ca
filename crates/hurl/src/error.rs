//! Why a text is not a Hurl file.

use crate::listing::{Listing, Reason};
use crate::position::{Position, Span};

/// A text that is not a Hurl file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {}", position.line, position.column, kind.reason())]
pub struct ParseError {
    /// The place that is wrong.
    pub position: Position,
    /// What is wrong.
    pub kind: ParseErrorKind,
}

impl ParseError {
    /// The error as Hurl prints it after `error: `: what was parsed, the place, its line, a caret and the reason.
    pub fn render(&self, file: &str, text: &str) -> String {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let listing = Listing {
            title: self.kind.title(),
            span: Span::at(self.position),
            entry_line: None,
            reason: Reason::Carets(&self.kind.reason()),
        };
        listing.render(file, text)
    }
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "`title` and `reason` have a sentence for each")]
pub enum ParseErrorKind {
    DuplicateSection,
    EscapeChar,
    Expecting(String),
    FileContentType,
    Filename,
    GraphQlVariables,
    HexDigit,
    CookieAttribute,
    DurationUnit(String),
    OptionName(String),
    JsonTooDeep,
    JsonTrailingComma,
    JsonExpectingElement,
    JsonEmptyElement,
    Method(String),
    LanguageHint(String),
    OddNumberOfHexDigits,
    Predicate,
    PredicateValue,
    Regex(String),
    RequestSectionName(String),
    ResponseSectionName(String),
    Space,
    Status,
    TemplateVariable,
    TooLong,
    Unicode,
    ReservedVariable(String),
    Version,
    Xml,
}

impl ParseErrorKind {
    pub(crate) fn expecting(value: &str) -> Self {
        Self::Expecting(value.to_owned())
    }

    /// What was parsed.
    pub fn title(&self) -> &'static str {
        match self {
            Self::DuplicateSection => "Parsing section",
            Self::EscapeChar => "Parsing escape character",
            Self::Expecting(_) => "Parsing literal",
            Self::FileContentType => "Parsing file content type",
            Self::Filename => "Parsing filename",
            Self::GraphQlVariables => "Parsing GraphQL variables",
            Self::HexDigit => "Parsing hexadecimal number",
            Self::CookieAttribute => "Parsing cookie attribute",
            Self::DurationUnit(_) => "Parsing duration",
            Self::OptionName(_) => "Parsing option",
            Self::JsonTooDeep
            | Self::JsonTrailingComma
            | Self::JsonExpectingElement
            | Self::JsonEmptyElement => "Parsing JSON",
            Self::Method(_) => "Parsing method",
            Self::LanguageHint(_) => "Parsing multiline",
            Self::OddNumberOfHexDigits => "Parsing hex bytearray",
            Self::Predicate => "Parsing predicate",
            Self::PredicateValue => "Parsing predicate value",
            Self::Regex(_) => "Parsing regex",
            Self::RequestSectionName(_) => "Parsing request section name",
            Self::ResponseSectionName(_) => "Parsing response section name",
            Self::Space => "Parsing space",
            Self::Status => "Parsing status code",
            Self::TemplateVariable => "Parsing template variable",
            Self::TooLong => "Parsing file",
            Self::Unicode => "Parsing unicode literal",
            Self::ReservedVariable(_) => "Parsing variable",
            Self::Version => "Parsing version",
            Self::Xml => "Parsing XML",
        }
    }

    /// What is wrong, and what is right.
    pub fn reason(&self) -> String {
        match self {
            Self::DuplicateSection => "the section is already defined".into(),
            Self::EscapeChar => "the escaping sequence is not valid".into(),
            Self::Expecting(value) => format!("expecting '{value}'"),
            Self::FileContentType => "expecting a content type".into(),
            Self::Filename => "expecting a filename".into(),
            Self::GraphQlVariables => "GraphQL variables is not a valid JSON object".into(),
            Self::HexDigit => "expecting a valid hexadecimal number".into(),
            Self::CookieAttribute => "the cookie attribute is not valid".into(),
            Self::DurationUnit(unit) => {
                format!(
                    "the duration unit is not valid. {}",
                    suggest(unit, DURATION_UNITS, ", ")
                )
            }
            Self::OptionName(name) => format!(
                "the option name is not valid. {}",
                suggest(name, OPTION_NAMES, ", ")
            ),
            Self::JsonTooDeep => format!(
                "maximum nesting depth of {} exceeded",
                crate::MAX_JSON_DEPTH
            ),
            Self::JsonTrailingComma => "trailing comma is not allowed".into(),
            Self::JsonExpectingElement => {
                "expecting a boolean, number, string, array, object or null".into()
            }
            Self::JsonEmptyElement => "expecting an element; found empty element instead".into(),
            Self::Method(name) => {
                format!(
                    "the HTTP method <{name}> is not valid. {}",
                    suggest(name, METHODS, ", ")
                )
            }
            Self::LanguageHint(hint) => format!("Invalid language hint {hint}"),
            Self::OddNumberOfHexDigits => "expecting an even number of hex digits".into(),
            Self::Predicate => "expecting a predicate".into(),
            Self::PredicateValue => "invalid predicate value".into(),
            Self::Regex(message) => format!("invalid Regex expression: {message}"),
            Self::RequestSectionName(name) => {
                format!(
                    "the section is not valid. {}",
                    suggest(name, REQUEST_SECTIONS, ", ")
                )
            }
            Self::ResponseSectionName(name) => {
                format!(
                    "the section is not valid. {}",
                    suggest(name, RESPONSE_SECTIONS, " or ")
                )
            }
            Self::Space => "expecting a space".into(),
            Self::Status => "HTTP status code is not valid".into(),
            Self::TemplateVariable => "expecting a variable".into(),
            Self::TooLong => format!("the file is longer than {} bytes", crate::MAX_FILE_BYTES),
            Self::Unicode => "Invalid unicode literal".into(),
            Self::ReservedVariable(name) => {
                format!("conflicts with the {name} function, use a different name")
            }
            Self::Version => {
                "HTTP version must be HTTP, HTTP/1.0, HTTP/1.1, HTTP/2 or HTTP/3".into()
            }
            Self::Xml => "invalid XML".into(),
        }
    }
}

const DURATION_UNITS: &[&str] = &["ms", "s"];
const METHODS: &[&str] = &[
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
];
const REQUEST_SECTIONS: &[&str] = &["Query", "Form", "Multipart", "Cookies", "Options"];
const RESPONSE_SECTIONS: &[&str] = &["Captures", "Asserts"];
/// The names of options, in the order of Hurl's message.
const OPTION_NAMES: &[&str] = &[
    "aws-sigv4",
    "cacert",
    "cert",
    "compressed",
    "connect-timeout",
    "connect-to",
    "delay",
    "digest",
    "fail-with-body",
    "header",
    "http1.0",
    "http1.1",
    "http2",
    "http2-prior-knowledge",
    "http3",
    "insecure",
    "ipv4",
    "ipv6",
    "key",
    "limit-rate",
    "location",
    "location-trusted",
    "max-redirs",
    "max-time",
    "negotiate",
    "netrc",
    "netrc-file",
    "netrc-optional",
    "no-header",
    "no-jsonpath-coercion",
    "ntlm",
    "output",
    "path-as-is",
    "pinnedpubkey",
    "proxy",
    "repeat",
    "resolve",
    "retry",
    "retry-interval",
    "skip",
    "tls-max",
    "tls-min",
    "unix-socket",
    "user",
    "variable",
    "verbose",
    "verbosity",
    "very-verbose",
];

/// The first valid value that is at most one edit away from `actual`, or all of them.
fn suggest(actual: &str, valid: &[&str], separator: &str) -> String {
    const LONGEST: usize = 256;
    let near =
        |value: &&&str| strsim::levenshtein(&value.to_lowercase(), &actual.to_lowercase()) < 2;
    match valid
        .iter()
        .find(|value| actual.len() <= LONGEST && near(value))
    {
        Some(value) => format!("Did you mean {value}?"),
        None => format!("Valid values are {}", valid.join(separator)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: usize, column: usize, kind: ParseErrorKind) -> ParseError {
        let position = Position { line, column };
        ParseError { position, kind }
    }

    #[test]
    fn an_error_names_the_place_and_shows_its_line() {
        let of_status = error(2, 3, ParseErrorKind::Status);
        let expected = "\
Parsing status code
  --> a.hurl:2:3
   |
 2 |     HTTP ten
   |      ^ HTTP status code is not valid
   |";
        assert_eq!(of_status.render("a.hurl", "GET x\n\tHTTP ten\n"), expected);
        let expected = "2:3: HTTP status code is not valid";
        assert_eq!(of_status.to_string(), expected);
        // Behind the last line, an empty one is shown.
        let behind = error(9, 1, ParseErrorKind::Space).render("a", "GET x");
        assert!(
            behind.contains("\n 9 | \n   | ^ expecting a space\n"),
            "{behind}"
        );
    }

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_lists_all() {
        assert_eq!(suggest("Gett", METHODS, ", "), "Did you mean GET?");
        assert_eq!(
            suggest("x", RESPONSE_SECTIONS, " or "),
            "Valid values are Captures or Asserts"
        );
    }
}
