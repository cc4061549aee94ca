//! The command lines of the drivers of this repository, over every protocol.

use std::collections::BTreeMap;
use std::path::Path;

use prony_driver::{Arrivals, Call, Catalogue, Load, Manifest};
use prony_model::Protocol;
use prony_testkit::golden;
use prony_testkit::table::rows;

pub(crate) fn drivers() -> Catalogue {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../drivers");
    Catalogue::read(&folder).unwrap()
}

/// 4 connections, 8 streams each over HTTP/2.
pub(crate) fn load(protocol: Protocol) -> Load {
    let scheme = if protocol.is_tls() { "https" } else { "http" };
    let path = if protocol.is_grpc() {
        "a.B/C"
    } else {
        "path?a=b"
    };
    let call = Call {
        method: "a.B/C".to_owned(),
        proto: "/protos/a.proto".into(),
        json: r#"{"x":"r"}"#.to_owned(),
        message: b"\n\x01r".to_vec(),
    };
    Load {
        protocol,
        call: protocol.is_grpc().then_some(call),
        connections: 4,
        streams: if protocol.is_http1() { 1 } else { 8 },
        ..Load::new(format!("{scheme}://h:1/{path}"))
    }
}

/// The command, with `FILE` instead of the file of the message, or why there is none.
fn command(manifest: &Manifest, load: &Load) -> String {
    match manifest.invocation(load, Path::new("prony")) {
        Ok(made) => {
            let words = made.arguments.iter().map(String::as_str);
            let temporary = std::env::temp_dir().display().to_string();
            let words = words.map(|word| match word.rsplit_once("/../../") {
                Some((_, path)) => path,
                None if word.starts_with(&*temporary) => "FILE",
                None => word,
            });
            words.collect::<Vec<_>>().join(" ")
        }
        Err(why) => format!("({why})"),
    }
}

#[test]
fn commands_are_the_golden_ones() {
    let drivers = drivers();
    let mut all = String::new();
    for protocol in Protocol::ALL {
        all += &format!("== {}\n", protocol.name());
        for id in drivers.ids() {
            let manifest = drivers.get(id).unwrap();
            all += &format!("{id}: {}\n", command(manifest, &load(protocol)));
        }
        all.push('\n');
    }
    golden!("commands", all);
}

#[test]
fn k6_takes_its_load_from_variables() {
    let drivers = drivers();
    let variables = |protocol| {
        let k6 = drivers.get("k6").unwrap();
        let made = k6.invocation(&load(protocol), Path::new("prony"));
        BTreeMap::from_iter(made.unwrap().environment)
    };
    let grpc = variables(Protocol::GrpcTls);
    for [name, value] in rows(
        r#"
        PRONY_PROTOCOL | grpc-tls
        PRONY_HOST | h:1
        PRONY_STREAMS | 8
        PRONY_GRPC_METHOD | a.B/C
        PRONY_PROTO_FILE | /protos/a.proto
        PRONY_MESSAGE | {"x":"r"}
    "#,
    ) {
        assert_eq!(grpc[name], value, "{name}");
    }
    assert_eq!(grpc.get("GODEBUG"), None);
    // Go then does not offer HTTP/2.
    assert_eq!(variables(Protocol::Https11)["GODEBUG"], "http2client=0");
}

#[test]
fn a_grpc_message_is_sent_behind_its_length() {
    let drivers = drivers();
    let h2load = drivers.get("h2load").unwrap();
    let made = h2load
        .invocation(&load(Protocol::Grpc), Path::new("prony"))
        .unwrap();
    let data = made.arguments.iter().position(|word| word == "-d").unwrap();
    let sent = std::fs::read(&made.arguments[data + 1]).unwrap();
    assert_eq!(sent, b"\0\0\0\0\x03\n\x01r");
}

#[test]
fn a_rate_is_divided_among_connections_or_streams() {
    let drivers = drivers();
    let at = |rate, id, protocol, connections| {
        let mut load = load(protocol);
        (load.arrivals, load.connections) = (Arrivals::Rate(rate), connections);
        command(drivers.get(id).unwrap(), &load)
    };
    assert!(at(96.0, "h2load", Protocol::H2, 4).contains(" --rps 24 "));
    let hey = at(96.0, "hey", Protocol::H2, 1);
    assert!(hey.contains(" -c 8 ") && hey.contains(" -q 12 "), "{hey}");
    assert!(at(96.0, "ghz", Protocol::Grpc, 4).contains(" --rps=96 "));
    let whole = "(it only takes a whole number of requests per second)";
    assert_eq!(at(0.5, "ghz", Protocol::Grpc, 4), whole);
}

#[test]
fn what_no_tool_can_do_is_refused() {
    let drivers = drivers();
    let refused = |protocol, change: fn(&mut Load)| {
        let mut load = load(protocol);
        change(&mut load);
        command(drivers.get("prony").unwrap(), &load)
    };
    let refused = [
        refused(Protocol::Http11, |load| load.streams = 2),
        refused(Protocol::H2, |load| load.pipeline = 2),
        refused(Protocol::H2c, |load| load.close = true),
        refused(Protocol::Grpc, |load| load.call = None),
        refused(Protocol::Grpc, |load| load.body = b"x".to_vec()),
    ];
    let what = [
        "streams over HTTP/1.1",
        "pipelining over HTTP/2",
        "a new connection for every request over HTTP/2",
        "gRPC without a method and its message",
        "a method of HTTP or a body over gRPC",
    ];
    let why = what.map(|it| format!("(it does not support {it})"));
    assert_eq!(refused, why);
}
