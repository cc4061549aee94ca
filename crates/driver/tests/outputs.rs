//! The drivers of this repository parse captured outputs of the tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prony_driver::{Arrivals, Catalogue, Latency, Load, Reported};

fn drivers() -> Catalogue {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drivers");
    Catalogue::read(&folder).unwrap()
}

/// Parses `outputs/<file>` with the driver named at the start of its name.
fn told(file: &str) -> Reported {
    let id = file.split(['.', '-']).next().unwrap();
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/outputs")
        .join(file);
    let text = std::fs::read_to_string(path).unwrap();
    drivers().get(id).unwrap().output().read(&text).unwrap()
}

fn errors(told: &Reported) -> BTreeMap<&str, u64> {
    let there = told.errors.iter().filter(|(_, count)| **count > 0);
    there.map(|(kind, count)| (kind.as_str(), *count)).collect()
}

/// Mean, p50, p90, p99, p99.9 and the longest, in whole microseconds.
fn micros(latency: &Latency) -> [Option<u64>; 6] {
    let all = [
        latency.mean_ns,
        latency.p50_ns,
        latency.p90_ns,
        latency.p99_ns,
        latency.p999_ns,
        latency.max_ns,
    ];
    all.map(|one| one.map(|nanoseconds| (nanoseconds / 1000.0).round() as u64))
}

#[test]
fn wrk() {
    let good = told("wrk.txt");
    assert_eq!((good.ok, good.wrong_status), (35_588, Some(0)));
    assert_eq!((good.duration_s, good.failures()), (1.0, 0));
    assert_eq!(good.bytes_read, Some(4_236_247));
    assert_eq!(
        micros(&good.latency),
        [
            Some(590),
            Some(155),
            Some(2050),
            Some(4960),
            None,
            Some(12_090)
        ]
    );
    let wrong = told("wrk-wrong-status.txt");
    assert_eq!((wrong.ok, wrong.wrong_status), (0, Some(38_913)));
    assert_eq!(wrong.latency, Latency::default());
    let failed = told("wrk-errors.txt");
    assert_eq!((failed.ok, failed.failures()), (72, 16));
    assert_eq!(errors(&failed), [("read", 8), ("timeout", 8)].into());
}

#[test]
fn h2load() {
    let good = told("h2load.txt");
    assert_eq!(
        (good.ok, good.failures(), good.duration_s),
        (30_658, 0, 1.0)
    );
    assert_eq!(
        micros(&good.latency),
        [Some(260), None, None, None, None, Some(5800)]
    );
    assert!(good.bytes_read.is_some_and(|bytes| bytes > good.ok * 17));
    let wrong = told("h2load-wrong-status.txt");
    assert_eq!(
        (wrong.ok, wrong.wrong_status, wrong.failures()),
        (0, Some(1000), 1000)
    );
    let refused = told("h2load-refused.txt");
    assert_eq!((refused.ok, errors(&refused)), (0, [("errored", 5)].into()));
}

#[test]
fn ab() {
    let good = told("ab.txt");
    assert_eq!(
        (good.ok, good.failures(), good.duration_s),
        (32_811, 0, 1.0)
    );
    // Its percentiles are in whole milliseconds.
    assert_eq!(good.latency.resolution_ns, Some(1e6));
    let [mean, p50, _, p99, p999, max] = micros(&good.latency);
    assert_eq!(
        (p50, p99, p999, max),
        (Some(0), Some(3000), None, Some(6000))
    );
    assert_eq!(mean, Some(244));
    let wrong = told("ab-wrong-status.txt");
    assert_eq!((wrong.ok, wrong.wrong_status), (0, Some(40_103)));
}

#[test]
fn hey() {
    let good = told("hey.txt");
    assert_eq!((good.ok, good.failures()), (16_463, 0));
    assert_eq!(good.body_bytes, Some(16_463 * 17));
    let [mean, p50, _, p99, p999, _] = micros(&good.latency);
    assert_eq!(
        (mean, p50, p99, p999),
        (Some(500), Some(400), Some(1900), None)
    );
    let wrong = told("hey-wrong-status.txt");
    assert_eq!((wrong.ok, wrong.wrong_status), (0, Some(14_070)));
    let refused = told("hey-errors.txt");
    assert_eq!(
        (refused.ok, errors(&refused)),
        (0, [("failed", 23_112)].into())
    );
}

#[test]
fn oha() {
    let good = told("oha.json");
    assert_eq!(
        (good.ok, good.failures(), good.unfinished),
        (31_737, 0, Some(8))
    );
    assert_eq!(
        micros(&good.latency),
        [
            Some(250),
            Some(110),
            Some(187),
            Some(4582),
            Some(13_233),
            Some(21_271)
        ]
    );
    let wrong = told("oha-wrong-status.json");
    assert_eq!((wrong.ok, wrong.wrong_status), (0, Some(500)));
    let refused = told("oha-errors.json");
    assert_eq!((refused.ok, refused.unfinished), (0, Some(3)));
    assert_eq!(errors(&refused), [("failed", 51_298)].into());
}

#[test]
fn k6() {
    let good = told("k6.json");
    assert_eq!((good.ok, good.failures()), (9307, 0));
    assert!((good.duration_s - 1.003_516_85).abs() < 1e-9);
    assert_eq!(
        micros(&good.latency),
        [
            Some(396),
            Some(227),
            Some(632),
            Some(4488),
            Some(6088),
            Some(8093)
        ]
    );
    let wrong = told("k6-wrong-status.json");
    assert_eq!((wrong.ok, errors(&wrong)), (0, [("failed", 4883)].into()));
}

#[test]
fn prony() {
    let good = told("prony.json");
    assert_eq!(
        (good.ok, good.failures(), good.unfinished),
        (22_048, 0, Some(8))
    );
    assert_eq!(good.bytes_read, Some(2_623_712));
    assert_eq!(
        micros(&good.latency),
        [
            Some(363),
            Some(145),
            Some(291),
            Some(7385),
            Some(17_613),
            Some(18_989)
        ]
    );
}

#[test]
fn other_output_is_rejected() {
    let drivers = drivers();
    for id in drivers.ids() {
        let output = drivers.get(id).unwrap().output();
        for text in ["", "{}", "unable to connect", "[1, 2]"] {
            assert!(output.read(text).is_err(), "{id} read `{text}`");
        }
    }
}

#[test]
fn every_driver_has_a_closed_loop_and_says_where_latency_at_a_rate_begins() {
    let drivers = drivers();
    let ids: Vec<&str> = drivers.ids().collect();
    assert_eq!(ids, ["ab", "h2load", "hey", "k6", "oha", "prony", "wrk"]);
    for id in ids {
        let manifest = drivers.get(id).unwrap();
        let load = Load::new("http://127.0.0.1:1/");
        manifest.invocation(&load, Path::new("prony")).unwrap();
        let rate = Load {
            arrivals: Arrivals::Rate(10.0),
            ..load
        };
        let makes = manifest.invocation(&rate, Path::new("prony")).is_ok();
        assert_eq!(
            makes,
            manifest.output().rate_latency_from().is_some(),
            "{id}"
        );
    }
    let error = drivers.get("wkr").unwrap_err().to_string();
    assert!(
        error.starts_with("there is no driver `wkr`; did you mean `wrk`?"),
        "{error}"
    );
}
