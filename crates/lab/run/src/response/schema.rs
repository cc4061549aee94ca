//! Where the JSON Schema of a body is.

use std::path::PathBuf;

use prony_model::without_mark;
use prony_traffic::expected::{Schema, check_schema};
use prony_traffic::from_toml;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::files::{AssetError, Files};

/// Where a schema is: in a file, or in the workload file as a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaSource {
    /// A file with JSON.
    File(String),
    Inline(Value),
}

impl<'de> Deserialize<'de> for SchemaSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match toml::Value::deserialize(deserializer)? {
            toml::Value::String(file) => Ok(Self::File(file)),
            table @ toml::Value::Table(_) => {
                let schema = from_toml(table).map_err(D::Error::custom)?;
                check_schema(&schema).map_err(|reason| {
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

impl SchemaSource {
    pub(super) fn read(&self, workload: &str, files: &Files) -> Result<Schema, AssetError> {
        let fault = |path: PathBuf, reason: String| AssetError::Schema {
            workload: workload.to_owned(),
            path,
            reason,
        };
        let (path, name, schema) = match self {
            Self::Inline(schema) => ("schema".into(), "the schema".to_owned(), schema.clone()),
            Self::File(name) => {
                let file = files.file(workload, name)?;
                let schema = serde_json::from_slice(without_mark(&file.content));
                let schema = schema.map_err(|error| fault(file.path.clone(), error.to_string()))?;
                (file.path, format!("the schema {name}"), schema)
            }
        };
        Schema::new(name, schema).map_err(|reason| fault(path, reason))
    }
}
