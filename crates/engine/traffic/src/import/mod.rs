//! Hurl files from curl commands, HAR files and OpenAPI documents, without I/O.
//!
//! ```
//! let command = "curl http://localhost:8080/items -d name=pen";
//! let imported = prony_traffic::import::curl(command, &mut prony_traffic::import::NoFiles).expect("a command");
//! let text = prony_traffic::import::write(&imported.scenario, &[]).expect("a Hurl file");
//! assert_eq!(text, "POST http://localhost:8080/items\n[Form]\nname: pen\n");
//! ```

mod curl;
mod har;
mod openapi;
mod scenario;
mod shell;
mod url;
mod write;

pub use curl::{Files, NoFiles, curl};
pub use har::{HarOptions, har};
pub use openapi::openapi;
pub use scenario::{Content, Entry, Options, Part, Scenario, Status, Text, Variable};
pub use write::write;

/// The longest input of an import.
pub const MAX_INPUT_BYTES: usize = 64 << 20;

/// A scenario, and what an import left out of it.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The requests.
    pub scenario: Scenario,
    /// What was left out or may surprise, a sentence each.
    pub notes: Vec<String>,
}

/// Why there is no Hurl file: what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ImportError(String);

impl<T: Into<String>> From<T> for ImportError {
    fn from(reason: T) -> Self {
        Self(reason.into())
    }
}

fn refuse<T>(reason: impl Into<String>) -> Result<T, ImportError> {
    Err(reason.into().into())
}

/// At most that many characters of a text, for messages.
fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
