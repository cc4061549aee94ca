use std::path::Path;

use prony_driver::Manifest;
use prony_model::{Protocol, Stage};

use super::*;
use crate::response::{DeclaredResponse, Status};
use crate::workload::WorkloadKind;
use crate::workload::Workloads;

fn repository() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
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

fn why_not(id: &str, workload: &str, spec: LoadSpec) -> Option<String> {
    why_not_with(&tool(id), workload, &spec)
}

fn why_not_with(tool: &Tool, workload: &str, spec: &LoadSpec) -> Option<String> {
    let workloads = Workloads::read(&repository().join("workloads")).unwrap();
    let workload = workloads.get(workload).unwrap();
    cannot_drive(tool, workload, spec)
}

fn spec() -> LoadSpec {
    LoadSpec {
        duration_s: Some(2.0),
        timeout_s: 5.0,
        ..LoadSpec::default()
    }
}

#[test]
fn unsupported_loads_are_reported() {
    assert_eq!(why_not("wrk", "hello", spec()), None);
    let even = LoadShape::Rate(Schedule::constant(RecordedArrivals::Even, 100.0));
    let at_a_rate = LoadSpec {
        shape: even,
        ..spec()
    };
    assert_eq!(why_not("oha", "hello", at_a_rate.clone()), None);
    let refused = |id, workload, spec| why_not(id, workload, spec).unwrap();
    assert_eq!(
        refused("wrk", "hello", at_a_rate),
        "it does not support a fixed rate"
    );
    assert_eq!(
        refused("wrk", "grpc-unary", spec()),
        "it does not support gRPC"
    );
    let users = LoadShape::UsersOpen { think_time_s: 1.0 };
    let users = LoadSpec {
        shape: users,
        ..spec()
    };
    assert_eq!(
        refused("oha", "hello", users),
        "it does not support users with a think time"
    );
    let mut ramp = Schedule::constant(RecordedArrivals::Even, 100.0);
    ramp.stages.push(Stage {
        from_per_s: 1.0,
        to_per_s: 2.0,
        duration_s: None,
    });
    let ramp = LoadSpec {
        shape: LoadShape::Rate(ramp),
        ..spec()
    };
    assert_eq!(
        refused("oha", "hello", ramp),
        "it does not support a changing rate"
    );
    let short = LoadSpec {
        duration_s: Some(0.6),
        ..spec()
    };
    assert_eq!(
        refused("wrk", "hello", short),
        "it only takes durations in whole seconds"
    );
    let streams = LoadSpec {
        streams: 1,
        ..spec()
    };
    assert!(refused("oha", "sse", streams).contains("streams beside the load"));
}

