//! What the generators have to do.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use prony_driver::{Arrivals, Call, End, Load};
use prony_model::Protocol;
use prony_present::number::exact_rate;
use prony_present::words::plural;
use prony_reference::script::Freeze;

use crate::arguments;

/// How deep pipelined requests are.
const PIPELINE: usize = 16;
/// The most streams per connection; servers allow 100 to 1000.
const MOST_STREAMS: usize = 1000;
/// The connections of a case that does not say how many.
const CONNECTIONS: usize = 64;

/// The cases over HTTP/2, which have streams.
const HTTP2: [(&str, Protocol); 4] = [
    ("h2c", Protocol::H2c),
    ("h2", Protocol::H2),
    ("grpc", Protocol::Grpc),
    ("grpc-tls", Protocol::GrpcTls),
];

/// The gRPC call: its method, its message as JSON and as it is encoded.
const CALL: (&str, &str, &[u8]) = ("prony.echo.v1.Echo/Unary", r#"{"payload":"r"}"#, b"\n\x01r");

/// The reference server's workloads over HTTP, and their paths.
const PATHS: [(&str, &str); 6] = [
    ("hello", "/hello"),
    ("byte", "/byte"),
    ("page", "/"),
    ("sse", "/sse"),
    ("sse-20k", "/sse-20k"),
    ("quote", "/franklin-says"),
];

/// One comparison: a request and how it is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// As the command line names it.
    pub name: String,
    pub kind: CaseKind,
    pub protocol: Protocol,
    pub connections: usize,
    /// How many requests are in flight over one HTTP/2 connection.
    pub streams: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CaseKind {
    /// A workload in a closed loop.
    Closed { path: &'static str },
    /// A unary gRPC call in a closed loop.
    Call,
    /// `hello`, many requests in flight over each connection.
    Pipelined,
    /// `hello`, each request over a connection of its own.
    Close,
    /// Three requests in a closed loop: the second depends on the response to the first, and is compared by JSONPath.
    Flow,
    /// `hello` at a rate.
    Rate(f64),
    /// The same on a server that freezes. Tools without rates run a closed loop.
    Frozen(f64),
}

impl FromStr for Case {
    type Err = String;

    /// `hello:64`, `hello-tls:64`, `h2:16x32`, `pipelined:64`, `close:64`, `rate:20k:64`, `frozen:1k:64`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let (kind, protocol) = match name {
            "rate" => (CaseKind::Rate(rate(&mut parts, text)?), Protocol::Http11),
            "frozen" => (CaseKind::Frozen(rate(&mut parts, text)?), Protocol::Http11),
            "pipelined" => (CaseKind::Pipelined, Protocol::Http11),
            "close" => (CaseKind::Close, Protocol::Http11),
            "flow" => (CaseKind::Flow, Protocol::Http11),
            _ => closed(name).ok_or_else(|| unknown(name))?,
        };
        let (connections, streams) = match parts.next() {
            Some(numbers) => connections_and_streams(numbers, protocol)?,
            None => (CONNECTIONS, 1),
        };
        match parts.next() {
            None => Ok(Case {
                name: text.to_owned(),
                kind,
                protocol,
                connections,
                streams,
            }),
            Some(more) => Err(format!("`{text}`: `:{more}` is one part too many")),
        }
    }
}

fn rate<'a>(parts: &mut impl Iterator<Item = &'a str>, text: &str) -> Result<f64, String> {
    let rate = parts.next().ok_or_else(|| {
        format!("`{text}` needs a rate, in requests per second; write for instance rate:20k")
    })?;
    Ok(arguments::some_count(rate)?.get() as f64)
}

/// The closed loop of that name, and its protocol.
fn closed(name: &str) -> Option<(CaseKind, Protocol)> {
    if let Some((_, protocol)) = HTTP2.iter().find(|(known, _)| *known == name) {
        let kind = match protocol.is_grpc() {
            true => CaseKind::Call,
            false => CaseKind::Closed {
                path: path("hello")?,
            },
        };
        return Some((kind, *protocol));
    }
    let (workload, protocol) = match name.strip_suffix("-tls") {
        Some(workload) => (workload, Protocol::Https11),
        None => (name, Protocol::Http11),
    };
    let path = path(workload)?;
    Some((CaseKind::Closed { path }, protocol))
}

/// `16` or, over HTTP/2, `16x32`.
fn connections_and_streams(text: &str, protocol: Protocol) -> Result<(usize, usize), String> {
    let Some((connections, streams)) = text.split_once('x') else {
        return Ok((arguments::connections(text)?, 1));
    };
    if protocol.is_http1() {
        return Err(format!(
            "`{text}`: a connection has streams only over HTTP/2; write :{connections}, or h2:{text}"
        ));
    }
    let streams = arguments::whole(1..=MOST_STREAMS)(streams)?;
    Ok((arguments::connections(connections)?, streams))
}

fn path(workload: &str) -> Option<&'static str> {
    let found = PATHS.iter().find(|(name, _)| *name == workload);
    found.map(|(_, path)| *path)
}

fn unknown(name: &str) -> String {
    let known: Vec<&str> = PATHS.iter().map(|(name, _)| *name).collect();
    format!(
        "there is no case `{name}`; the cases are {} (over TLS: {}-tls and so on), h2c, h2, grpc, grpc-tls, pipelined, \
         close, flow, rate and frozen, for instance hello:64, h2:16x32 or rate:20k",
        known.join(", "),
        known[0]
    )
}

