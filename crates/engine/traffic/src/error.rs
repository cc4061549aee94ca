//! Why a file cannot be run.

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
