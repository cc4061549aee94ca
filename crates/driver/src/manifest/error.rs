//! What can be wrong with a manifest.

use std::fmt;
use std::path::PathBuf;

/// A fault in a manifest, and where it is.
#[derive(Debug)]
pub struct ManifestError {
    /// The manifest.
    pub file: PathBuf,
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: Problem,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.problem)
    }
}

impl std::error::Error for ManifestError {}

/// What is wrong with a manifest.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// No TOML, an unknown or missing field, or a value of the wrong type.
    #[error("{message}{}", Offer(nearest))]
    Syntax {
        /// What the parser says.
        message: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// Nothing where something must be.
    #[error("`{0}` must not be empty")]
    Empty(&'static str),
    /// A brace that is never closed.
    #[error("a `{{` here is never closed")]
    OpenBrace,
    /// A placeholder that has no value in this part.
    #[error(
        "there is no placeholder `{{{name}}}` here{} Known are {known}",
        OfferOr(nearest, ";")
    )]
    UnknownPlaceholder {
        /// What stands between the braces.
        name: String,
        /// The placeholder that was probably meant.
        nearest: Option<String>,
        /// All that are allowed here.
        known: String,
    },
    /// Neither closed loops nor rates, or nothing that ends a load.
    #[error("`[arguments]` needs `{0}` or `{1}`, or the tool can make no load at all")]
    Neither(&'static str, &'static str),
    /// No regular expression.
    #[error("this is no regular expression: {0}")]
    Pattern(String),
    /// A pattern that captures nothing.
    #[error("this pattern needs a group, `( )`, around the figure")]
    NoGroup,
    /// No JSON pointer.
    #[error("`{0}` is no JSON pointer; it begins with `/`, for instance `/summary/total`")]
    Pointer(String),
    /// A field that is read in the other format's way.
    #[error("in the output format `{format}` a field has a `{wants}`")]
    WrongFormat {
        /// The format.
        format: &'static str,
        /// What its fields have.
        wants: &'static str,
    },
    /// None or several of the ways in which a tool tells how many requests it made.
    #[error(
        "`[output]` must have one of `ok`, `responses`, `requests` and `requests_per_s`, and only one: that is what the tool counts"
    )]
    Count,
    /// A tool that makes a rate, and does not say where its latency begins.
    #[error(
        "`[output]` lacks `rate_latency_from`: \"schedule\" where the latency of a rate begins at the scheduled arrival, \"send\" where it begins when the request is sent"
    )]
    RateLatency,
}

/// `; did you mean X?`, or nothing.
struct Offer<'a>(&'a Option<String>);

impl fmt::Display for Offer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        OfferOr(self.0, "").fmt(f)
    }
}

/// `; did you mean X?`, or this.
struct OfferOr<'a>(&'a Option<String>, &'static str);

impl fmt::Display for OfferOr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, "; did you mean `{name}`?"),
            None => f.write_str(self.1),
        }
    }
}
