//! Tests of loads as JSON, current and old.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::*;

fn shapes() -> Vec<LoadShape> {
    vec![
        LoadShape::Closed,
        LoadShape::Rate(Schedule::constant(Arrivals::Poisson, 20_000.0)),
        LoadShape::Rate(Schedule {
            arrivals: Arrivals::Even,
            burst: 10,
            stages: parse_stages("1k/s:10s,1k/s..5k/s:30s,5k/s").unwrap(),
        }),
        LoadShape::UsersClosed {
            think_time: Seconds::from_millis(500),
        },
        LoadShape::UsersOpen {
            think_time: Seconds::from_secs(1),
        },
    ]
}

/// A load in which no field has its default.
fn whole(shape: LoadShape) -> LoadSpec {
    LoadSpec {
        shape,
        connections: 64,
        max_connections: Some(500),
        pipeline: 16,
        multiplexed: true,
        requests_per_connection: Some(100),
        threads: 2,
        duration: Some(Seconds::from_millis(10500)),
        requests: Some(1_000_000),
        warmup: Seconds::from_secs(1),
        timeout: Seconds::from_secs(5),
        deadline: Some(Seconds::from_secs(1)),
        seed: u64::MAX,
        spin: true,
        streams: 1_000,
        first_byte: true,
        events: true,
        messages: true,
        flows: true,
        by: MeasuredBy::Instructions,
    }
}

fn read<T: DeserializeOwned>(json: &Value) -> T {
    serde_json::from_str(&json.to_string()).unwrap()
}

#[test]
fn every_load_round_trips() {
    for shape in shapes() {
        for load in [
            whole(shape.clone()),
            LoadSpec {
                shape,
                ..LoadSpec::default()
            },
        ] {
            assert_eq!(read::<LoadSpec>(&json!(load)), load);
        }
    }
}

#[test]
fn the_shape_is_beside_the_other_fields() {
    let rate = json!(whole(shapes().swap_remove(2)));
    assert_eq!(rate["shape"], "rate");
    assert_eq!(
        (&rate["arrivals"], &rate["burst"]),
        (&json!("even"), &json!(10))
    );
    let ramp = json!({"from_per_s": 1000.0, "to_per_s": 5000.0, "duration_s": 30.0});
    assert_eq!(rate["stages"][1], ramp);
    assert_eq!(rate["stages"][2]["duration_s"], Value::Null);
    for shape in shapes() {
        assert_eq!(json!(shape)["shape"], shape.name());
    }
}

#[test]
fn a_load_without_a_timeout_can_be_written() {
    // JSON has no infinity: it would be written as null, which is not a number.
    assert!(json!(LoadSpec::default())["timeout_s"].is_f64());
}

#[test]
fn a_load_recorded_before_rates_existed_is_read() {
    let load: LoadSpec = read(&json!({
        "shape": "users-open", "think_time_s": 1.0, "connections": 500, "threads": 1,
        "duration_s": null, "requests": 10_000, "warmup_s": 0.0, "timeout_s": 30.0
    }));
    let expected = LoadSpec {
        shape: LoadShape::UsersOpen {
            think_time: Seconds::from_secs(1),
        },
        connections: 500,
        requests: Some(10_000),
        timeout: Seconds::from_secs(30),
        ..LoadSpec::default()
    };
    assert_eq!(load, expected);
    assert_eq!((load.pipeline, load.max_connections), (1, None));
}

/// Removes fields from the object at `path` that old records do not have.
fn without(document: &mut Value, path: &str, fields: &[&str]) {
    let object = document.pointer_mut(path).unwrap().as_object_mut().unwrap();
    for field in fields {
        assert!(object.remove(*field).is_some(), "{path}/{field}");
    }
}

#[test]
fn a_trial_recorded_before_rates_existed_is_read() {
    let new = sample::measured("bun", 1);
    let mut old = json!(new);
    for load in ["/trial/load", "/result/load/load"] {
        let fields = [
            "max_connections",
            "pipeline",
            "multiplexed",
            "requests_per_connection",
            "deadline_s",
            "seed",
            "spin",
            "streams",
            "first_byte",
            "events",
        ];
        without(&mut old, load, &fields);
    }
    without(
        &mut old,
        "/result/load",
        &["first_byte_ns", "events", "streams"],
    );
    without(
        &mut old,
        "/result/load/open",
        &[
            "due",
            "sent",
            "rate_ratio",
            "completed",
            "due_s",
            "schedule_lag_histogram",
            "most_connections",
            "bound_hits",
            "set_up_waits",
        ],
    );
    without(
        &mut old,
        "/result/load/generator",
        &[
            "spin_s",
            "system_calls",
            "cycles",
            "instructions",
            "client_limited_by",
        ],
    );
    let read: TrialRecord = read(&old);
    assert_eq!(read.trial.load.pipeline, 1);
    assert!(!read.trial.load.multiplexed);
    let TrialResult::Measured(measured) = read.result else {
        panic!("it was measured");
    };
    let open = measured.load.open.unwrap();
    assert_eq!((open.due, open.queued), (0, 7));
    assert_eq!(measured.load.events, None);
    assert_eq!(measured.load.generator.cycles, None);
    let TrialResult::Measured(new) = new.result else {
        panic!("it was measured");
    };
    assert_eq!(measured.load.latency_ns, new.load.latency_ns);
}

#[test]
fn a_result_round_trips() {
    let result = sample::load_result();
    assert!(result.events.is_some() && result.streams.is_some());
    assert_eq!(read::<LoadResult>(&json!(result)), result);
    let trial = sample::measured("bun", 1);
    assert_eq!(read::<TrialRecord>(&json!(trial)), trial);
}

#[test]
fn requests_are_multiplexed_over_http2_if_there_are_several() {
    let multiplexed = |pipeline, protocol| {
        let load = LoadSpec {
            pipeline,
            ..LoadSpec::default()
        };
        load.over(protocol).multiplexed
    };
    for protocol in Protocol::ALL {
        assert!(!multiplexed(1, protocol), "{protocol:?}");
        assert_eq!(
            multiplexed(2, protocol),
            !protocol.is_http1(),
            "{protocol:?}"
        );
    }
}

#[test]
fn only_the_seed_and_what_the_protocol_decides_may_differ_between_equal_loads() {
    let load = whole(shapes().swap_remove(1));
    let reseeded = LoadSpec {
        seed: 7,
        ..load.clone()
    };
    assert!(load.same_load(&reseeded) && load != reseeded);
    let over_http1 = load.clone().over(Protocol::Http11);
    assert!(load.same_load(&over_http1) && load != over_http1);
    let document = json!(load);
    for field in document.as_object().unwrap().keys() {
        let changed = match field.as_str() {
            "seed" | "shape" | "multiplexed" => continue,
            "arrivals" => json!("even"),
            "stages" => json!([{"from_per_s": 1.0, "to_per_s": 1.0, "duration_s": null}]),
            "spin" | "first_byte" | "events" | "messages" | "flows" => json!(false),
            "by" => json!("time"),
            _ => json!(3),
        };
        let mut other = document.clone();
        other[field] = changed;
        assert!(!load.same_load(&read(&other)), "{field}");
    }
    for shape in shapes().into_iter().filter(|shape| *shape != load.shape) {
        assert!(!load.same_load(&whole(shape)));
    }
}
