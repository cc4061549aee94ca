//! JSON Schemas that a body satisfies.

use std::path::PathBuf;
use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use prony_load::Mismatch;
use prony_model::without_mark;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::files::{AssetError, Files};
use crate::json::{from_toml, path_of, shown};

/// Where a schema is: in a file, or in the workload file as a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaSource {
    /// A file with JSON.
    File(String),
    /// The schema itself.
    Inline(Value),
}

impl<'de> Deserialize<'de> for SchemaSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match toml::Value::deserialize(deserializer)? {
            toml::Value::String(file) => Ok(Self::File(file)),
            table @ toml::Value::Table(_) => {
                let schema = from_toml(table).map_err(D::Error::custom)?;
                validator(&schema).map_err(|reason| {
                    D::Error::custom(format_args!("this is not a JSON Schema: {reason}"))
                })?;
                Ok(Self::Inline(schema))
            }
            _ => Err(D::Error::custom(
                "a schema is the name of a file, or a table",
            )),
        }
    }
}

/// A schema, ready to validate.
#[derive(Clone, Debug)]
pub(super) struct Schema {
    name: String,
    schema: Value,
    validator: Arc<Validator>,
}

impl Schema {
    /// A schema; `name` is for messages.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub(super) fn of(name: String, schema: Value) -> Result<Self, String> {
        let validator = Arc::new(validator(&schema)?);
        Ok(Self {
            name,
            schema,
            validator,
        })
    }

    /// How messages call it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The schema itself.
    pub(super) fn schema(&self) -> &Value {
        &self.schema
    }

    pub(super) fn new(
        source: &SchemaSource,
        workload: &str,
        files: &Files,
    ) -> Result<Self, AssetError> {
        let fault = |path: PathBuf, reason: String| AssetError::Schema {
            workload: workload.to_owned(),
            path,
            reason,
        };
        let (path, name, schema) = match source {
            SchemaSource::Inline(schema) => {
                ("schema".into(), "the schema".to_owned(), schema.clone())
            }
            SchemaSource::File(name) => {
                let file = files.file(workload, name)?;
                let schema = serde_json::from_slice(without_mark(&file.content));
                let schema = schema.map_err(|error| fault(file.path.clone(), error.to_string()))?;
                (file.path, format!("the schema {name}"), schema)
            }
        };
        Self::of(name, schema).map_err(|reason| fault(path, reason))
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