impl Case {
    /// The load on the server at `host`, for `duration`; `proto` declares the gRPC call.
    pub fn load(&self, host: &str, proto: &Path, duration: Duration) -> Load {
        let (method, json, message) = CALL;
        let path = match self.kind {
            CaseKind::Closed { path } => path.to_owned(),
            CaseKind::Call => format!("/{method}"),
            _ => "/hello".to_owned(),
        };
        let scheme = self.protocol.scheme();
        let call = || Call {
            method: method.to_owned(),
            proto: proto.to_owned(),
            json: json.to_owned(),
            message: message.to_owned(),
        };
        Load {
            arrivals: match self.kind {
                CaseKind::Rate(rate) | CaseKind::Frozen(rate) => Arrivals::Rate(rate),
                _ => Arrivals::Closed,
            },
            protocol: self.protocol,
            call: (self.kind == CaseKind::Call).then(call),
            connections: self.connections,
            streams: self.streams,
            pipeline: if self.kind == CaseKind::Pipelined {
                PIPELINE
            } else {
                1
            },
            close: self.kind == CaseKind::Close,
            flow: self.kind == CaseKind::Flow,
            end: End::After(duration),
            ..Load::new(format!("{scheme}://{host}{path}"))
        }
    }

    /// How long it is measured: as long as the user says, but for whole freezes if the server freezes.
    pub fn duration(&self, asked: Duration, freeze: Freeze) -> Duration {
        match self.kind {
            CaseKind::Frozen(_) => freeze.duration_of_whole_freezes(asked),
            _ => asked,
        }
    }

    /// The scheduled rate in requests per second, if there is one.
    pub fn rate(&self) -> Option<f64> {
        match self.kind {
            CaseKind::Rate(rate) | CaseKind::Frozen(rate) => Some(rate),
            _ => None,
        }
    }

    /// Whether its server freezes.
    pub fn is_frozen(&self) -> bool {
        matches!(self.kind, CaseKind::Frozen(_))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut connections = plural(self.connections, "connection");
        if self.streams > 1 {
            connections = format!("{connections}, {} streams per connection", self.streams);
        }
        let name = self.name.split(':').next().unwrap_or_default();
        match self.kind {
            CaseKind::Closed { .. } => match self.protocol {
                Protocol::Http11 => write!(f, "{name}, {connections}"),
                Protocol::Https11 => {
                    let workload = name.trim_end_matches("-tls");
                    write!(f, "{workload} over TLS, {connections}")
                }
                Protocol::H2 => write!(f, "hello over HTTP/2 and TLS, {connections}"),
                _ => write!(f, "hello over HTTP/2, {connections}"),
            },
            CaseKind::Call if self.protocol.is_tls() => {
                write!(f, "unary gRPC call over TLS, {connections}")
            }
            CaseKind::Call => write!(f, "unary gRPC call, {connections}"),
            CaseKind::Pipelined => write!(f, "hello, {connections}, pipelined {PIPELINE} deep"),
            CaseKind::Close => write!(f, "hello, {connections}, a new one for each request"),
            CaseKind::Flow => write!(f, "a flow of three requests, {connections}"),
            CaseKind::Rate(rate) => write!(f, "hello at {}, {connections}", exact_rate(rate)),
            CaseKind::Frozen(rate) => write!(
                f,
                "hello at {} on a server that freezes, {connections}",
                exact_rate(rate)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::table::{refused, rows};

    fn load(case: &str) -> Load {
        let case: Case = case.parse().unwrap();
        case.load("h:1", Path::new("echo.proto"), Duration::from_secs(3))
    }

    #[test]
    fn cases_are_read() {
        for [text, protocol, connections, streams, url, title] in rows(
            "
            page:32 | Http11 | 32 | 1 | http://h:1/ | page, 32 connections
            page-tls:32 | Https11 | 32 | 1 | https://h:1/ | page over TLS, 32 connections
            h2c:16x32 | H2c | 16 | 32 | http://h:1/hello | hello over HTTP/2, 16 connections, 32 streams per connection
            h2 | H2 | 64 | 1 | https://h:1/hello | hello over HTTP/2 and TLS, 64 connections
            grpc:1x2 | Grpc | 1 | 2 | http://h:1/prony.echo.v1.Echo/Unary | unary gRPC call, 1 connection, 2 streams per connection
            grpc-tls:2 | GrpcTls | 2 | 1 | https://h:1/prony.echo.v1.Echo/Unary | unary gRPC call over TLS, 2 connections
        ",
        ) {
            let (case, load) = (text.parse::<Case>().unwrap(), load(text));
            let read = [format!("{:?}", load.protocol), load.connections.to_string(), load.streams.to_string()];
            assert_eq!(read, [protocol, connections, streams], "{text}");
            assert_eq!((&*load.url, &*case.to_string()), (url, title));
            assert_eq!(load.call.is_some(), case.protocol.is_grpc(), "{text}");
        }
        let case: Case = "rate:20k".parse().unwrap();
        assert_eq!(
            (case.rate(), case.connections),
            (Some(20_000.0), CONNECTIONS)
        );
        let case: Case = "frozen:1k:8".parse().unwrap();
        assert!(case.is_frozen() && case.connections == 8);
        let pipelined = load("pipelined:4");
        assert_eq!((pipelined.pipeline, pipelined.connections), (PIPELINE, 4));
        assert!(load("close:4").close);
    }

    #[test]
    fn faulty_cases_say_what_to_write() {
        refused(
            str::parse::<Case>,
            "
            helo:64 | there is no case `helo`; the cases are hello, byte
            rate | needs a rate
            rate:fast | `fast` is not a count
            hello:0 | at least 1
            hello:1:2 | `:2` is one part too many
            hello:4x2 | a connection has streams only over HTTP/2; write :4, or h2:4x2
            h2:4x | `` is not a whole number from 1 to 1000
            h2:4x1001 | `1001` is not a whole number from 1 to 1000
            grpc:x4 | `` is not a count
            h2-tls:4 | there is no case `h2-tls`
        ",
        );
    }
}
