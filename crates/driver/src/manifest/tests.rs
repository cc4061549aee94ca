use super::*;
use crate::{Arrivals, Load};

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

fn fault(old: &str, new: &str) -> String {
    assert!(SMALL.contains(old), "{old}");
    let text = SMALL.replacen(old, new, 1);
    let error = Manifest::parse(&text, Path::new("drivers/small")).unwrap_err();
    error.to_string()
}

fn words(manifest: &Manifest, load: &Load) -> Result<String, String> {
    let made = manifest.invocation(load, Path::new("/bin/prony"));
    made.map(|made| made.arguments.join(" "))
        .map_err(|error| error.to_string())
}

#[test]
fn faults_are_reported_with_their_line() {
    let cases = [
        (
            "title = \"small\"",
            "titel = \"small\"",
            "driver.toml:1: unknown field `titel`, expected one of",
        ),
        (
            "title = \"small\"",
            "title = \"\"",
            "driver.toml:1: field `title`: it must not be empty",
        ),
        (
            "{seconds}",
            "{secnds}",
            "driver.toml:7: field `duration`: there is no placeholder `{secnds}` here; did you mean `seconds`?",
        ),
        (
            "{url}",
            "{rate}",
            "driver.toml:8: field `after`: there is no placeholder `{rate}` here",
        ),
        (
            r"(\d+) responses",
            r"(\d+ responses",
            "driver.toml:12: field `pattern`: this is not a regular expression",
        ),
        (
            r"(\d+) responses",
            r"\d+ responses",
            "driver.toml:12: field `pattern`: this pattern needs a group",
        ),
        (
            "\"text\"",
            "\"json\"",
            "in the output format `json` a field has a `pointer`",
        ),
        (
            "\"text\"",
            "\"xml\"",
            "driver.toml:11: field `format`: unknown name `xml`",
        ),
        ("closed = []", "", "`[arguments]` needs `closed` or `rate`"),
        (
            "closed = []",
            "rate = [\"{rate}\"]",
            "`[output]` needs `rate_latency_from`",
        ),
        (
            "duration = [\"-d\", \"{seconds}\"]",
            "",
            "`[arguments]` needs `duration` or `requests`",
        ),
        (
            "responses = ",
            "wrong_status = ",
            "`[output]` must have exactly one of `ok`",
        ),
        (
            "responses = ",
            "ok = { pattern = '(a)' }\nresponses = ",
            "`[output]` must have exactly one of `ok`",
        ),
        (
            "\"written\"",
            "\"weeks\"",
            "driver.toml:13: field `unit`: unknown name `weeks`",
        ),
    ];
    for (old, new, expected) in cases {
        let message = fault(old, new);
        assert!(
            message.contains(expected),
            "{message}\ninstead of\n{expected}"
        );
    }
}

/// `SMALL` with these protocols.
fn with_protocols(protocols: &str) -> String {
    SMALL.replace("[output]", &format!("[protocols]\n{protocols}\n\n[output]"))
}

#[test]
fn faults_of_protocols_are_reported() {
    let cases = [
        (
            "h3 = {}",
            "driver.toml:11: unknown name `h3`, expected one of",
        ),
        ("h2 = { args = [] }", "driver.toml:11: unknown field `args`"),
        (
            "h2 = { arguments = [\"{grpc_method}\"] }",
            "driver.toml:11: field `h2`: there is no placeholder `{grpc_method}` here",
        ),
        (
            "h2 = { environment = { A = \"{header}\" } }",
            "driver.toml:11: field `A`: there is no placeholder `{header}` here",
        ),
    ];
    for (protocols, expected) in cases {
        let text = with_protocols(protocols);
        let error = Manifest::parse(&text, Path::new("drivers/small")).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains(expected),
            "{message}\ninstead of\n{expected}"
        );
    }
}

