//! JSON Schemas that a body satisfies.

use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::{Json, path_of, shown};
use crate::response::Mismatch;

/// A schema, ready to validate.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "(String, Json)", into = "(String, Json)")]
pub struct Schema {
    name: String,
    schema: Value,
    validator: Arc<Validator>,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.schema) == (&other.name, &other.schema)
    }
}

impl TryFrom<(String, Json)> for Schema {
    type Error = String;

    fn try_from((name, schema): (String, Json)) -> Result<Self, String> {
        Self::new(name, schema.value().clone())
    }
}

impl From<Schema> for (String, Json) {
    fn from(schema: Schema) -> Self {
        (schema.name, schema.schema.into())
    }
}

impl Schema {
    /// A schema; `name` is for messages.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn new(name: String, schema: Value) -> Result<Self, String> {
        let validator = Arc::new(validator(&schema)?);
        Ok(Self {
            name,
            schema,
            validator,
        })
    }

    pub(super) fn check(&self, body: &Value) -> Result<(), Mismatch> {
        let Some(error) = self.validator.iter_errors(body).next() else {
            return Ok(());
        };
        let pointer = error.instance_path().as_str();
        let path = path_of(pointer);
        let value = body.pointer(pointer).unwrap_or(body);
        Err(Mismatch {
            expected: format!(
                "JSON that satisfies {}: {}",
                self.name,
                error.masked_with(path.clone())
            ),
            received: format!("{path} = {}", shown(value)),
        })
    }
}

/// Sees whether this is a schema.
///
/// # Errors
///
/// If it is none.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    validator(schema).map(drop)
}

/// Nothing is fetched: a `$ref` to another document is an error. Patterns take linear time.
fn validator(schema: &Value) -> Result<Validator, String> {
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    options.build(schema).map_err(|error| {
        let pointer = error.instance_path().as_str();
        if pointer.is_empty() {
            error.to_string()
        } else {
            format!("{error} at {}", path_of(pointer))
        }
    })
}
