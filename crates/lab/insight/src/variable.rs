//! Environment variables that change what a runtime does.

/// An environment variable that a server is started with. Runtimes that do not know it ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeVariable {
    pub name: &'static str,
    /// What it is set to, or what is added to it.
    pub value: &'static str,
    /// What separates this from what the variable already has; `None` if an existing value stays as it is.
    pub separator: Option<char>,
}
