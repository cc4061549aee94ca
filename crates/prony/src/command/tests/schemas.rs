//! The schemas of what Prony writes: generated from the types, and compared with those in `schema`.

use std::{env, fs};

use prony_model::{CostRound, LoadResult, LoadShape, LoadSpec, Seconds, sample};
use prony_report::explain::{ExplanationDocument, Header};
use prony_run::capacity::CapacityResult;
use prony_store::{RunDocument, export_json};
use prony_testkit::schema::{check, file};
use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::command::{calibrate, compare, load};

/// Generates a schema and compares it with the committed one, or writes it.
fn assert_committed<T: JsonSchema>(name: &str, title: &str) {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.with_transform(tidy).into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    let id = format!("https://github.com/prony-bench/prony/blob/main/schema/{name}.schema.json");
    schema.insert("$id".into(), id.into());
    schema.insert("title".into(), title.into());
    let generated = folded(&serde_json::to_string_pretty(&schema).unwrap());
    if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        // At once: other tests read it.
        let written = file(name).with_extension("new");
        fs::write(&written, &generated).unwrap();
        fs::rename(written, file(name)).unwrap();
    }
    assert!(
        fs::read_to_string(file(name)).unwrap() == generated,
        "schema/{name}.schema.json is not what the types say; write it with \
         `INSTA_UPDATE=always cargo test -p prony schemas`"
    );
}

/// Pretty JSON with each object and array that fits on a line of its own.
fn folded(pretty: &str) -> String {
    let indent = |line: &String| line.len() - line.trim_start().len();
    let mut lines: Vec<String> = Vec::new();
    for line in pretty.lines().map(str::to_owned) {
        let begin = lines.iter().rposition(|one| indent(one) == indent(&line));
        let ends = line.trim_start().starts_with(['}', ']']);
        lines.push(line);
        if let Some(begin) = begin.filter(|_| ends) {
            let words: Vec<&str> = lines[begin..].iter().map(|one| one.trim_start()).collect();
            let line = " ".repeat(indent(&lines[begin])) + &words.join(" ");
            if line.len() <= 160 {
                lines.truncate(begin);
                lines.push(line);
            }
        }
    }
    lines.join("\n") + "\n"
}

/// Closes objects, says what JSON has for `None`, and removes what concerns Rust alone.
fn tidy(schema: &mut Schema) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    for of_rust in ["format", "default"] {
        fields.remove(of_rust);
    }
    optional(fields).for_each(never_null);
    if let Some(Value::String(text)) = fields.get_mut("description") {
        *text = text.replace('\n', " ").replace("`None`", "null");
    }
    transform_subschemas(&mut tidy, schema);
    close(schema);
}

/// The fields that may be absent.
fn optional(fields: &mut Map<String, Value>) -> impl Iterator<Item = &mut Value> {
    let required = fields.get("required").cloned().unwrap_or_default();
    let all = fields.get_mut("properties").and_then(Value::as_object_mut);
    let all = all.into_iter().flatten();
    let optional = all.filter(move |(name, _)| {
        let mut required = required.as_array().into_iter().flatten();
        required.all(|one| one != name.as_str())
    });
    optional.map(|(_, field)| field)
}

/// A field that may be absent is so instead of null.
fn never_null(field: &mut Value) {
    if let Some(Value::String(text)) = field.get_mut("description") {
        *text = text.replace("`None`", "absent");
    }
    if let Some(kind) = field.pointer("/type/0").cloned() {
        field["type"] = kind;
    }
    if let Some(other) = field.pointer("/anyOf/0/$ref").cloned() {
        field["$ref"] = other;
        field
            .as_object_mut()
            .and_then(|field| field.remove("anyOf"));
    }
}

/// Prony writes no other fields than those that are described.
fn close(schema: &mut Schema) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    if fields.contains_key("properties") {
        let has_parts = parts(fields).map(open).count() > 0;
        let others = if has_parts {
            "unevaluatedProperties"
        } else {
            "additionalProperties"
        };
        fields.insert(others.into(), false.into());
    }
}

/// The schemas that say more of the same object.
fn parts(fields: &mut Map<String, Value>) -> impl Iterator<Item = &mut Value> {
    let parts = fields.iter_mut();
    let parts = parts.filter(|(key, _)| ["allOf", "anyOf", "oneOf"].contains(&key.as_str()));
    parts.flat_map(|(_, parts)| parts.as_array_mut()).flatten()
}

/// Lets a part of an object have other fields, which only the whole knows.
fn open(part: &mut Value) {
    if let Some(fields) = part.as_object_mut() {
        fields.remove("additionalProperties");
        parts(fields).for_each(open);
    }
}

#[test]
fn the_committed_schemas_are_those_of_the_types() {
    assert_committed::<load::Document<'_>>("load", "What `prony load --json` writes");
    assert_committed::<CapacityResult>(
        "capacity",
        "What `prony load --find-capacity --json` writes",
    );
    assert_committed::<RunDocument<'_>>(
        "run",
        "What `prony export --format json` writes: a run and its trials",
    );
    assert_committed::<ExplanationDocument<'_>>(
        "explanation",
        "What a request costs servers, and where that goes",
    );
    assert_committed::<compare::Document<'_>>("comparison", "A comparison of two measurements");
    assert_committed::<calibrate::calibration::Calibration>(
        "calibrate",
        "What `prony calibrate --json` writes",
    );
}

#[track_caller]
fn accepts(name: &str, document: &Value) {
    if let Err(error) = check(name, document) {
        panic!("{name}: {error}");
    }
}

fn written(result: &LoadResult) -> Value {
    json!(load::Document {
        result,
        objectives: &[],
    })
}

#[test]
fn loads_of_every_shape_are_valid() {
    let full = sample::load_result();
    accepts("load", &written(&full));
    let rate = sample::measured_at_a_rate().trial.load.shape;
    let users = LoadShape::UsersClosed {
        think_time: Seconds::from_millis(500),
    };
    for shape in [LoadShape::Closed, rate, users] {
        let load = LoadSpec {
            shape,
            ..LoadSpec::default()
        };
        let least = LoadResult {
            load,
            ..LoadResult::default()
        };
        accepts("load", &written(&least));
    }
}

#[test]
fn runs_and_explanations_are_valid() {
    let run = sample::run("r");
    accepts("run", &export_json(&run, &[], &[]));
    let trials = [
        sample::measured("go-nethttp", 1),
        sample::measured_at_a_rate(),
        sample::failed("bun", "gone"),
    ];
    let full = ["bun", "go-nethttp"].map(sample::explanation);
    let mut least = full[0].clone();
    (least.on_cpu, least.off_cpu) = (None, None);
    least.unavailable.clear();
    least.rounds = vec![CostRound::default()];
    let all = [&full[..], &[least]].concat();
    accepts("run", &export_json(&run, &trials, &all));
    let found = prony_report::explain::difference(&full[0], &full[1]).unwrap();
    accepts(
        "explanation",
        &prony_report::explain::json(&Header::from(&run), &all, &[found]),
    );
}

#[test]
fn no_object_has_unknown_fields() {
    let document = written(&sample::load_result());
    // The load's shape is part of it, and brings fields of its own.
    for object in ["", "/target", "/load", "/outcomes", "/latency_ns"] {
        let mut broken = document.clone();
        broken.pointer_mut(object).unwrap()["unheard_of"] = json!(1);
        check("load", &broken).expect_err(object);
    }
    let mut broken = document;
    broken["load"]["burst"] = json!(1);
    check("load", &broken).expect_err("users have no burst");
}
