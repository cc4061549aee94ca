//! Validates documents against the published schemas.

use std::fs;

use jsonschema::{Registry, Resource, Validator};
use serde_json::Value;

use super::repository;

fn published(name: &str) -> Value {
    let file = repository().join("schema").join(name);
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Parses a document, which must match the schema of that name.
pub fn valid(name: &str, text: &str) -> Value {
    let schema = published(&format!("{name}.schema.json"));
    let document = serde_json::from_str(text).unwrap();
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
        .build(&schema)
        .unwrap();
    if let Err(error) = validator.validate(&document) {
        panic!("{error} at {}", error.instance_path());
    }
    document
}

pub fn run(text: &str) -> Value {
    valid("run", text)
}

pub fn load(text: &str) -> Value {
    valid("load", text)
}

pub fn capacity(text: &str) -> Value {
    valid("capacity", text)
}
