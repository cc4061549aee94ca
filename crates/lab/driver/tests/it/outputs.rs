//! The drivers of this repository parse captured outputs of the tools.

use std::path::{Path, PathBuf};

use prony_driver::{Arrivals, Reported};
use prony_model::Protocol;
use prony_model::ReportedLatency;
use prony_testkit::contains;
use prony_testkit::table::rows;

use crate::commands::{drivers, load};

fn outputs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs")
}

/// Parses `outputs/<file>` with the driver named at the start of its name.
fn reported(file: &str) -> Reported {
    let id = file.split(['.', '-']).next().unwrap();
    let text = std::fs::read_to_string(outputs().join(file)).unwrap();
    drivers().get(id).unwrap().output().read(&text).unwrap()
}

/// What a tool reported besides latency; errors that did not occur are left out.
fn figures(reported: &Reported) -> String {
    let errors: u64 = reported.errors.values().sum();
    let failures = reported.wrong_status.unwrap_or(0) + errors;
    let mut text = format!("{} ok, {} failures", reported.ok, failures);
    for (count, what) in [
        (reported.wrong_status, "of another status"),
        (reported.unfinished, "unfinished"),
        (reported.bytes_read, "B read"),
        (reported.body_bytes, "B of bodies"),
    ] {
        text += &count.map_or(String::new(), |count| format!(", {count} {what}"));
    }
    for (kind, count) in reported.errors.iter().filter(|(_, count)| **count > 0) {
        text += &format!(", {count} {kind}");
    }
    text + &format!(", {:.6} s", reported.duration_s)
}

/// Mean, p50, p90, p99, p99.9 and the longest, in whole microseconds.
fn micros(latency: &ReportedLatency) -> String {
    let all = [
        latency.mean_ns,
        latency.p50_ns,
        latency.p90_ns,
        latency.p99_ns,
        latency.p999_ns,
        latency.max_ns,
    ];
    let text = all.map(|one| one.map_or("-".to_owned(), |ns| format!("{:.0}", ns / 1000.0)));
    text.join(" ")
}

