//! The command lines of the drivers of this repository, over every protocol.

use std::path::Path;

use prony_driver::{Arrivals, Call, Catalogue, Load, Manifest};
use prony_model::Protocol;
use prony_testkit::golden;

fn drivers() -> Catalogue {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drivers");
    Catalogue::read(&folder).unwrap()
}

/// 4 connections, 8 streams each over HTTP/2.
fn load(protocol: Protocol) -> Load {
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

/// What a tool's variables are for a load.
fn variable(id: &str, load: &Load, name: &str) -> Option<String> {
    let drivers = drivers();
    let made = drivers
        .get(id)
        .unwrap()
        .invocation(load, Path::new("prony"));
    let mut variables = made.unwrap().environment.into_iter();
    Some(variables.find(|(one, _)| one == name)?.1)
}

#[test]
fn k6_takes_its_load_from_variables() {
    let grpc = load(Protocol::GrpcTls);
    let of = |name| variable("k6", &grpc, name);
    assert_eq!(of("PRONY_PROTOCOL").as_deref(), Some("grpc-tls"));
    assert_eq!(of("PRONY_HOST").as_deref(), Some("h:1"));
    assert_eq!(of("PRONY_STREAMS").as_deref(), Some("8"));
    assert_eq!(of("PRONY_GRPC_METHOD").as_deref(), Some("a.B/C"));
    assert_eq!(of("PRONY_PROTO_FILE").as_deref(), Some("/protos/a.proto"));
    assert_eq!(of("PRONY_MESSAGE").as_deref(), Some(r#"{"x":"r"}"#));
    assert_eq!(of("GODEBUG"), None);
    // Go then does not offer HTTP/2.
    let https = variable("k6", &load(Protocol::Https11), "GODEBUG");
    assert_eq!(https.as_deref(), Some("http2client=0"));
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
    let at = |rate| Load {
        arrivals: Arrivals::Rate(rate),
        ..load(Protocol::H2)
    };
    let drivers = drivers();
    let command = |id, load| command(drivers.get(id).unwrap(), &load);
    assert!(command("h2load", at(96.0)).contains(" --rps 24 "));
    let one = Load {
        connections: 1,
        ..at(96.0)
    };
    assert!(command("hey", one).contains(" -c 8 "));
    let one = Load {
        connections: 1,
        ..at(96.0)
    };
    assert!(command("hey", one).contains(" -q 12 "));
    let grpc = |rate| Load {
        arrivals: Arrivals::Rate(rate),
        ..load(Protocol::Grpc)
    };
    assert!(command("ghz", grpc(96.0)).contains(" --rps=96 "));
    assert_eq!(
        command("ghz", grpc(0.5)),
        "(it only takes a whole number of requests per second)"
    );
}

#[test]
fn what_no_tool_can_do_is_refused() {
    let drivers = drivers();
    let prony = drivers.get("prony").unwrap();
    let refused = [
        (
            Load {
                streams: 2,
                ..load(Protocol::Http11)
            },
            "(it does not support streams over HTTP/1.1)",
        ),
        (
            Load {
                pipeline: 2,
                ..load(Protocol::H2)
            },
            "(it does not support pipelining over HTTP/2)",
        ),
        (
            Load {
                close: true,
                ..load(Protocol::H2c)
            },
            "(it does not support a new connection for every request over HTTP/2)",
        ),
        (
            Load {
                call: None,
                ..load(Protocol::Grpc)
            },
            "(it does not support gRPC without a method and its message)",
        ),
        (
            Load {
                body: b"x".to_vec(),
                ..load(Protocol::Grpc)
            },
            "(it does not support a method of HTTP or a body over gRPC)",
        ),
    ];
    for (load, why) in refused {
        assert_eq!(command(prony, &load), why);
    }
}
