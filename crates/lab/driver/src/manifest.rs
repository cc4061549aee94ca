//! A driver's manifest, `driver.toml`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use prony_manifest::fields::Filled;
use prony_manifest::{FileError, Source, Template, UnknownName, folders_with};
use prony_model::Protocol;
use serde::Deserialize;
use toml::Spanned;

use crate::field::Capture;
use crate::output::Output;

pub const MANIFEST_FILE: &str = "driver.toml";

prony_model::named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Placeholder {
        Url = "url",
        /// The URL without its path: `https://127.0.0.1:8080`.
        Origin = "origin",
        /// The address in the URL: `127.0.0.1:8080`.
        Host = "host",
        Protocol = "protocol",
        Connections = "connections",
        /// Requests in flight over all connections: connections × streams.
        Concurrency = "concurrency",
        Threads = "threads",
        /// The timeout in whole seconds.
        TimeoutS = "timeout_s",
        Driver = "driver",
        /// Prony's own program.
        Prony = "prony",
        /// Requests per second over all connections.
        Rate = "rate",
        /// The same, if it is a whole number.
        WholeRate = "whole_rate",
        /// Requests per second over one connection.
        RatePerConnection = "rate_per_connection",
        /// Requests per second over one stream of a connection.
        RatePerStream = "rate_per_stream",
        Pipeline = "pipeline",
        /// Requests in flight over one HTTP/2 connection.
        Streams = "streams",
        /// 1 if every request has a connection of its own.
        Close = "close",
        /// The duration in whole seconds.
        Seconds = "seconds",
        /// The duration in whole milliseconds.
        Milliseconds = "milliseconds",
        Requests = "requests",
        /// One header, `Name: value`.
        Header = "header",
        /// All headers as one JSON object.
        HeadersJson = "headers_json",
        Method = "method",
        BodyFile = "body_file",
        /// The gRPC method, `package.Service/Method`.
        GrpcMethod = "grpc_method",
        /// The `.proto` file that declares the gRPC method.
        ProtoFile = "proto_file",
        MessageJson = "message_json",
        /// A file with the gRPC message as it is sent, behind its length.
        MessageFile = "message_file",
    }
}

use Placeholder::*;

impl Placeholder {
    /// The placeholders that have a value in every load.
    pub(crate) const COMMON: &[Placeholder] = &[
        Url,
        Origin,
        Host,
        Placeholder::Protocol,
        Connections,
        Concurrency,
        Threads,
        TimeoutS,
        Driver,
        Prony,
    ];
    /// The placeholders that also have a value in every gRPC load.
    const GRPC: &[Placeholder] = &[GrpcMethod, ProtoFile, MessageJson, MessageFile];

    /// The placeholders allowed in variables: all but [`Header`], which may have several values. A variable is not set
    /// if a placeholder has no value.
    pub(crate) fn of_variables() -> Vec<Placeholder> {
        let mut all = Vec::from(Placeholder::ALL);
        all.retain(|one| *one != Header);
        all
    }
}

impl prony_manifest::Placeholder for Placeholder {
    fn name(self) -> &'static str {
        Placeholder::name(self)
    }
}

pub(crate) type Word = Template<Placeholder>;

/// A load generator: its program, its arguments and how its output is read.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Its name in tables.
    pub title: String,
    pub install: String,
    /// Notes for readers of its figures.
    pub notes: Option<String>,
    pub(crate) folder: PathBuf,
    pub(crate) program: Word,
    pub(crate) version: Option<VersionCommand>,
    pub(crate) arguments: BTreeMap<Part, Vec<Word>>,
    pub(crate) protocols: BTreeMap<Protocol, ProtocolPart>,
    pub(crate) environment: Environment,
    pub(crate) output: Output,
}

pub(crate) type Environment = Vec<(String, Word)>;