/// Every tool over every protocol that it can do, and what it reports if requests fail.
#[test]
fn captured_outputs_are_read() {
    let cases = rows(
        r#"
        ab-https.txt | 34181 ok, 0 failures, 0 of another status, 8784517 B read, 1.000000 s | 234 0 0 4000 - 38000
        ab-wrong-status.txt | 0 ok, 40103 failures, 40103 of another status, 6215965 B read, 1.000000 s | - - - - - -
        ab.txt | 32811 ok, 0 failures, 0 of another status, 4691973 B read, 1.000000 s | 244 0 0 3000 - 6000
        ghz-failed.json | 0 ok, 40 failures, 40 of another status, 0.003480 s | - - - - - -
        ghz-timeouts.json | 23 ok, 77 failures, 0 of another status, 77 timeout, 0.003834 s | 856 730 1026 1041 - 1041
        ghz-tls.json | 100 ok, 0 failures, 0 of another status, 0.017625 s | 3250 2779 6399 6809 - 6875
        ghz.json | 100 ok, 0 failures, 0 of another status, 0.010367 s | 2543 1520 5558 5890 - 5977
        h2load-grpc-tls.txt | 1000 ok, 0 failures, 0 of another status, 43246 B read, 0.030140 s | 567 - - - - 7070
        h2load-grpc.txt | 54039 ok, 0 failures, 0 of another status, 2327587 B read, 1.000000 s | 571 - - - - 13970
        h2load-h2.txt | 58170 ok, 0 failures, 0 of another status, 8318506 B read, 1.000000 s | 514 - - - - 48650
        h2load-h2c.txt | 79331 ok, 0 failures, 0 of another status, 11344643 B read, 1.010000 s | 376 - - - - 14910
        h2load-https.txt | 41634 ok, 0 failures, 0 of another status, 10699938 B read, 1.000000 s | 190 - - - - 22790
        h2load-no-h2.txt | 0 ok, 40 failures, 0 of another status, 0 B read, 40 errored, 0.009480 s | - - - - - -
        h2load-refused.txt | 0 ok, 5 failures, 0 of another status, 0 B read, 5 errored, 0.000256 s | - - - - - -
        h2load-wrong-status.txt | 0 ok, 1000 failures, 1000 of another status, 131000 B read, 0.030220 s | - - - - - -
        h2load.txt | 30658 ok, 0 failures, 0 of another status, 3648302 B read, 1.000000 s | 260 - - - - 5800
        hey-errors.txt | 0 ok, 23112 failures, 0 of another status, 23112 failed, 2.026900 s | - - - - - -
        hey-h2.txt | 28354 ok, 0 failures, 0 of another status, 567100 B of bodies, 1.003800 s | 300 200 400 900 - 15100
        hey-https.txt | 25215 ok, 0 failures, 0 of another status, 504280 B of bodies, 1.010500 s | 300 200 400 4300 - 15200
        hey-wrong-status.txt | 0 ok, 14070 failures, 14070 of another status, 309540 B of bodies, 1.004400 s | - - - - - -
        hey.txt | 16463 ok, 0 failures, 0 of another status, 279871 B of bodies, 1.024100 s | 500 400 800 1900 - 21000
        k6-grpc-failed.json | 0 ok, 12406 failures, 208960 B read, 12406 failed, 1.013123 s | - - - - - -
        k6-grpc-refused.json | 0 ok, 7131 failures, 0 B read, 7131 failed, 1.004401 s | - - - - - -
        k6-grpc-tls.json | 12903 ok, 0 failures, 651384 B read, 1.017740 s | 2411 1830 4766 8470 11032 12196
        k6-grpc.json | 12826 ok, 0 failures, 577908 B read, 1.000689 s | 2422 1635 5360 9288 13325 16735
        k6-h2.json | 13739 ok, 0 failures, 2371728 B read, 1.000803 s | 2275 1902 4477 7205 8939 9464
        k6-https.json | 11382 ok, 0 failures, 3258358 B read, 1.000512 s | 316 224 534 2658 7547 16736
        k6-wrong-status.json | 0 ok, 13391 failures, 4125044 B read, 13391 failed, 1.000369 s | - - - - - -
        k6.json | 14642 ok, 0 failures, 3763251 B read, 1.000506 s | 241 197 457 1197 3520 6504
        oha-errors.json | 0 ok, 51298 failures, 0 of another status, 3 unfinished, 0 B of bodies, 51298 failed, 2.021736 s | - - - - - -
        oha-h2.json | 58673 ok, 0 failures, 0 of another status, 32 unfinished, 1173460 B of bodies, 1.002706 s | 520 508 681 1176 3112 8696
        oha-h2c.json | 64591 ok, 0 failures, 0 of another status, 32 unfinished, 1291820 B of bodies, 1.002905 s | 495 449 555 4428 8498 8668
        oha-https.json | 36551 ok, 0 failures, 0 of another status, 8 unfinished, 731020 B of bodies, 1.001248 s | 218 135 227 3904 5752 45411
        oha-no-h2.json | 0 ok, 9504 failures, 0 of another status, 0 unfinished, 0 B of bodies, 9504 failed, 1.002042 s | - - - - - -
        oha-wrong-status.json | 0 ok, 500 failures, 500 of another status, 0 unfinished, 11000 B of bodies, 0.018269 s | - - - - - -
        oha.json | 31737 ok, 0 failures, 0 of another status, 8 unfinished, 539529 B of bodies, 1.001473 s | 250 110 187 4582 13233 21271
        prony-grpc-failed.json | 0 ok, 65324 failures, 65324 of another status, 32 unfinished, 1097540 B read, 1.000151 s | - - - - - -
        prony-h2.json | 32640 ok, 0 failures, 0 of another status, 32 unfinished, 5617370 B read, 1.000132 s | 948 863 962 2775 10953 30147
        prony.json | 22048 ok, 0 failures, 0 of another status, 8 unfinished, 2623712 B read, 1.000012 s | 363 145 291 7385 17613 18989
        wrk-errors.txt | 72 ok, 16 failures, 0 of another status, 2877 B read, 8 read, 8 timeout, 2.000000 s | 783 33 910 13710 - 13710
        wrk-https.txt | 37555 ok, 0 failures, 0 of another status, 9646899 B read, 1.260000 s | 10400 146 18560 165700 - 183620
        wrk-wrong-status.txt | 0 ok, 38913 failures, 38913 of another status, 5096079 B read, 1.100000 s | - - - - - -
        wrk.txt | 35588 ok, 0 failures, 0 of another status, 4236247 B read, 1.000000 s | 590 155 2050 4960 - 12090
    "#,
    );
    let files = std::fs::read_dir(outputs()).unwrap();
    assert_eq!(files.count(), cases.len());
    for [file, expected, latency] in cases {
        let reported = reported(file);
        assert_eq!(figures(&reported), expected, "{file}");
        assert_eq!(micros(&reported.latency), latency, "{file}");
    }
}

#[test]
fn the_percentiles_of_ab_are_in_whole_milliseconds() {
    assert_eq!(reported("ab.txt").latency.resolution_ns, Some(1e6));
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
    assert_eq!(ids.join(" "), "ab ghz h2load hey k6 oha prony wrk");
    for id in ids {
        let manifest = drivers.get(id).unwrap();
        let mut load = load(match id {
            "ghz" => Protocol::Grpc,
            _ => Protocol::Http11,
        });
        manifest.invocation(&load, Path::new("prony")).unwrap();
        load.arrivals = Arrivals::Rate(10.0);
        let has_rate = manifest.invocation(&load, Path::new("prony")).is_ok();
        let begin = manifest.output().rate_latency_from();
        assert_eq!(has_rate, begin.is_some(), "{id}");
    }
    let error = drivers.get("wkr").unwrap_err().to_string();
    contains(&error, "there is no driver `wkr`; did you mean `wrk`?");
}