#[test]
fn a_tool_speaks_the_protocol_of_the_workload() {
    let workloads = Workloads::read(&repository().join("workloads")).unwrap();
    let over = |protocol| Workload {
        kind: WorkloadKind::Request {
            request: Request::Http(HttpRequest::new("GET", "/hello", protocol)),
            response: DeclaredResponse::new(Status::OK),
        },
        ..workloads.get("hello").unwrap().clone()
    };
    let (https, h2) = (over(Protocol::Https11), over(Protocol::H2));
    assert_eq!(cannot_drive(&tool("wrk"), &https, &spec()), None);
    assert_eq!(cannot_drive(&tool("oha"), &h2, &spec()), None);
    assert_eq!(
        cannot_drive(&tool("wrk"), &h2, &spec()).unwrap(),
        "it does not support HTTP/2 over TLS"
    );
    let in_flight = LoadSpec {
        pipeline: 8,
        ..spec()
    };
    let over_h2 = load(&h2, &in_flight, "h:1").unwrap();
    assert_eq!(
        (over_h2.protocol, &*over_h2.url),
        (Protocol::H2, "https://h:1/hello")
    );
    assert_eq!((over_h2.pipeline, over_h2.streams), (1, 8));
    let over_https = load(&https, &in_flight, "h:1").unwrap();
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
    let refused = |argument: &str, lines: &str| {
        let tool = tool_without("wrk", Some(argument));
        cannot_drive(&tool, &own(lines), &spec())
    };
    let body = "query = { q = \"a b\" }\nbody = { json = { a = 1 } }";
    assert_eq!(cannot_drive(&tool("wrk"), &own(body), &spec()), None);
    let why = |what: &str| Some(format!("it does not support {what}"));
    assert_eq!(refused("header", body), why("request headers"));
    assert_eq!(refused("body", body), why("a request body"));
    assert_eq!(
        refused("header", "cookies = { a = 1 }"),
        why("request headers")
    );
    assert_eq!(
        refused("header", "compressed = true"),
        why("request headers")
    );
    assert_eq!(refused("header", "query = { a = 1 }"), None);
    for secret in [
        "basic_auth = { user = \"a\", password = \"b\" }",
        "headers = { x = { env = \"HOME\", secret = true } }",
        "body = { form = { x = { env = \"HOME\", secret = true } } }",
    ] {
        let why = cannot_drive(&tool("wrk"), &own(secret), &spec()).unwrap();
        assert!(why.starts_with("it does not support secrets"), "{why}");
    }

    let workload = own(body);
    let files = crate::files::Files::new(".", ".");
    let request =
        crate::request::PreparedRequest::new(workload.exchange().unwrap(), &files).unwrap();
    let http = request.http().unwrap();
    let sent = with_request(load(&workload, &spec(), "h:1").unwrap(), http, "h:1");
    assert_eq!(sent.url, "http://h:1/?q=a%20b");
    assert_eq!(sent.headers, ["content-type: application/json"]);
    assert_eq!(
        (&*sent.body, sent.method),
        (&b"{\"a\":1}"[..], Some("POST".into()))
    );
}

#[test]
fn no_property_of_a_load_is_silently_ignored() {
    let rate = |most| LoadSpec {
        shape: LoadShape::Rate(Schedule::constant(RecordedArrivals::Even, 100.0)),
        connections: 64,
        max_connections: most,
        ..spec()
    };
    assert_eq!(why_not("oha", "hello", rate(None)), None);
    assert_eq!(why_not("oha", "hello", rate(Some(64))), None);
    let parts = [
        (
            rate(Some(1000)),
            "opening more connections when a rate needs them",
        ),
        (
            LoadSpec {
                spin: true,
                ..rate(None)
            },
            "busy-waiting (`spin`)",
        ),
        (
            LoadSpec {
                events: true,
                ..spec()
            },
            "counting events",
        ),
        (
            LoadSpec {
                first_byte: true,
                ..spec()
            },
            "the time to the first byte",
        ),
    ];
    for (spec, what) in parts {
        let why = why_not("oha", "hello", spec);
        assert_eq!(why, Some(format!("it does not support {what}")));
    }
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
    assert_eq!(why_not("oha", "hello", warmed.clone()), None);
    let tool = tool_without("oha", Some("duration"));
    assert_eq!(why_not_with(&tool, "hello", &counted), None);
    assert_eq!(
        why_not_with(&tool, "hello", &warmed).unwrap(),
        "it does not support a fixed duration, which the warm-up needs"
    );
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
    let reported = Reported {
        ok: 7,
        wrong_status: Some(2),
        unfinished: None,
        errors: [
            ("connect", 1),
            ("read", 3),
            ("timeout", 4),
            ("shed", 5),
            ("odd", 6),
        ]
        .map(|(kind, count)| (kind.to_owned(), count))
        .into(),
        duration_s: 1.0,
        bytes_read: None,
        body_bytes: None,
        latency: Default::default(),
    };
    let outcomes = outcomes(&reported);
    let expected = [
        (Outcome::Ok, 7),
        (Outcome::WrongStatus, 2),
        (Outcome::Refused, 1),
        (Outcome::Reset, 9),
        (Outcome::TimedOut, 4),
        (Outcome::Shed, 5),
        (Outcome::Unfinished, 0),
    ];
    for (outcome, count) in expected {
        assert_eq!(outcomes[outcome], count, "{outcome:?}");
    }
    assert_eq!(outcomes.total(), 28);
    assert_eq!(
        first_wrong(&tool("wrk"), &reported).unwrap().outcome,
        "wrong_status"
    );
}
