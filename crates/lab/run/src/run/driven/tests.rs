use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

use prony_driver::Manifest;
use prony_model::Protocol;
use prony_testkit::starts_with;
use prony_testkit::table::rows;

use super::*;
use crate::response::{DeclaredResponse, Status};
use crate::suite::SuiteLoad;
use crate::workload::{WorkloadKind, Workloads};

fn repository() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// A driver of this repository. Its program need not be installed.
fn tool(id: &str) -> Tool {
    tool_without(id, None)
}

/// The same without one of its arguments.
fn tool_without(id: &str, argument: Option<&str>) -> Tool {
    let file = repository().join("drivers").join(id).join("driver.toml");
    let text = std::fs::read_to_string(file).unwrap();
    let mut text = text.replace(&format!("program = \"{id}\""), "program = \"sh\"");
    if let Some(argument) = argument {
        let start = format!("{argument} = [");
        assert_eq!(text.matches(&format!("\n{start}")).count(), 1, "{text}");
        let kept = text.lines().filter(|line| !line.starts_with(&start));
        text = kept.collect::<Vec<_>>().join("\n");
    }
    let manifest = Manifest::parse(&text, Path::new("drivers")).unwrap();
    Tool::find(id, &manifest, Path::new("prony")).unwrap()
}

/// A workload of this repository.
fn shipped(id: &str) -> Workload {
    let workloads = Workloads::read(&repository().join("workloads")).unwrap();
    workloads.get(id).unwrap().clone()
}

fn why_not(id: &str, workload: &str, spec: &LoadSpec) -> Option<String> {
    cannot_drive(&tool(id), &shipped(workload), spec)
}

fn spec() -> LoadSpec {
    LoadSpec {
        duration_s: Some(2.0),
        timeout_s: 5.0,
        ..LoadSpec::default()
    }
}

#[test]
fn a_load_is_supported_with_all_its_properties_or_refused() {
    const CLOSED: &str = r#"shape = "closed", connections = 1, duration = "2s""#;
    const RATE: &str = r#"shape = "rate", rate = "100/s", connections = 64, duration = "2s""#;
    for [tool, workload, load, what] in rows(
        r#"
        wrk | hello | CLOSED | ""
        wrk | hello | shape = "closed", connections = 1, duration = "600ms" | only takes durations in whole seconds
        wrk | hello | RATE | does not support a fixed rate
        wrk | grpc-unary | CLOSED | does not support gRPC
        oha | hello | RATE | ""
        oha | hello | RATE, max_connections = 64 | ""
        oha | hello | RATE, max_connections = 1000 | does not support opening more connections when a rate needs them
        oha | hello | RATE, spin = true | does not support busy-waiting (`spin`)
        oha | hello | shape = "rate", stages = ["100/s:1s", "1/s..2/s:1s"], connections = 1 | does not support a changing rate
        oha | hello | shape = "users-open", users = 1, think_time = "1s", duration = "2s" | does not support users with a think time
        oha | sse | CLOSED, streams = 1 | does not support streams beside the load
        oha | hello | CLOSED, events = true | does not support counting events
        oha | hello | CLOSED, first_byte = true | does not support the time to the first byte
        "#,
    ) {
        let load = load.replace("CLOSED", CLOSED).replace("RATE", RATE);
        let text = format!("load = {{ {load}, warmup = \"0s\", timeout = \"5s\" }}");
        let loads: BTreeMap<String, SuiteLoad> = toml::from_str(&text).unwrap();
        let why = why_not(tool, workload, &loads["load"].spec(NonZeroUsize::MIN));
        let expected = (!what.is_empty()).then(|| format!("it {what}"));
        assert_eq!(why, expected, "{tool}: {load}");
    }
}

#[test]
fn a_tool_speaks_the_protocol_of_the_workload() {
    let over = |protocol| Workload {
        kind: WorkloadKind::Request {
            request: DeclaredRequest::Http(HttpRequest::new("GET", "/hello", protocol)),
            response: DeclaredResponse::new(Status::OK),
        },
        ..shipped("hello")
    };
    let (https, h2) = (over(Protocol::Https11), over(Protocol::H2));
    assert_eq!(cannot_drive(&tool("wrk"), &https, &spec()), None);
    assert_eq!(cannot_drive(&tool("oha"), &h2, &spec()), None);
    let why = cannot_drive(&tool("wrk"), &h2, &spec());
    assert_eq!(why.as_deref(), Some("it does not support HTTP/2 over TLS"));
    let in_flight = LoadSpec {
        pipeline: 8,
        ..spec()
    };
    let over_h2 = load(&h2, &in_flight, "h:1", None).unwrap();
    assert_eq!(over_h2.protocol, Protocol::H2);
    assert_eq!(over_h2.url, "https://h:1/hello");
    assert_eq!((over_h2.pipeline, over_h2.streams), (1, 8));
    let over_https = load(&https, &in_flight, "h:1", None).unwrap();
    assert_eq!((over_https.pipeline, over_https.streams), (8, 1));
}

