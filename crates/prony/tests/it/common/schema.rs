//! Validates documents against the published schemas.

use std::fs;

use jsonschema::{Registry, Resource, Validator};
use serde_json::Value;

use super::repository;

fn published(name: &str) -> Value {
    let file = repository().join("schema").join(name);
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

fn accept(schema: &Value, document: &Value) {
    let others = ["load.schema.json", "explanation.schema.json"].map(published);
    let registry = others
        .into_iter()
        .fold(Registry::new(), |registry, other| {
            let id = other["$id"].as_str().unwrap().to_owned();
            registry.add(id, Resource::from_contents(other)).unwrap()
        })
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

/// Parses a run, which must match `run.schema.json`.
pub fn run(text: &str) -> Value {
    let document = serde_json::from_str(text).unwrap();
    accept(&published("run.schema.json"), &document);
    document
}

/// Parses a load's result, which must match `load.schema.json`.
pub fn load(text: &str) -> Value {
    let document = serde_json::from_str(text).unwrap();
    accept(&published("load.schema.json"), &document);
    document
}

/// Parses a calibration, which must match `calibrate.schema.json`.
pub fn calibration(text: &str) -> Value {
    let document = serde_json::from_str(text).unwrap();
    accept(&published("calibrate.schema.json"), &document);
    document
}

/// Parses the result of a search for a capacity, which must match `capacity.schema.json`.
pub fn capacity(text: &str) -> Value {
    let document = serde_json::from_str(text).unwrap();
    accept(&published("capacity.schema.json"), &document);
    document
}

/// Parses a comparison, which must match `comparison.schema.json`.
pub fn comparison(text: &str) -> Value {
    let document = serde_json::from_str(text).unwrap();
    accept(&published("comparison.schema.json"), &document);
    document
}

/// Parses explanations, which must match `explanation.schema.json`.
pub fn explanations(text: &str) -> Value {
    let document = serde_json::from_str(text).unwrap();
    accept(&published("explanation.schema.json"), &document);
    document
}
