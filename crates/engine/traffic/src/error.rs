//! Why a file cannot be run.

use prony_hurl::Position;
use prony_hurl::evaluate::Failure;

use crate::secrets::Secrets;

/// Why a file cannot be run as a scenario. The messages name the file and the line.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error("{0}")]
    Parse(String),
    #[error("{}", .0.join("\n"))]
    Unsupported(Vec<String>),
    #[error("{file} has no entries")]
    Empty { file: String },
    #[error("{file} has {given} entries: at most {most} are possible")]
    TooMany {
        file: String,
        given: usize,
        most: usize,
    },
    #[error("{place}: the variable `{name}` is not defined; give it with --variable {name}=VALUE")]
    Undefined { place: String, name: String },
    #[error(
        "{place}: the server must be known before the load, but `{url}` takes it from a value that differs between flows"
    )]
    UnknownServer { place: String, url: String },
    #[error("{place}: {url} is on another server than {server}; a load needs one server")]
    OtherServer {
        place: String,
        url: String,
        server: String,
    },
    #[error("{place}: {reason}")]
    Invalid { place: String, reason: String },
    #[error(
        "{file}: `{option}` must be the same in every entry, because a user has one connection"
    )]
    Differs { file: String, option: &'static str },
}

impl ScenarioError {
    /// The same, without secrets: the file itself has none, only the values that are put into it.
    pub(crate) fn without_secrets(self, secrets: &Secrets) -> Self {
        match self {
            Self::OtherServer { place, url, server } => Self::OtherServer {
                place,
                url: secrets.hide(&url),
                server: secrets.hide(&server),
            },
            Self::UnknownServer { place, url } => Self::UnknownServer {
                place,
                url: secrets.hide(&url),
            },
            Self::Invalid { place, reason } => Self::Invalid {
                place,
                reason: secrets.hide(&reason),
            },
            other => other,
        }
    }
}

/// The most characters of a reason that are shown.
const LONGEST_REASON: usize = 400;

/// A failure in a line, without secrets.
pub(crate) fn in_a_line(failure: &Failure, secrets: &Secrets) -> String {
    // A secret that is cut, or has other white space, would not be found.
    let reason = secrets.hide(&failure.reason);
    let words: Vec<&str> = reason.split_whitespace().collect();
    let mut reason = words.join(" ");
    if let Some((end, _)) = reason.char_indices().nth(LONGEST_REASON) {
        reason.truncate(end);
        reason.push('…');
    }
    format!("{}: {reason}", failure.title)
}

pub(crate) fn place(file: &str, position: Position) -> String {
    format!("{file}:{}:{}", position.line, position.column)
}
