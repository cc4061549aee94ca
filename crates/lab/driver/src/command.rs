//! A load, and the command with which a tool generates it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_model::Protocol;
use serde_json::{Map, Value};
use tempfile::NamedTempFile;

use crate::manifest::Placeholder::{self, *};
use crate::manifest::{Manifest, Part, ProtocolPart, Word};

/// One request over and over.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The URL; its path is `/package.Service/Method` if the protocol is gRPC.
    pub url: String,
    /// What its connections speak. Tools accept any certificate.
    pub protocol: Protocol,
    pub call: Option<Call>,
    pub arrivals: Arrivals,
    pub connections: usize,
    pub threads: usize,
    pub end: End,
    /// How many requests are in flight over one connection at a time; 1 for no pipelining.
    pub pipeline: usize,
    /// How many requests are in flight over one HTTP/2 connection at a time.
    pub streams: usize,
    /// Whether every request has a connection of its own.
    pub close: bool,
    /// Whether each connection repeats a flow of requests that depend on one another, instead of one request. The tool's
    /// driver describes the flow.
    pub flow: bool,
    /// The request's method; `None` for GET.
    pub method: Option<String>,
    pub headers: Vec<String>,
    pub body: Vec<u8>,
    pub timeout: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// `package.Service/Method`.
    pub method: String,
    pub proto: PathBuf,
    pub json: String,
    /// The message as it is encoded.
    pub message: Vec<u8>,
}

impl Call {
    /// The message as gRPC sends it: uncompressed, behind its length.
    fn framed(&self) -> io::Result<Vec<u8>> {
        let length = u32::try_from(self.message.len());
        let length = length.map_err(|_| io::Error::other("the message is longer than 4 GiB"))?;
        Ok([&[0], &length.to_be_bytes()[..], &self.message].concat())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Each when the previous response is complete.
    Closed,
    /// At this rate, in requests a second.
    Rate(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    After(Duration),
    Requests(u64),
}

impl Load {
    /// GET over HTTP/1.1 in a closed loop over one connection of one thread, for a second.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            protocol: Protocol::Http11,
            call: None,
            arrivals: Arrivals::Closed,
            connections: 1,
            threads: 1,
            end: End::After(Duration::from_secs(1)),
            pipeline: 1,
            streams: 1,
            close: false,
            flow: false,
            method: None,
            headers: Vec::new(),
            body: Vec::new(),
            timeout: Duration::from_secs(10),
        }
    }
}

/// The values of the placeholders for one load; those without a value are missing.
pub(crate) type Values = BTreeMap<Placeholder, String>;

#[derive(Debug)]
pub struct Invocation {
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
    /// The files with the request's body and message, removed when this is dropped.
    _files: [Option<NamedTempFile>; 2],
}