#[test]
fn a_protocol_has_arguments_variables_and_an_end_of_its_own() {
    let text = with_protocols(
        "\"http/1.1\" = {}\n\
         h2 = { arguments = [\"-2\"], after = [\"{host}\", \"{origin}\"], environment = { A = \"{protocol}\" }, one_connection = true }",
    );
    let manifest = Manifest::parse(&text, Path::new("drivers/small")).unwrap();
    let plain = Load::new("http://a/b");
    assert_eq!(words(&manifest, &plain).unwrap(), "-d 1 http://a/b");
    let over = |protocol| Load {
        protocol,
        ..Load::new("https://a:1/b?c")
    };
    let h2 = over(Protocol::H2);
    assert_eq!(words(&manifest, &h2).unwrap(), "-2 -d 1 a:1 https://a:1");
    let made = manifest.invocation(&h2, Path::new("/bin/prony")).unwrap();
    assert_eq!(made.environment, [("A".to_owned(), "h2".to_owned())]);
    let refused = [
        (
            Load {
                connections: 2,
                ..h2.clone()
            },
            "it opens only one connection for HTTP/2 over TLS",
        ),
        (
            Load { streams: 2, ..h2 },
            "it does not support several streams per connection",
        ),
        (
            over(Protocol::Https11),
            "it does not support HTTP/1.1 over TLS",
        ),
    ];
    for (load, why) in refused {
        assert_eq!(words(&manifest, &load).unwrap_err(), why);
    }
}

/// A manifest without `[protocols]` is that of a tool that speaks HTTP/1.1 without TLS.
#[test]
fn without_protocols_a_tool_speaks_plain_http11() {
    let manifest = Manifest::parse(SMALL, Path::new("drivers/small")).unwrap();
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
    let manifest = Manifest::parse(SMALL, Path::new("drivers/small")).unwrap();
    let load = Load::new("http://a/");
    assert_eq!(words(&manifest, &load).unwrap(), "-d 1 http://a/");
    let refused = [
        (
            Load {
                arrivals: Arrivals::Rate(5.0),
                ..load.clone()
            },
            "it does not support a fixed rate",
        ),
        (
            Load {
                pipeline: 2,
                ..load.clone()
            },
            "it does not support pipelining",
        ),
        (
            Load {
                close: true,
                ..load.clone()
            },
            "it does not support a new connection for every request",
        ),
        (
            Load {
                headers: vec!["A: b".into()],
                ..load.clone()
            },
            "it does not support request headers",
        ),
        (
            Load {
                method: Some("PUT".into()),
                ..load.clone()
            },
            "it does not support methods other than GET",
        ),
        (
            Load {
                body: b"x".to_vec(),
                ..load.clone()
            },
            "it does not support a request body",
        ),
        (
            Load {
                end: crate::End::Requests(5),
                ..load.clone()
            },
            "it does not support a fixed number of requests",
        ),
        (
            Load {
                end: crate::End::After(std::time::Duration::from_millis(1500)),
                ..load
            },
            "it only takes durations in whole seconds",
        ),
    ];
    for (load, why) in refused {
        assert_eq!(words(&manifest, &load).unwrap_err(), why);
    }
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
    let manifest = Manifest::parse(&text, Path::new("drivers/small")).unwrap();
    let load = Load {
        arrivals: Arrivals::Rate(100.0),
        connections: 8,
        threads: 2,
        headers: vec!["A: b".into(), "C: d:e".into()],
        method: Some("PUT".into()),
        ..Load::new("http://a/")
    };
    assert_eq!(
        words(&manifest, &load).unwrap(),
        "-t2 -c8 -T10 -q100 -r12.5 -k -d 1 -XPUT -H A: b -H C: d:e http://a/"
    );
    let made = manifest.invocation(&load, Path::new("/bin/prony")).unwrap();
    // A variable whose placeholder has no value is not set.
    assert_eq!(
        made.environment,
        [("HEADERS".to_owned(), r#"{"A":"b","C":"d:e"}"#.to_owned())]
    );
    let churn = Load {
        close: true,
        pipeline: 4,
        headers: vec![],
        method: None,
        ..load
    };
    assert_eq!(
        words(&manifest, &churn).unwrap(),
        "-t2 -c8 -T10 -q100 -r12.5 --close -P4 -d 1 http://a/"
    );
}