#[derive(Clone, Debug, Default)]
pub(crate) struct ProtocolPart {
    pub(crate) arguments: Vec<Word>,
    /// Replaces `after` of the arguments.
    pub(crate) after: Option<Vec<Word>>,
    pub(crate) environment: Environment,
    /// Whether the tool opens only one connection, even if more are requested.
    pub(crate) one_connection: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VersionCommand {
    pub(crate) arguments: Vec<String>,
    pub(crate) pattern: Capture,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    Before,
    Closed,
    Rate,
    /// To keep connections.
    Keep,
    /// For a new connection per request.
    Close,
    Pipeline,
    /// For several requests at a time over each HTTP/2 connection.
    Streams,
    Duration,
    Requests,
    Header,
    Method,
    Body,
    /// Instead of `after`, for a flow of requests.
    Flow,
    After,
}

impl Part {
    /// What a tool without it cannot do.
    pub(crate) fn property(self) -> Option<&'static str> {
        Some(match self {
            Part::Before | Part::Keep | Part::After => return None,
            Part::Closed => "a closed loop",
            Part::Rate => "a fixed rate",
            Part::Close => "a new connection for every request",
            Part::Pipeline => "pipelining",
            Part::Streams => "several streams per connection",
            Part::Duration => "a fixed duration",
            Part::Requests => "a fixed number of requests",
            Part::Header => "request headers",
            Part::Method => "methods other than GET",
            Part::Body => "a request body",
            Part::Flow => "flows of several requests",
        })
    }

