//! Whether documents are valid against the committed schemas.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

/// The file of a schema: `load` is `schema/load.schema.json`.
pub fn file(name: &str) -> PathBuf {
    let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    PathBuf::from(format!("{repository}/schema/{name}.schema.json"))
}

/// Says where a document violates the schema of that name, and how.
pub fn check(name: &str, document: &Value) -> Result<(), String> {
    let schema = fs::read_to_string(file(name)).unwrap();
    let schema = serde_json::from_str(&schema).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let result = validator.validate(document);
    result.map_err(|error| format!("{error} at {}", error.instance_path()))
}

/// Parses a document, which must be valid against the schema of that name.
#[track_caller]
pub fn valid(name: &str, text: &str) -> Value {
    let document = serde_json::from_str(text).unwrap();
    check(name, &document).unwrap();
    document
}
