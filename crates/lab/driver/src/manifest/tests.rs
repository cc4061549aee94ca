use std::time::Duration;

use prony_testkit::table::{refused, refused_changes};

use super::*;
use crate::{Arrivals, End, Load};

const SMALL: &str = r#"title = "small"
program = "small"
install = "make small"

[arguments]
closed = []
duration = ["-d", "{seconds}"]
after = ["{url}"]

[output]
format = "text"
responses = { pattern = '(\d+) responses' }
duration = { pattern = 'in (\S+)', unit = "written" }
"#;

fn parse(text: &str) -> Result<Manifest, FileError> {
    Manifest::parse(text, Path::new("drivers/small"))
}

fn words(manifest: &Manifest, load: &Load) -> Result<String, String> {
    let made = manifest.invocation(load, Path::new("/bin/prony"));
    made.map(|made| made.arguments.join(" "))
        .map_err(|error| error.to_string())
}

#[test]
fn faults_are_reported_with_their_line() {
    refused_changes(
        SMALL,
        parse,
        r#"
        title = "small" | titel = "small" | driver.toml:1: unknown field `titel`, expected one of
        title = "small" | title = "" | driver.toml:1: field `title`: it must not be empty
        {seconds} | {secnds} | driver.toml:7: field `duration`: there is no placeholder `{secnds}` here; did you mean `seconds`?
        {url} | {rate} | driver.toml:8: field `after`: there is no placeholder `{rate}` here
        (\\d+) responses | (\\d+ responses | driver.toml:12: field `pattern`: this is not a regular expression
        (\\d+) responses | \\d+ responses | driver.toml:12: field `pattern`: this pattern needs a group
        "text" | "json" | in the output format `json` a field has a `pointer`
        "text" | "xml" | driver.toml:11: field `format`: unknown name `xml`
        closed = [] | "" | `[arguments]` needs `closed` or `rate`
        closed = [] | rate = ["{rate}"] | `[output]` needs `rate_latency_from`
        duration = ["-d", "{seconds}"] | "" | `[arguments]` needs `duration` or `requests`
        responses = | wrong_status = | `[output]` must have exactly one of `ok`
        responses = | ok = { pattern = '(a)' }\nresponses = | `[output]` must have exactly one of `ok`
        "written" | "weeks" | driver.toml:13: field `unit`: unknown name `weeks`
    "#,
    );
}

/// `SMALL` with these protocols.
fn with_protocols(protocols: &str) -> Result<Manifest, FileError> {
    parse(&SMALL.replace("[output]", &format!("[protocols]\n{protocols}\n\n[output]")))
}

#[test]
fn faults_of_protocols_are_reported() {
    refused(
        with_protocols,
        r#"
        h3 = {} | driver.toml:11: unknown name `h3`, expected one of
        h2 = { args = [] } | driver.toml:11: unknown field `args`
        h2 = { arguments = ["{grpc_method}"] } | driver.toml:11: field `h2`: there is no placeholder `{grpc_method}` here
        h2 = { environment = { A = "{header}" } } | driver.toml:11: field `A`: there is no placeholder `{header}` here
    "#,
    );
}

/// Why there is no command for a load with this change.
fn why_not(manifest: &Manifest, load: &Load, change: fn(&mut Load)) -> String {
    let mut load = load.clone();
    change(&mut load);
    words(manifest, &load).unwrap_err()
}

#[test]
fn a_protocol_has_arguments_variables_and_an_end_of_its_own() {
    let manifest = with_protocols(
        "\"http/1.1\" = {}\n\
         h2 = { arguments = [\"-2\"], after = [\"{host}\", \"{origin}\"], environment = { A = \"{protocol}\" }, one_connection = true }",
    )
    .unwrap();
    let plain = Load::new("http://a/b");
    assert_eq!(words(&manifest, &plain).unwrap(), "-d 1 http://a/b");
    let mut h2 = Load::new("https://a:1/b?c");
    h2.protocol = Protocol::H2;
    assert_eq!(words(&manifest, &h2).unwrap(), "-2 -d 1 a:1 https://a:1");
    let made = manifest.invocation(&h2, Path::new("/bin/prony")).unwrap();
    assert_eq!(made.environment, [("A".to_owned(), "h2".to_owned())]);
    let why = |change| why_not(&manifest, &h2, change);
    let refused = [
        why(|load| load.connections = 2),
        why(|load| load.streams = 2),
        why(|load| load.protocol = Protocol::Https11),
    ];
    let expected = [
        "it opens only one connection for HTTP/2 over TLS",
        "it does not support several streams per connection",
        "it does not support HTTP/1.1 over TLS",
    ];
    assert_eq!(refused, expected);
}

/// A manifest without `[protocols]` is that of a tool that speaks HTTP/1.1 without TLS.
#[test]
fn without_protocols_a_tool_speaks_plain_http11() {
    let manifest = parse(SMALL).unwrap();
    for protocol in Protocol::ALL {
        let load = Load {
            protocol,
            ..Load::new("http://a/")
        };
        let speaks = words(&manifest, &load).is_ok();
        assert_eq!(speaks, protocol == Protocol::Http11, "{protocol:?}");
    }
}

#[test]
fn a_tool_cannot_generate_what_it_has_no_arguments_for() {
    let manifest = parse(SMALL).unwrap();
    let load = Load::new("http://a/");
    assert_eq!(words(&manifest, &load).unwrap(), "-d 1 http://a/");
    let why = |change| why_not(&manifest, &load, change);
    let refused = [
        why(|load| load.arrivals = Arrivals::Rate(5.0)),
        why(|load| load.pipeline = 2),
        why(|load| load.close = true),
        why(|load| load.headers = vec!["A: b".into()]),
        why(|load| load.method = Some("PUT".into())),
        why(|load| load.body = b"x".to_vec()),
        why(|load| load.end = End::Requests(5)),
    ];
    let what = [
        "a fixed rate",
        "pipelining",
        "a new connection for every request",
        "request headers",
        "methods other than GET",
        "a request body",
        "a fixed number of requests",
    ];
    assert_eq!(refused, what.map(|it| format!("it does not support {it}")));
    let half_seconds = why(|load| load.end = End::After(Duration::from_millis(1500)));
    assert_eq!(half_seconds, "it only takes durations in whole seconds");
}

#[test]
fn every_property_of_a_load_has_its_arguments() {
    let text = SMALL.replace(
        "closed = []",
        r#"
before = ["-t{threads}", "-c{connections}", "-T{timeout_s}"]
rate = ["-q{rate}", "-r{rate_per_connection}"]
keep = ["-k"]
close = ["--close"]
pipeline = ["-P{pipeline}"]
header = ["-H", "{header}"]
method = ["-X{method}"]
"#,
    );
    let text = text.replace("[output]", "[environment]\nHEADERS = \"{headers_json}\"\nDEPTH = \"{pipeline}\"\n\n[output]\nrate_latency_from = \"send\"");
    let manifest = parse(&text).unwrap();
    let load = Load {
        arrivals: Arrivals::Rate(100.0),
        connections: 8,
        threads: 2,
        headers: vec!["A: b".into(), "C: d:e".into()],
        method: Some("PUT".into()),
        ..Load::new("http://a/")
    };
    let expected = "-t2 -c8 -T10 -q100 -r12.5 -k -d 1 -XPUT -H A: b -H C: d:e http://a/";
    assert_eq!(words(&manifest, &load).unwrap(), expected);
    let made = manifest.invocation(&load, Path::new("/bin/prony")).unwrap();
    // A variable whose placeholder has no value is not set.
    let [name, value] = ["HEADERS", r#"{"A":"b","C":"d:e"}"#].map(str::to_owned);
    assert_eq!(made.environment, [(name, value)]);
    let churn = Load {
        close: true,
        pipeline: 4,
        headers: vec![],
        method: None,
        ..load
    };
    let expected = "-t2 -c8 -T10 -q100 -r12.5 --close -P4 -d 1 http://a/";
    assert_eq!(words(&manifest, &churn).unwrap(), expected);
}