#[test]
fn a_tool_sends_the_request_of_the_workload_or_refuses_it() {
    let own = |lines: &str| -> Workload {
        let text = format!(
            "[request]\nmethod = \"POST\"\npath = \"/\"\n{lines}\n[response]\nstatus = 200\n"
        );
        toml::from_str(&text).unwrap()
    };
    let body = "query = { q = \"a b\" }\nbody = { json = { a = 1 } }";
    assert_eq!(cannot_drive(&tool("wrk"), &own(body), &spec()), None);
    for [argument, lines, what] in rows(
        r#"
        header | body = { json = { a = 1 } } | request headers
        body | body = { json = { a = 1 } } | a request body
        header | cookies = { a = 1 } | request headers
        header | compressed = true | request headers
        header | query = { a = 1 } | ""
        "#,
    ) {
        let tool = tool_without("wrk", Some(argument));
        let expected = (!what.is_empty()).then(|| format!("it does not support {what}"));
        let why = cannot_drive(&tool, &own(lines), &spec());
        assert_eq!(why, expected, "{lines}");
    }
    for secret in [
        "basic_auth = { user = \"a\", password = \"b\" }",
        "headers = { x = { env = \"HOME\", secret = true } }",
        "body = { form = { x = { env = \"HOME\", secret = true } } }",
    ] {
        let why = cannot_drive(&tool("wrk"), &own(secret), &spec()).unwrap();
        starts_with(&why, "it does not support secrets");
    }

    let workload = own(body);
    let files = crate::files::Files::new(".", ".");
    let request =
        crate::request::PreparedRequest::new(workload.exchange().unwrap(), &files).unwrap();
    let http = request.http().unwrap();
    let sent = load(&workload, &spec(), "h:1", Some(http)).unwrap();
    assert_eq!(sent.url, "http://h:1/?q=a%20b");
    assert_eq!(sent.headers, ["content-type: application/json"]);
    assert_eq!(sent.method.as_deref(), Some("POST"));
    assert_eq!(*sent.body, *b"{\"a\":1}");
}

#[test]
fn an_unsupported_warm_up_is_reported() {
    let counted = LoadSpec {
        duration_s: None,
        requests: Some(10),
        ..spec()
    };
    let warmed = LoadSpec {
        warmup_s: 0.3,
        ..counted.clone()
    };
    assert_eq!(why_not("oha", "hello", &warmed), None);
    let tool = tool_without("oha", Some("duration"));
    assert_eq!(cannot_drive(&tool, &shipped("hello"), &counted), None);
    let why = cannot_drive(&tool, &shipped("hello"), &warmed);
    let expected = "it does not support a fixed duration, which the warm-up needs";
    assert_eq!(why.as_deref(), Some(expected));
}

#[test]
fn a_warm_up_lasts_whole_seconds() {
    let warmed = |warmup_s| LoadSpec { warmup_s, ..spec() };
    let load = Load::new("http://a/");
    assert_eq!(warmup(&warmed(0.0), &load), None);
    let end = warmup(&warmed(0.3), &load).unwrap().end;
    assert_eq!(end, End::After(Duration::from_secs(1)));
}

#[test]
fn a_tools_counts_become_outcomes() {
    let errors = [
        ("connect", 1),
        ("read", 3),
        ("timeout", 4),
        ("shed", 5),
        ("odd", 6),
    ];
    let reported = Reported {
        ok: 7,
        wrong_status: Some(2),
        unfinished: None,
        errors: errors.map(|(kind, count)| (kind.to_owned(), count)).into(),
        duration_s: 1.0,
        bytes_read: None,
        body_bytes: None,
        latency: Default::default(),
    };
    let mut expected = Outcomes::default();
    for (outcome, count) in [
        (Outcome::Ok, 7),
        (Outcome::WrongStatus, 2),
        (Outcome::Refused, 1),
        (Outcome::Reset, 9),
        (Outcome::TimedOut, 4),
        (Outcome::Shed, 5),
    ] {
        expected[outcome] = count;
    }
    assert_eq!(outcomes(&reported), expected);
    let wrong = first_wrong(&tool("wrk"), &reported).unwrap();
    assert_eq!(wrong.outcome, "wrong_status");
}
