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

pub use curl::{CurlError, Files, NoFiles, curl};
pub use har::{HarError, HarOptions, har};
pub use openapi::{OpenApiError, openapi};
pub use scenario::{
    Content, Entry, Method, MethodError, Options, Part, Redirects, Scenario, Status, Text,
    Variable, VariableName, Version,
};
pub use shell::ShellError;
pub use url::UrlError;
pub use write::{WriteError, write};

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
