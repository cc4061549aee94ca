//! Tests that what Prony writes has exactly the fields that `schema/` publishes.

use jsonschema::{Registry, Resource, Validator};
use serde_json::{Value, json};

use prony_model::{CostFigure, CostRound, LoadShape, LoadSpec, PublishedFigure, sample};

use crate::export_json;

fn schema(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn load_schema() -> Value {
    schema(include_str!("../../../schema/load.schema.json"))
}

fn explanation_schema() -> Value {
    schema(include_str!("../../../schema/explanation.schema.json"))
}

fn run_schema() -> Value {
    schema(include_str!("../../../schema/run.schema.json"))
}

fn with_validator(schema: &Value, check: impl FnOnce(&Validator)) {
    jsonschema::meta::validate(schema).unwrap();
    let others = [load_schema(), explanation_schema()];
    let registry = others
        .into_iter()
        .fold(Registry::new(), |registry, other| {
            let id = other["$id"].as_str().unwrap().to_owned();
            registry.add(id, Resource::from_contents(other)).unwrap()
        })
        .prepare()
        .unwrap();
    let validator = jsonschema::options()
        .with_registry(&registry)
        .build(schema)
        .unwrap();
    check(&validator);
}

fn accept(validator: &Validator, document: &Value) {
    if let Err(error) = validator.validate(document) {
        panic!("{error} at {}", error.instance_path());
    }
}

/// The schema must reject a document without one of its fields, or with an unknown one. `path` is a JSON pointer to an
/// object.
fn every_field_is_bound(validator: &Validator, document: &Value, path: &str) {
    let fields = document.pointer(path).unwrap().as_object().unwrap();
    for name in fields.keys() {
        let mut broken = document.clone();
        broken
            .pointer_mut(path)
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove(name);
        assert!(!validator.is_valid(&broken), "valid without {path}/{name}");
    }
    let mut broken = document.clone();
    broken.pointer_mut(path).unwrap()["unheard_of"] = json!(1);
    assert!(!validator.is_valid(&broken), "valid with {path}/unheard_of");
}

#[test]
fn a_load_result_matches_the_schema() {
    with_validator(&load_schema(), |validator| {
        let mut result = sample::load_result();
        let document = serde_json::to_value(&result).unwrap();
        accept(validator, &document);
        for path in [
            "",
            "/target",
            "/load",
            "/outcomes",
            "/warmup",
            "/latency_ns",
            "/checked",
            "/generator",
            "/open",
            "/first_byte_ns",
            "/events",
            "/streams",
            "/streams/outcomes",
            "/streams/events",
            "/outages/0",
            "/streams/slowest",
            "/stages/0",
        ] {
            every_field_is_bound(validator, &document, path);
        }
        (result.latency_ns, result.warmup, result.first_wrong) = (None, None, None);
        (result.load.duration_s, result.load.requests) = (None, Some(10));
        (result.load.shape, result.open) = (LoadShape::Closed, None);
        (result.first_byte_ns, result.events, result.streams) = (None, None, None);
        result.checked = None;
        accept(validator, &serde_json::to_value(&result).unwrap());
    });
}

#[test]
fn every_shape_has_exactly_its_own_fields() {
    let mut document = serde_json::to_value(sample::load_result()).unwrap();
    with_validator(&load_schema(), |validator| {
        document["load"] = serde_json::to_value(sample::measured_at_a_rate().trial.load).unwrap();
        accept(validator, &document);
        for path in ["/load", "/load/stages/0"] {
            every_field_is_bound(validator, &document, path);
        }
        document["load"]["think_time_s"] = json!(1.0);
        assert!(!validator.is_valid(&document), "a rate with users");
        let spec = sample::load_result().load;
        for shape in [
            LoadShape::Closed,
            LoadShape::UsersClosed { think_time_s: 0.5 },
            LoadShape::UsersOpen { think_time_s: 0.5 },
        ] {
            let load = LoadSpec {
                shape,
                ..spec.clone()
            };
            document["load"] = serde_json::to_value(load).unwrap();
            accept(validator, &document);
            every_field_is_bound(validator, &document, "/load");
            document["load"]["burst"] = json!(1);
            assert!(!validator.is_valid(&document), "a burst without a rate");
        }
    });
}

#[test]
fn broken_load_results_are_rejected() {
    let document = serde_json::to_value(sample::load_result()).unwrap();
    with_validator(&load_schema(), |validator| {
        for (path, value) in [
            ("/duration_s", json!("1 s")),
            ("/requests", json!(-1)),
            ("/outcomes/ok", json!(1.5)),
            ("/ended", json!("bored")),
            ("/load/shape", json!("square")),
            ("/load/shape", json!("closed")),
            ("/load/shape", json!("rate")),
            ("/load/pipeline", json!(0)),
            ("/load/seed", json!(-1)),
            ("/load/timeout_s", json!(null)),
            ("/open/rate_ratio", json!(null)),
            ("/events/count", json!(1.5)),
            ("/generator/client_limited_by", json!(true)),
            ("/within_stdev", json!(1.2)),
            ("/statuses", json!({"teapot": 1})),
            ("/histogram", json!("not base64!")),
            ("/generator/loop", json!(null)),
            ("/first_wrong/outcome", json!("ok")),
        ] {
            let mut broken = document.clone();
            *broken.pointer_mut(path).unwrap() = value;
            assert!(!validator.is_valid(&broken), "{path}");
        }
    });
}

#[test]
fn an_exported_run_matches_the_schema() {
    let trials = [
        sample::measured("go-nethttp", 1),
        sample::failed("bun", "gone"),
    ];
    let document = export_json(&sample::run("r"), &trials, &[]);
    with_validator(&run_schema(), |validator| {
        accept(validator, &document);
        accept(validator, &export_json(&sample::run("r"), &[], &[]));
        for path in [
            "",
            "/run",
            "/run/machine",
            "/run/cpus",
            "/run/published",
            "/run/published/tables/0",
            "/run/published/tables/0/rows/0",
            "/run/servers/0",
            "/run/servers/2/status",
            "/run/servers/0/verified/1",
            "/trials/0",
            "/trials/0/trial",
            "/trials/0/result",
            "/trials/0/result/load",
            "/trials/0/result/server",
            "/trials/0/result/noise",
            "/trials/0/result/log_lines",
            "/trials/0/result/warm_up",
            "/trials/0/result/search",
            "/trials/0/result/log_tail",
            "/trials/1/result",
        ] {
            every_field_is_bound(validator, &document, path);
        }
    });
}

#[test]
fn exported_explanations_match_the_schema() {
    let full = sample::explanation("bun");
    let mut least = full.clone();
    (least.on_cpu, least.off_cpu) = (None, None);
    least.unavailable.clear();
    least.rounds = vec![CostRound::default()];
    let document = export_json(&sample::run("r"), &[], &[full, least]);
    with_validator(&run_schema(), |validator| {
        accept(validator, &document);
        for path in [
            "/explanations/1",
            "/explanations/1/rounds/0",
            "/explanations/0/on_cpu/frames/0",
            "/explanations/0/on_cpu/stacks/0",
            "/explanations/0/on_cpu/unnamed/0",
        ] {
            every_field_is_bound(validator, &document, path);
        }
        for (path, value) in [
            ("/explanations", json!([])),
            ("/explanations/0/unit", json!("byte")),
            ("/explanations/0/rounds/0/figures", json!({"speed": 1.0})),
            ("/explanations/0/rounds/0/figures/cpu", json!("fast")),
            ("/explanations/0/on_cpu/frames/0/kind", json!("magic")),
            ("/explanations/0/on_cpu/unnamed/0/share", json!(1.5)),
            ("/explanations/0/unavailable/0", json!({"what": "all"})),
        ] {
            let mut broken = document.clone();
            *broken.pointer_mut(path).unwrap() = value;
            assert!(!validator.is_valid(&broken), "{path}");
        }
    });
}

#[test]
fn cost_figures_have_the_same_names_in_the_model_and_in_the_schema() {
    let schema = explanation_schema();
    for place in ["server", "round"] {
        let figures = &schema["$defs"][place]["properties"]["figures"]["properties"];
        let in_schema: Vec<&String> = figures.as_object().unwrap().keys().collect();
        let mut in_model = CostFigure::ALL.map(CostFigure::name);
        in_model.sort_unstable();
        assert_eq!(in_schema, in_model, "{place}");
    }
}

#[test]
fn broken_runs_are_rejected() {
    let document = export_json(&sample::run("r"), &[sample::measured("bun", 1)], &[]);
    with_validator(&run_schema(), |validator| {
        for (path, value) in [
            ("/schema", json!("prony-run/0")),
            ("/run/end", json!("happily")),
            ("/run/published/tables/0/columns/0", json!("speed")),
            (
                "/run/published/tables/0/rows/0/figures",
                json!({"speed": [1]}),
            ),
            ("/run/started_at", json!("yesterday")),
            ("/run/servers/0/class", json!("fast")),
            ("/run/servers/0/status/status", json!("maybe")),
            ("/trials/0/trial/round", json!(0)),
            ("/trials/0/result/result", json!("guessed")),
            ("/trials/0/result/load/outcomes/ok", json!(-3)),
        ] {
            let mut broken = document.clone();
            *broken.pointer_mut(path).unwrap() = value;
            assert!(!validator.is_valid(&broken), "{path}");
        }
    });
}

#[test]
fn published_figures_have_the_same_names_in_json_and_schema() {
    let in_schema = &run_schema()["$defs"]["figure"]["enum"];
    let in_json = serde_json::to_value(PublishedFigure::ALL).unwrap();
    assert_eq!(&in_json, in_schema);
    assert_eq!(
        in_json,
        json!(PublishedFigure::ALL.map(PublishedFigure::name))
    );
}
