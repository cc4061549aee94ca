//! Holds documents against the schemas that the repository publishes.

use std::fs;

use jsonschema::{Registry, Resource, Validator};
use serde_json::Value;

use super::repository;

fn published(name: &str) -> Value {
    let file = repository().join("schema").join(name);
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

fn accept(schema: &Value, document: &Value) {
    let load = published("load.schema.json");
    let id = load["$id"].as_str().unwrap().to_owned();
    let registry = Registry::new()
        .add(id.as_str(), Resource::from_contents(load))
        .unwrap()
        .prepare()
        .unwrap();
    let validator: Validator = jsonschema::options()
        .with_registry(&registry)
        .build(schema)
        .unwrap();
    if let Err(error) = validator.validate(document) {
        panic!("{error} at {}", error.instance_path());
    }
}

/// A run as JSON, which must be what `run.schema.json` says.
pub fn run(text: &str) -> Value {
    let document = serde_json::from_str(text).unwrap();
    accept(&published("run.schema.json"), &document);
    document
}

/// A load's result as JSON, which must be what `load.schema.json` says.
pub fn load(text: &str) -> Value {
    let document = serde_json::from_str(text).unwrap();
    accept(&published("load.schema.json"), &document);
    document
}

/// A calibration as JSON, which must be what `calibrate.schema.json` says.
pub fn calibration(text: &str) -> Value {
    let document = serde_json::from_str(text).unwrap();
    accept(&published("calibrate.schema.json"), &document);
    document
}

/// What a search for a capacity gave as JSON, which must be what `capacity.schema.json` says.
pub fn capacity(text: &str) -> Value {
    let document = serde_json::from_str(text).unwrap();
    accept(&published("capacity.schema.json"), &document);
    document
}

/// A comparison as JSON, which must be what `comparison.schema.json` says.
pub fn comparison(text: &str) -> Value {
    let document = serde_json::from_str(text).unwrap();
    accept(&published("comparison.schema.json"), &document);
    document
}
