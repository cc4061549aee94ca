//! Expected responses.

use std::fs;

use crate::common::repository;
use crate::load::{Ceiling, Folder, Holds, Shows, loaded, loads, outcome};
use prony_testkit::table::rows;

#[test]
fn expected_responses_are_ok() {
    let ceiling = Ceiling::start();
    loads(
        &ceiling.url("hello"),
        r"
        -n50 -c2 --expect-status 200 | Requests/sec: | outcomes.ok=50
        -n50 -c2 --expect-length 17 | Requests/sec: | outcomes.ok=50
        -n50 -c2 --expect-body 'hello from prony\n' --check-every 1 | Requests/sec: | outcomes.ok=50
    ",
    );
    let missing = "-n50 --expect-status 404 | Requests/sec: | outcomes.ok=50";
    loads(&ceiling.url("missing"), missing);
}

#[test]
fn wrong_responses_are_reported_with_their_first_difference() {
    let ceiling = Ceiling::start();
    let folder = Folder::with(&[("right.txt", "hello from PRONY\n")]);
    for [flags, kind, shown] in rows(
        r"
        --expect-status 204 | wrong_status | First error (wrong status): expected status 204, got 200
        --expect-length 18 | wrong_body | First error (wrong body): expected a body of 18 bytes, got 17
        --expect-body @right.txt --check-every 1 | wrong_body | at byte 11: `PRONY\\n`, got 17 bytes, at byte 11: `prony\\n`
        // Short bodies are all compared.
        --expect-body 'HELLO FROM PRONY\n' | wrong_body | 20 wrong body
    ",
    ) {
        let ended = folder.load(format!("{flags} -n20 -c2 {}", ceiling.url("hello")));
        ended.with(1).shows(shown);
        folder.holds(&format!("outcomes.{kind}=20 rate_per_s=0.0"));
    }
    let missing = folder
        .load(format!("-n10 -c1 {}", ceiling.url("missing")))
        .with(1);
    missing.prints("wrong status").prints("404: 10");
}

#[test]
fn bodies_are_compared_in_samples() {
    let ceiling = Ceiling::start();
    // As long as the right body, but different: only compared responses are found wrong.
    loads(
        &ceiling.url("hello"),
        r"--expect-body 'HELLO FROM PRONY\n' --check-every 10 -n100 -c1 -t1 | 10 wrong body | outcomes.wrong_body=10 outcomes.ok=90",
    );
    let page = fs::read(repository().join("workloads/assets/page-100k.html"));
    let (folder, mut page) = (Folder::new(), page.unwrap());
    *page.last_mut().unwrap() = b'!';
    folder.write("page.html", page);
    let url = ceiling.url("");
    let ended = folder.load(format!("--expect-body @page.html -n300 -c1 -t1 {url}"));
    let checked = &folder.result()["checked"];
    let compared = checked["compared"].as_u64().unwrap();
    assert_eq!(checked["wrong"], compared, "every response is wrong");
    let compared = prony_model::exact(compared);
    ended.prints(&format!(
        "Sampled: about 100.0 % of responses were wrong ({compared} of {compared} compared)"
    ));
}

#[test]
fn the_first_byte_is_measured_on_request() {
    let ceiling = Ceiling::start();
    let page = ceiling.url("");
    let (ended, result) = loaded(format!("--first-byte -n50 -c2 {page}"));
    ended.prints("  First byte: p50 ");
    let [first, whole] =
        ["first_byte_ns", "latency_ns"].map(|it| result[it]["max"].as_u64().unwrap());
    assert!(first <= whole, "{first} {whole}");
    let (ended, result) = loaded(format!("-n50 -c2 {page}"));
    ended.lacks("First byte");
    result.holds("first_byte_ns=null");
    let least = 50
        * fs::metadata(repository().join("workloads/assets/page-100k.html"))
            .unwrap()
            .len();
    assert_eq!(outcome(&result, "ok"), 50);
    assert!(result["bytes_read"].as_u64() > Some(least), "{result}");
}
