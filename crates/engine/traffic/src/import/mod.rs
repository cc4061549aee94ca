//! Hurl files from curl commands, HAR files and OpenAPI documents, without I/O.
//!
//! ```
//! let command = "curl http://localhost:8080/items -d name=pen";
//! let mut files = |name: &str| Err(format!("no file {name}"));
//! let imported = prony_traffic::import::curl(command, &mut files).expect("a command");
//! let text = prony_traffic::import::write(&imported.entries, &[]).expect("a Hurl file");
//! assert_eq!(text, "POST http://localhost:8080/items\n[Form]\nname: pen\n");
//! ```

mod curl;
mod error;
mod har;
mod openapi;
mod scenario;
mod shell;
mod url;
mod write;

pub use curl::{Files, curl};
pub use error::ImportError;
pub use har::{HarOptions, har};
pub use openapi::openapi;
pub use scenario::{Content, Entry, Options, Part, Status, Text, Variable};
pub use write::write;

use error::refuse;

/// The longest input of an import.
pub(crate) const MAX_INPUT_BYTES: usize = 64 << 20;

/// Requests in their order, and what an import left out.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    pub entries: Vec<Entry>,
    /// Those that a user gives a value.
    pub variables: Vec<Variable>,
    /// What was left out or may surprise, a sentence each.
    pub notes: Vec<String>,
}

/// At most that many characters of a text, for messages.
fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
