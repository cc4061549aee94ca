//! The variables that a document leaves to the user.

use crate::import::scenario::{Variable, variable_name};

/// The variables so far, each once.
#[derive(Default)]
pub(super) struct Variables {
    pub(super) all: Vec<Variable>,
}

impl Variables {
    pub(super) fn named(&mut self, name: &str, meaning: impl Into<String>) -> String {
        let name = variable_name(name);
        if !self.all.iter().any(|variable| variable.name == name) {
            self.all.push(Variable {
                name: name.clone(),
                meaning: meaning.into(),
            });
        }
        name
    }

    pub(super) fn file(&mut self, of: &str) -> String {
        self.named(&format!("{of}_file"), "a file that is sent")
    }
}