#[derive(Debug, thiserror::Error)]
pub enum Unsupported {
    #[error("it does not support {0}")]
    Property(&'static str),
    #[error("it only takes durations in whole seconds")]
    WholeSeconds,
    #[error("it only takes a whole number of requests per second")]
    WholeRate,
    #[error("it opens only one connection for {0}")]
    OneConnection(&'static str),
    #[error("cannot write the request's body for it: {0}")]
    Body(#[from] io::Error),
}

impl From<&'static str> for Unsupported {
    fn from(property: &'static str) -> Self {
        Unsupported::Property(property)
    }
}

impl Manifest {
    /// The command's arguments for a load; `prony` is Prony's own program.
    pub fn invocation(&self, load: &Load, prony: &Path) -> Result<Invocation, Unsupported> {
        check(load)?;
        let part = self.protocol_part(load)?;
        let body = (!load.body.is_empty()).then_some(&load.body);
        let body = body.map(|body| file_with(body)).transpose()?;
        let message = load.call.as_ref();
        let message = message.map(|call| file_with(&call.framed()?)).transpose()?;
        let mut values = self.values(load, prony);
        let files = [(BodyFile, &body), (MessageFile, &message)];
        for (placeholder, file) in files {
            let path = file.as_ref().map(|file| file.path().display().to_string());
            values.extend(path.map(|path| (placeholder, path)));
        }
        let environment = self.environment.iter().chain(&part.environment);
        Ok(Invocation {
            arguments: self.words(load, part, &values)?,
            environment: environment
                .filter_map(|(name, value)| Some((name.clone(), value.fill(value_of(&values))?)))
                .collect(),
            _files: [body, message],
        })
    }

    fn protocol_part(&self, load: &Load) -> Result<&ProtocolPart, Unsupported> {
        let words = in_words(load.protocol);
        match self.protocols.get(&load.protocol) {
            None => Err(Unsupported::Property(words)),
            Some(part) if part.one_connection && load.connections > 1 => {
                Err(Unsupported::OneConnection(words))
            }
            Some(part) => Ok(part),
        }
    }

    /// The program that it runs, if it is not looked for in `PATH`.
    pub(crate) fn program_with(&self, prony: &Path) -> String {
        let values = self.places(prony);
        // The manifest's reader has checked that no other placeholder is used.
        self.program.fill(value_of(&values)).unwrap_or_default()
    }

    fn places(&self, prony: &Path) -> Values {
        let folder = std::path::absolute(&self.folder).unwrap_or_else(|_| self.folder.clone());
        Values::from([
            (Placeholder::Driver, folder.display().to_string()),
            (Placeholder::Prony, prony.display().to_string()),
        ])
    }

    fn values(&self, load: &Load, prony: &Path) -> Values {
        let mut values = self.places(prony);
        let mut set = |placeholder, value: String| values.insert(placeholder, value);
        let origin = origin(&load.url);
        let host = origin.split_once("://").map_or(origin, |(_, host)| host);
        set(Url, load.url.clone());
        set(Origin, origin.to_owned());
        set(Host, host.to_owned());
        set(Placeholder::Protocol, load.protocol.name().to_owned());
        set(Connections, load.connections.to_string());
        let concurrency = load.connections.saturating_mul(load.streams);
        set(Concurrency, concurrency.to_string());
        set(Threads, load.threads.to_string());
        set(
            TimeoutS,
            load.timeout.as_secs_f64().ceil().max(1.0).to_string(),
        );
        if let Arrivals::Rate(rate) = load.arrivals {
            set(Rate, rate.to_string());
            if rate.fract() == 0.0 {
                set(WholeRate, rate.to_string());
            }
            let rate_of = |parts: usize| (rate / parts as f64).to_string();
            set(RatePerConnection, rate_of(load.connections));
            set(RatePerStream, rate_of(concurrency));
        }
        if load.pipeline > 1 {
            set(Pipeline, load.pipeline.to_string());
        }
        if load.streams > 1 {
            set(Streams, load.streams.to_string());
        }
        if load.close {
            set(Close, "1".to_owned());
        }
        match load.end {
            End::After(duration) => {
                set(Milliseconds, duration.as_millis().to_string());
                if duration.subsec_nanos() == 0 {
                    set(Seconds, duration.as_secs().to_string());
                }
            }
            End::Requests(requests) => {
                set(Requests, requests.to_string());
            }
        }
        if !load.headers.is_empty() {
            set(HeadersJson, headers_json(&load.headers));
        }
        if let Some(method) = &load.method {
            set(Method, method.clone());
        }
        if let Some(call) = &load.call {
            set(GrpcMethod, call.method.clone());
            set(ProtoFile, call.proto.display().to_string());
            set(MessageJson, call.json.clone());
        }
        values
    }

    fn words(
        &self,
        load: &Load,
        protocol: &ProtocolPart,
        values: &Values,
    ) -> Result<Vec<String>, Unsupported> {
        let part = |part: Part| match (self.arguments.get(&part), part.property()) {
            (Some(words), _) => Ok(&words[..]),
            (None, None) => Ok(&[][..]),
            (None, Some(property)) => Err(Unsupported::Property(property)),
        };
        let is_rate = matches!(load.arrivals, Arrivals::Rate(_));
        let is_timed = matches!(load.end, End::After(_));
        let mut templates = [part(Part::Before)?, &protocol.arguments].concat();
        for (wanted, is_wanted) in [
            (Part::Closed, !is_rate),
            (Part::Rate, is_rate),
            (Part::Keep, !load.close),
            (Part::Close, load.close),
            (Part::Pipeline, load.pipeline > 1),
            (Part::Streams, load.streams > 1),
            (Part::Duration, is_timed),
            (Part::Requests, !is_timed),
            (Part::Method, load.method.is_some()),
            (Part::Body, !load.body.is_empty()),
        ] {
            if is_wanted {
                templates.extend_from_slice(part(wanted)?);
            }
            if is_wanted && wanted == Part::Rate {
                filled(part(wanted)?, values).ok_or(Unsupported::WholeRate)?;
            }
        }
        // All but a whole rate and a duration in whole seconds have a value by now.
        let filled = |templates: &[Word], values: &Values| {
            filled(templates, values).ok_or(Unsupported::WholeSeconds)
        };
        let mut words = filled(&templates, values)?;
        for header in &load.headers {
            let mut values = values.clone();
            values.insert(Placeholder::Header, header.clone());
            words.extend(filled(part(Part::Header)?, &values)?);
        }
        let last = match &protocol.after {
            _ if load.flow => part(Part::Flow)?,
            Some(after) => after,
            None => part(Part::After)?,
        };
        words.extend(filled(last, values)?);
        Ok(words)
    }
}

fn check(load: &Load) -> Result<(), Unsupported> {
    let is_http2 = !load.protocol.is_http1();
    let is_grpc = load.protocol.is_grpc();
    let unsupported = [
        (!is_http2 && load.streams > 1, "streams over HTTP/1.1"),
        (is_http2 && load.pipeline > 1, "pipelining over HTTP/2"),
        (
            is_http2 && load.close,
            "a new connection for every request over HTTP/2",
        ),
        (
            is_grpc && load.call.is_none(),
            "gRPC without a method and its message",
        ),
        (
            is_grpc && (load.method.is_some() || !load.body.is_empty()),
            "a method of HTTP or a body over gRPC",
        ),
    ];
    match unsupported.into_iter().find(|(applies, _)| *applies) {
        Some((_, property)) => Err(property.into()),
        None => Ok(()),
    }
}

/// A protocol as sentences name it.
fn in_words(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http11 => "HTTP/1.1 without TLS",
        Protocol::Https11 => "HTTP/1.1 over TLS",
        Protocol::H2c => "HTTP/2 without TLS",
        Protocol::H2 => "HTTP/2 over TLS",
        Protocol::Grpc => "gRPC without TLS",
        Protocol::GrpcTls => "gRPC over TLS",
    }
}

/// `http://127.0.0.1:80` of `http://127.0.0.1:80/path`.
fn origin(url: &str) -> &str {
    let host_start = url.find("://").map_or(0, |at| at + "://".len());
    let path_start = url[host_start..].find(['/', '?', '#']);
    let end = path_start.map_or(url.len(), |at| host_start + at);
    &url[..end]
}

fn value_of(values: &Values) -> impl Fn(Placeholder) -> Option<String> {
    |placeholder| values.get(&placeholder).cloned()
}

/// The words with their values; `None` if a placeholder has no value.
fn filled(templates: &[Word], values: &Values) -> Option<Vec<String>> {
    let words = templates.iter();
    words.map(|word| word.fill(value_of(values))).collect()
}

fn headers_json(headers: &[String]) -> String {
    let pairs = headers.iter().map(|header| {
        let (name, value) = header.split_once(':').unwrap_or((header, ""));
        (name.trim().to_owned(), Value::from(value.trim()))
    });
    Value::Object(pairs.collect::<Map<_, _>>()).to_string()
}

fn file_with(body: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new()?;
    file.write_all(body)?;
    file.flush()?;
    Ok(file)
}
