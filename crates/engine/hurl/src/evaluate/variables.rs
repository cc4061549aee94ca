//! Variables.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::value::Value;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Variables {
    values: HashMap<String, Variable>,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct Variable {
    pub value: Value,
    /// Whether reports must not show it.
    pub is_secret: bool,
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_secret {
            f.write_str("***")
        } else {
            self.value.fmt(f)
        }
    }
}

impl Variables {
    /// Sets a variable. One that was secret stays so.
    pub fn set(&mut self, name: impl Into<String>, value: Value) {
        self.insert(name.into(), value, false);
    }

    /// Sets a variable that reports must not show.
    pub fn set_secret(&mut self, name: impl Into<String>, value: Value) {
        self.insert(name.into(), value, true);
    }

    fn insert(&mut self, name: String, value: Value, is_secret: bool) {
        let is_secret = is_secret
            || self
                .values
                .get(&name)
                .is_some_and(|variable| variable.is_secret);
        self.values.insert(name, Variable { value, is_secret });
    }

    pub fn get(&self, name: &str) -> Option<&Variable> {
        self.values.get(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The texts that reports must not show.
    pub fn secrets(&self) -> impl Iterator<Item = String> {
        self.values
            .values()
            .filter(|variable| variable.is_secret)
            .filter_map(|variable| variable.value.rendered())
    }
}