    /// The placeholders that have a value in it, beside the common ones.
    fn own_placeholders(self) -> &'static [Placeholder] {
        match self {
            Part::Rate => &[Rate, WholeRate, RatePerConnection, RatePerStream],
            Part::Pipeline => &[Pipeline],
            Part::Streams => &[Streams],
            Part::Duration => &[Seconds, Milliseconds],
            Part::Requests => &[Requests],
            Part::Header => &[Header],
            Part::Method => &[Method],
            Part::Body => &[BodyFile],
            _ => &[],
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawManifest {
    title: Filled,
    program: Spanned<Filled>,
    install: Filled,
    notes: Option<String>,
    version: Option<VersionCommand>,
    arguments: Spanned<BTreeMap<Part, Vec<Spanned<String>>>>,
    #[serde(default = "only_http11")]
    protocols: BTreeMap<Protocol, RawProtocolPart>,
    #[serde(default)]
    environment: RawEnvironment,
    output: Spanned<Output>,
}

type RawEnvironment = BTreeMap<String, Spanned<String>>;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProtocolPart {
    #[serde(default)]
    arguments: Vec<Spanned<String>>,
    after: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    environment: RawEnvironment,
    #[serde(default)]
    one_connection: bool,
}

fn only_http11() -> BTreeMap<Protocol, RawProtocolPart> {
    [(Protocol::Http11, RawProtocolPart::default())].into()
}

impl Manifest {
    pub fn open(folder: &Path) -> Result<Manifest, FileError> {
        read(&Source::open(&folder.join(MANIFEST_FILE))?, folder)
    }

    pub fn parse(text: &str, folder: &Path) -> Result<Manifest, FileError> {
        read(&Source::new(&folder.join(MANIFEST_FILE), text), folder)
    }

    pub fn supports_rates(&self) -> bool {
        self.arguments.contains_key(&Part::Rate)
    }

    pub fn output(&self) -> &Output {
        &self.output
    }
}

fn read(source: &Source, folder: &Path) -> Result<Manifest, FileError> {
    let raw: RawManifest = source.parse()?;
    let arguments = arguments(source, &raw.arguments)?;
    let output = raw.output;
    if arguments.contains_key(&Part::Rate) && output.get_ref().rate_latency_from().is_none() {
        let message = "`[output]` needs `rate_latency_from`: \"schedule\" if the latency of a rate begins at the \
                       scheduled arrival, \"send\" if it begins when the request is sent";
        return Err(source.fault(output.span(), message));
    }
    let program = [Placeholder::Prony, Placeholder::Driver];
    let protocols = raw.protocols.iter();
    let protocols = protocols.map(|(protocol, raw)| {
        let part = protocol_part(source, *protocol, raw)?;
        Ok((*protocol, part))
    });
    Ok(Manifest {
        folder: folder.to_owned(),
        title: raw.title.0,
        install: raw.install.0,
        program: word(
            source,
            &raw.program.get_ref().0,
            raw.program.span(),
            &program,
        )?,
        notes: raw.notes,
        version: raw.version,
        arguments,
        protocols: protocols.collect::<Result<_, _>>()?,
        environment: environment(source, &raw.environment)?,
        output: output.into_inner(),
    })
}

fn word(
    source: &Source,
    text: &str,
    span: Range<usize>,
    allowed: &[Placeholder],
) -> Result<Word, FileError> {
    Word::new(text, allowed).map_err(|unknown| source.fault(span, unknown))
}

fn words(
    source: &Source,
    words: &[Spanned<String>],
    own: &[Placeholder],
) -> Result<Vec<Word>, FileError> {
    let allowed = [Placeholder::COMMON, own].concat();
    let words = words.iter();
    words
        .map(|text| word(source, text.get_ref(), text.span(), &allowed))
        .collect()
}

fn environment(source: &Source, raw: &RawEnvironment) -> Result<Environment, FileError> {
    let variables = raw.iter().map(|(name, value)| {
        let allowed = Placeholder::of_variables();
        let value = word(source, value.get_ref(), value.span(), &allowed)?;
        Ok((name.clone(), value))
    });
    variables.collect()
}

fn protocol_part(
    source: &Source,
    protocol: Protocol,
    raw: &RawProtocolPart,
) -> Result<ProtocolPart, FileError> {
    let own = if protocol.is_grpc() {
        Placeholder::GRPC
    } else {
        &[]
    };
    let after = raw.after.as_ref();
    Ok(ProtocolPart {
        arguments: words(source, &raw.arguments, own)?,
        after: after.map(|after| words(source, after, own)).transpose()?,
        environment: environment(source, &raw.environment)?,
        one_connection: raw.one_connection,
    })
}

fn arguments(
    source: &Source,
    raw: &Spanned<BTreeMap<Part, Vec<Spanned<String>>>>,
) -> Result<BTreeMap<Part, Vec<Word>>, FileError> {
    for (parts, names) in [
        ([Part::Closed, Part::Rate], "`closed` or `rate`"),
        ([Part::Duration, Part::Requests], "`duration` or `requests`"),
    ] {
        if !parts.iter().any(|part| raw.get_ref().contains_key(part)) {
            let message =
                format!("`[arguments]` needs {names}: without it the tool cannot generate a load");
            return Err(source.fault(raw.span(), message));
        }
    }
    let parts = raw.get_ref().iter();
    parts
        .map(|(part, list)| Ok((*part, words(source, list, part.own_placeholders())?)))
        .collect()
}

#[cfg(test)]
mod tests;

#[derive(Clone, Debug)]
pub struct Catalogue {
    drivers: Vec<(String, Manifest)>,
}

#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Unknown(#[from] UnknownName),
}

impl Catalogue {
    /// Reads every driver in `folder`: the folders in it that hold a manifest.
    pub fn read(folder: &Path) -> Result<Catalogue, CatalogueError> {
        let folders = folders_with(MANIFEST_FILE, folder)?.into_iter();
        let drivers = folders.map(|folder| {
            let id = folder.file_name().unwrap_or_default().to_string_lossy();
            Ok((id.into_owned(), Manifest::open(&folder)?))
        });
        let drivers = drivers.collect::<Result<_, FileError>>()?;
        Ok(Catalogue { drivers })
    }

    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.drivers.iter().map(|(id, _)| id.as_str())
    }

    pub fn get(&self, id: &str) -> Result<&Manifest, CatalogueError> {
        match self.drivers.iter().find(|(known, _)| known == id) {
            Some((_, manifest)) => Ok(manifest),
            None => Err(UnknownName::new("driver", id, self.ids()).into()),
        }
    }
}
