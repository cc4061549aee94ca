//! The JSON has exactly the fields that the schema publishes.

use jsonschema::{Registry, Resource, Validator};
use prony_model::sample;

use super::*;
use crate::difference::difference;

fn schema(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn validator() -> Validator {
    let own = schema(include_str!("../../../../schema/explanation.schema.json"));
    jsonschema::meta::validate(&own).unwrap();
    let load = schema(include_str!("../../../../schema/load.schema.json"));
    let id = load["$id"].as_str().unwrap().to_owned();
    let registry = Registry::new()
        .add(id, Resource::from_contents(load))
        .unwrap()
        .prepare()
        .unwrap();
    jsonschema::options()
        .with_registry(&registry)
        .build(&own)
        .unwrap()
}

fn document() -> Value {
    let explanations = ["bun", "go-nethttp"].map(sample::explanation);
    let found = difference(&explanations[0], &explanations[1]).unwrap();
    let mut document = json(&Header::from(&sample::run("r")), &explanations, &[found]);
    // The samples are alike, so no function changed.
    document["differences"][0]["functions"] = json!([{
        "frame": explanations[0].on_cpu.as_ref().unwrap().frames[0],
        "module_before": null,
        "before_s": 0.0,
        "after_s": 1e-6,
        "difference_s": 1e-6,
    }]);
    document
}

fn accept(document: &Value) {
    if let Err(error) = validator().validate(document) {
        panic!("{error} at {}", error.instance_path());
    }
}

#[test]
fn the_json_matches_the_schema() {
    accept(&document());
    let header = Header {
        run: None,
        ..Header::from(&sample::run("r"))
    };
    accept(&json(&header, &[], &[]));
    let mut least = sample::explanation("bun");
    least.rounds.truncate(1);
    (least.on_cpu, least.off_cpu) = (None, None);
    least.unavailable.clear();
    let document = json(&header, &[least], &[]);
    accept(&document);
    let cpu = &document["workloads"][0]["servers"][0]["figures"]["cpu"];
    let one_round = json!({"median": 1.0, "low": null, "high": null, "rounds": 1});
    assert_eq!(*cpu, one_round);
}

#[test]
fn every_field_is_bound() {
    let (document, validator) = (document(), validator());
    for path in [
        "/run",
        "/workloads/0",
        "/workloads/0/unavailable/0",
        "/workloads/0/servers/0",
        "/workloads/0/servers/0/figures/cpu",
        "/workloads/0/servers/0/functions/0",
        "/differences/0",
        "/differences/0/costs/0",
        "/differences/0/costs/0/change",
        "/differences/0/functions/0",
    ] {
        let fields = document.pointer(path).unwrap().as_object().unwrap();
        for name in fields.keys() {
            let mut broken = document.clone();
            let fields = broken.pointer_mut(path).unwrap().as_object_mut();
            fields.unwrap().remove(name);
            assert!(!validator.is_valid(&broken), "valid without {path}/{name}");
        }
        let mut broken = document.clone();
        broken.pointer_mut(path).unwrap()["unheard_of"] = json!(1);
        assert!(!validator.is_valid(&broken), "valid with {path}/unheard_of");
    }
}

#[test]
fn figures_keep_the_units_of_the_model() {
    let document = document();
    let growth = 16.0 * 1.05;
    let mut costs = document["differences"][0]["costs"]
        .as_array()
        .unwrap()
        .iter();
    let found = costs.find(|cost| cost["name"] == "heap-growth").unwrap();
    let median = found["before"]["median"].as_f64().unwrap();
    assert!((median - growth).abs() < 1e-9, "{median}");
}
