//! What the generators have to do.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use prony_driver::{Call, Load};
use prony_model::{Arrivals, LoadShape, LoadSpec, Protocol, Schedule, Seconds, Stage};
use prony_present::load;
use prony_reference::script::Freeze;
use prony_run::run::under_load;

use crate::arguments;

/// How deep pipelined requests are.
const PIPELINE: usize = 16;
/// The most streams per connection; servers allow 100 to 1000.
const MOST_STREAMS: usize = 1000;
/// The connections of a case that does not say how many.
const CONNECTIONS: usize = 64;

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

/// One comparison: a request and the load that repeats it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    /// As the command line names it.
    pub(crate) name: String,
    /// What is requested, in words.
    title: String,
    request: CaseRequest,
    protocol: Protocol,
    /// Without an end.
    load: LoadSpec,
    /// Whether its server freezes.
    pub(crate) is_frozen: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum CaseRequest {
    Get {
        path: &'static str,
    },
    /// A unary gRPC call.
    Call,
    /// Three requests: the second depends on the response to the first, and is compared by JSONPath.
    Flow,
}

impl FromStr for Case {
    type Err = String;

    /// `hello:64`, `hello-tls:64`, `h2:16x32`, `pipelined:64`, `close:64`, `rate:20k:64`, `frozen:1k:64`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let mut case = Case::named(name).ok_or_else(|| unknown(name))?;
        let (protocol, load) = (case.protocol, &mut case.load);
        match name {
            "rate" | "frozen" => {
                let rate = rate(&mut parts, text)?;
                load.shape = LoadShape::Rate(Schedule::constant(Arrivals::Even, rate));
            }
            "pipelined" => load.pipeline = PIPELINE,
            "close" => load.requests_per_connection = Some(1),
            _ => {}
        }
        if let Some(numbers) = parts.next() {
            let (connections, streams) = connections_and_streams(numbers, protocol)?;
            load.connections = connections;
            load.pipeline = streams.unwrap_or(load.pipeline);
        }
        match parts.next() {
            None => Ok(Case {
                name: text.to_owned(),
                load: case.load.over(protocol),
                ..case
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

/// `16` or, over HTTP/2, `16x32`.
fn connections_and_streams(
    text: &str,
    protocol: Protocol,
) -> Result<(usize, Option<usize>), String> {
    let Some((connections, streams)) = text.split_once('x') else {
        return Ok((arguments::connections(text)?, None));
    };
    if protocol.is_http1() {
        return Err(format!(
            "`{text}`: a connection has streams only over HTTP/2; write :{connections}, or h2:{text}"
        ));
    }
    let streams = arguments::whole(1..=MOST_STREAMS)(streams)?;
    Ok((arguments::connections(connections)?, Some(streams)))
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
    /// A closed loop of the case of that name.
    fn named(name: &str) -> Option<Self> {
        const HELLO: CaseRequest = CaseRequest::Get { path: "/hello" };
        let get = |workload| path(workload).map(|path| CaseRequest::Get { path });
        let (title, request, protocol) = match name {
            "rate" | "pipelined" | "close" => ("hello", HELLO, Protocol::Http11),
            "frozen" => ("hello on a server that freezes", HELLO, Protocol::Http11),
            "flow" => (
                "a flow of three requests",
                CaseRequest::Flow,
                Protocol::Http11,
            ),
            "h2c" => ("hello over HTTP/2", HELLO, Protocol::H2c),
            "h2" => ("hello over HTTP/2 and TLS", HELLO, Protocol::H2),
            "grpc" => ("unary gRPC call", CaseRequest::Call, Protocol::Grpc),
            "grpc-tls" => (
                "unary gRPC call over TLS",
                CaseRequest::Call,
                Protocol::GrpcTls,
            ),
            _ => match name.strip_suffix("-tls") {
                Some(workload) => (workload, get(workload)?, Protocol::Https11),
                None => (name, get(name)?, Protocol::Http11),
            },
        };
        let over = match protocol {
            Protocol::Https11 => " over TLS",
            _ => "",
        };
        Some(Case {
            name: name.to_owned(),
            title: format!("{title}{over}"),
            request,
            protocol,
            load: LoadSpec {
                connections: CONNECTIONS,
                ..LoadSpec::default()
            },
            is_frozen: name == "frozen",
        })
    }

    /// The load, for as long as the user says, but for whole freezes if the server freezes.
    pub(super) fn spec(&self, asked: Duration, freeze: Freeze) -> LoadSpec {
        let duration = if self.is_frozen {
            freeze.duration_of_whole_freezes(asked)
        } else {
            asked
        };
        LoadSpec {
            duration: Some(Seconds(duration)),
            ..self.load.clone()
        }
    }

    /// The same load as drivers describe it, on the server at `host`; `proto` declares the gRPC call.
    pub(super) fn load(
        &self,
        spec: &LoadSpec,
        host: &str,
        proto: &Path,
    ) -> Result<Load, &'static str> {
        let (method, json, message) = CALL;
        let path = match self.request {
            CaseRequest::Get { path } => path.to_owned(),
            CaseRequest::Call => format!("/{method}"),
            CaseRequest::Flow => "/hello".to_owned(),
        };
        let call = || Call {
            method: method.to_owned(),
            proto: proto.to_owned(),
            json: json.to_owned(),
            message: message.to_owned(),
        };
        let request = Load {
            protocol: self.protocol,
            call: (self.request == CaseRequest::Call).then(call),
            flow: self.request == CaseRequest::Flow,
            ..Load::new(format!("{}://{host}{path}", self.protocol.scheme()))
        };
        under_load(request, spec)
    }

    /// Whether its server speaks TLS.
    pub(super) fn is_tls(&self) -> bool {
        self.protocol.is_tls()
    }

    /// The scheduled rate in requests per second, if there is one.
    pub(super) fn rate(&self) -> Option<f64> {
        match &self.load.shape {
            LoadShape::Rate(schedule) => schedule.stages.first().map(Stage::peak_per_s),
            _ => None,
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.title, load::short(&self.load))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_driver::End;
    use prony_testkit::table::{refused, rows};

    fn load(case: &str) -> Load {
        let case: Case = case.parse().unwrap();
        let spec = case.spec(Duration::from_secs(3), "1s/10s".parse().unwrap());
        case.load(&spec, "h:1", Path::new("echo.proto")).unwrap()
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
        let rate: Case = "rate:20k".parse().unwrap();
        assert_eq!(
            (rate.rate(), load("rate:20k").connections),
            (Some(20_000.0), CONNECTIONS)
        );
        assert_eq!(rate.to_string(), "hello, 20k/s over 64 connections");
        let frozen: Case = "frozen:1k:8".parse().unwrap();
        assert!(frozen.is_frozen && frozen.load.connections == 8);
        // One whole period, and half of the time to the next freeze.
        assert_eq!(load("frozen:1k:8").end, End::After(Duration::from_secs(13)));
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
