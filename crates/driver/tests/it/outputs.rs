//! The drivers of this repository parse captured outputs of the tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prony_driver::{Arrivals, Call, Catalogue, Latency, Load, Reported};
use prony_model::Protocol;

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
    assert_eq!((good.ok, good.failures()), (14_642, 0));
    assert!((good.duration_s - 1.000506324).abs() < 1e-9);
    assert_eq!(
        micros(&good.latency),
        [
            Some(241),
            Some(197),
            Some(457),
            Some(1197),
            Some(3520),
            Some(6504)
        ]
    );
    let wrong = told("k6-wrong-status.json");
    assert_eq!((wrong.ok, errors(&wrong)), (0, [("failed", 13_391)].into()));
    let failed = told("k6-grpc-failed.json");
    assert_eq!(
        (failed.ok, errors(&failed)),
        (0, [("failed", 12_406)].into())
    );
    assert_eq!(failed.latency, Latency::default());
    let refused = told("k6-grpc-refused.json");
    assert_eq!(
        (refused.ok, errors(&refused)),
        (0, [("failed", 7_131)].into())
    );
}

/// Every tool over every protocol that it can do: ok responses, failures, and the mean and median in microseconds.
#[test]
fn output_over_tls_http2_and_grpc_is_read() {
    let cases = [
        ("wrk-https.txt", 37_555, 0, Some(10_400), Some(146)),
        ("ab-https.txt", 34_181, 0, Some(234), Some(0)),
        ("h2load-https.txt", 41_634, 0, Some(190), None),
        ("h2load-h2c.txt", 79_331, 0, Some(376), None),
        ("h2load-h2.txt", 58_170, 0, Some(514), None),
        ("h2load-grpc.txt", 54_039, 0, Some(571), None),
        ("h2load-grpc-tls.txt", 1_000, 0, Some(567), None),
        ("hey-https.txt", 25_215, 0, Some(300), Some(200)),
        ("hey-h2.txt", 28_354, 0, Some(300), Some(200)),
        ("oha-https.json", 36_551, 0, Some(218), Some(135)),
        ("oha-h2c.json", 64_591, 0, Some(495), Some(449)),
        ("oha-h2.json", 58_673, 0, Some(520), Some(508)),
        ("k6-https.json", 11_382, 0, Some(316), Some(224)),
        ("k6-h2.json", 13_739, 0, Some(2_275), Some(1_902)),
        ("k6-grpc.json", 12_826, 0, Some(2_422), Some(1_635)),
        ("k6-grpc-tls.json", 12_903, 0, Some(2_411), Some(1_830)),
        ("ghz.json", 100, 0, Some(2_543), Some(1_520)),
        ("ghz-tls.json", 100, 0, Some(3_250), Some(2_779)),
        ("prony-h2.json", 32_640, 0, Some(948), Some(863)),
    ];
    let read = cases.map(|(file, ..)| {
        let told = told(file);
        let [mean, p50, ..] = micros(&told.latency);
        (file, told.ok, told.failures(), mean, p50)
    });
    assert_eq!(read, cases);
}

#[test]
fn a_server_without_http2_gives_errors() {
    let refused = told("h2load-no-h2.txt");
    assert_eq!(
        (refused.ok, errors(&refused)),
        (0, [("errored", 40)].into())
    );
    let refused = told("oha-no-h2.json");
    assert_eq!(
        (refused.ok, errors(&refused)),
        (0, [("failed", 9504)].into())
    );
}

#[test]
fn ghz() {
    let good = told("ghz.json");
    assert!((good.duration_s - 0.010_366_797).abs() < 1e-9);
    assert_eq!(
        micros(&good.latency),
        [
            Some(2543),
            Some(1520),
            Some(5558),
            Some(5890),
            None,
            Some(5977)
        ]
    );
    let late = told("ghz-timeouts.json");
    assert_eq!((late.ok, errors(&late)), (23, [("timeout", 77)].into()));
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

/// Prony and ghz count by `grpc-status`.
#[test]
fn failed_calls_are_wrong_statuses() {
    let failed = told("prony-grpc-failed.json");
    assert_eq!((failed.ok, failed.wrong_status), (0, Some(65_324)));
    let failed = told("ghz-failed.json");
    assert_eq!((failed.ok, failed.wrong_status), (0, Some(40)));
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

/// A call over gRPC.
fn grpc() -> Load {
    Load {
        protocol: Protocol::Grpc,
        call: Some(Call {
            method: "a.B/C".into(),
            proto: "a.proto".into(),
            json: "{}".into(),
            message: Vec::new(),
        }),
        ..Load::new("http://127.0.0.1:1/a.B/C")
    }
}

#[test]
fn every_driver_has_a_closed_loop_and_says_where_latency_at_a_rate_begins() {
    let drivers = drivers();
    let ids: Vec<&str> = drivers.ids().collect();
    assert_eq!(
        ids,
        ["ab", "ghz", "h2load", "hey", "k6", "oha", "prony", "wrk"]
    );
    for id in ids {
        let manifest = drivers.get(id).unwrap();
        let load = match id {
            "ghz" => grpc(),
            _ => Load::new("http://127.0.0.1:1/"),
        };
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
