//! Damaged scenarios and checks.

use serde_json::{Value, json};

use super::*;

/// Puts `other` in the place of the `number`th value; `false` if there are fewer.
fn put(value: &mut Value, number: &mut usize, other: &Value) -> bool {
    if *number == 0 {
        *value = other.clone();
        return true;
    }
    *number -= 1;
    match value {
        Value::Array(elements) => elements.iter_mut().any(|it| put(it, number, other)),
        Value::Object(members) => members.values_mut().any(|it| put(it, number, other)),
        _ => false,
    }
}

/// Puts each of several values in the place of each value of the plan, or of this part of it. Returns how many
/// are no plans.
fn refused(plan: &LoadPlan, part: Option<&str>) -> usize {
    let document = serde_json::to_value(plan).unwrap();
    let others = [
        Value::Null,
        json!(true),
        json!(-1),
        json!(u64::MAX),
        json!(1e300),
        json!(""),
        json!("{{a"),
        json!("AAAA"),
        json!([]),
        json!([[]]),
        json!({}),
    ];
    let mut refused = 0;
    for other in &others {
        for number in 0.. {
            let mut damaged = document.clone();
            let place = match part {
                Some(part) => &mut damaged[part],
                None => &mut damaged,
            };
            if !put(place, &mut { number }, other) {
                break;
            }
            let read = serde_json::from_value::<LoadPlan>(damaged).map_err(|it| it.to_string());
            let plan = read.and_then(|it| it.validate().map_err(|error| error.to_string()));
            refused += usize::from(plan.is_err_and(|reason| !reason.is_empty()));
        }
    }
    refused
}

#[test]
fn no_value_in_a_wrong_place_panics() {
    let server = Recorder::start(Protocol::Http11);
    let folder = tempfile::tempdir().unwrap();
    let scenario = scenarios::hurl(&server, folder.path());
    let request = Traffic::flows_of(scenario, HttpVersion::Http1);
    assert!(refused(&plan(&server, "http://a", request), None) > 500);
    for (at, [response, _]) in scenarios::responses().into_iter().enumerate() {
        let plan = scenarios::workload_plan(&server, response);
        // The rest of it is that of the first.
        let (part, least) = match at {
            0 => (None, 500),
            _ => (Some("sampling"), 50),
        };
        assert!(refused(&plan, part) > least, "{response}");
    }
}
