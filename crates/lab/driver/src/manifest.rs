//! A driver's manifest, `driver.toml`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use prony_manifest::{FileError, Source, Template, UnknownName};
use prony_model::Protocol;
use serde::Deserialize;
use toml::Spanned;

use crate::field::Capture;
use crate::output::Output;

/// The file in a driver's folder.
pub const MANIFEST_FILE: &str = "driver.toml";

prony_model::named! {
    /// A placeholder in the words of a command.
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
        /// The folder of the driver.
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
        /// The gRPC message as JSON.
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

/// A word of a command.
pub(crate) type Word = Template<Placeholder>;

/// A load generator: its program, its arguments and how its output is read.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Its name in tables.
    pub title: String,
    /// The command that installs it.
    pub install: String,
    /// Notes for readers of its figures.
    pub notes: Option<String>,
    pub(crate) folder: PathBuf,
    pub(crate) program: Word,
    pub(crate) version: Option<VersionCommand>,
    pub(crate) arguments: Arguments<Word>,
    pub(crate) protocols: BTreeMap<Protocol, ProtocolPart>,
    pub(crate) environment: Environment,
    pub(crate) output: Output,
}

/// Variables and their values.
pub(crate) type Environment = Vec<(String, Word)>;

/// What a protocol adds to the command.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProtocolPart {
    pub(crate) arguments: Vec<Word>,
    /// Replaces `after` of the arguments.
    pub(crate) after: Option<Vec<Word>>,
    pub(crate) environment: Environment,
    /// Whether the tool opens only one connection, even if more are requested.
    pub(crate) one_connection: bool,
}

/// How Prony asks a tool for its version.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VersionCommand {
    pub(crate) arguments: Vec<String>,
    pub(crate) pattern: Capture,
}

/// The arguments by part, in the order in which they are passed. `None` for what the tool cannot do.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments<W> {
    #[serde(default = "Vec::new")]
    pub(crate) before: Vec<W>,
    pub(crate) closed: Option<Vec<W>>,
    pub(crate) rate: Option<Vec<W>>,
    /// To keep connections.
    #[serde(default = "Vec::new")]
    pub(crate) keep: Vec<W>,
    /// For a new connection per request.
    pub(crate) close: Option<Vec<W>>,
    pub(crate) pipeline: Option<Vec<W>>,
    /// For several requests at a time over each HTTP/2 connection.
    pub(crate) streams: Option<Vec<W>>,
    pub(crate) duration: Option<Vec<W>>,
    pub(crate) requests: Option<Vec<W>>,
    pub(crate) header: Option<Vec<W>>,
    pub(crate) method: Option<Vec<W>>,
    pub(crate) body: Option<Vec<W>>,
    /// Instead of `after`, for a flow of requests.
    pub(crate) flow: Option<Vec<W>>,
    #[serde(default = "Vec::new")]
    pub(crate) after: Vec<W>,
}

/// A manifest as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawManifest {
    title: Spanned<String>,
    program: Spanned<String>,
    install: Spanned<String>,
    notes: Option<String>,
    version: Option<VersionCommand>,
    arguments: Spanned<Arguments<Spanned<String>>>,
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
    /// Reads the manifest in `folder`.
    ///
    /// # Errors
    /// If it cannot be read or is invalid; the text names the file, the line and the field.
    pub fn open(folder: &Path) -> Result<Manifest, FileError> {
        read(&Source::open(&folder.join(MANIFEST_FILE))?, folder)
    }

    /// Reads `text` as the manifest of `folder`.
    ///
    /// # Errors
    /// If it is invalid; the text names the line and the field.
    pub fn parse(text: &str, folder: &Path) -> Result<Manifest, FileError> {
        read(&Source::new(&folder.join(MANIFEST_FILE), text), folder)
    }

    /// Whether it can generate a load at a given rate.
    pub fn supports_rates(&self) -> bool {
        self.arguments.rate.is_some()
    }

    /// Where the figures are in its output.
    pub fn output(&self) -> &Output {
        &self.output
    }
}

fn read(source: &Source, folder: &Path) -> Result<Manifest, FileError> {
    let raw: RawManifest = source.parse()?;
    let arguments = arguments(source, &raw.arguments)?;
    let output = raw.output;
    if arguments.rate.is_some() && output.get_ref().rate_latency_from().is_none() {
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
        title: filled(source, &raw.title)?,
        install: filled(source, &raw.install)?,
        program: filled(source, &raw.program).and_then(|_| word(source, &raw.program, &program))?,
        notes: raw.notes,
        version: raw.version,
        arguments,
        protocols: protocols.collect::<Result<_, _>>()?,
        environment: environment(source, &raw.environment)?,
        output: output.into_inner(),
    })
}

fn filled(source: &Source, text: &Spanned<String>) -> Result<String, FileError> {
    match text.get_ref().trim() {
        "" => Err(source.fault(text.span(), "it must not be empty")),
        text => Ok(text.to_owned()),
    }
}

fn word(
    source: &Source,
    text: &Spanned<String>,
    allowed: &[Placeholder],
) -> Result<Word, FileError> {
    Word::new(text.get_ref(), allowed).map_err(|unknown| source.fault(text.span(), unknown))
}

fn words(
    source: &Source,
    words: &[Spanned<String>],
    own: &[Placeholder],
) -> Result<Vec<Word>, FileError> {
    let allowed = [Placeholder::COMMON, own].concat();
    let words = words.iter().map(|text| word(source, text, &allowed));
    words.collect()
}

fn environment(source: &Source, raw: &RawEnvironment) -> Result<Environment, FileError> {
    let variables = raw.iter().map(|(name, value)| {
        let value = word(source, value, &Placeholder::of_variables())?;
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
    raw: &Spanned<Arguments<Spanned<String>>>,
) -> Result<Arguments<Word>, FileError> {
    let maybe = |part: &Option<Vec<Spanned<String>>>, own: &[Placeholder]| {
        let part = part.as_ref();
        part.map(|part| words(source, part, own)).transpose()
    };
    let (span, raw) = (raw.span(), raw.get_ref());
    let either = |one: bool, other: bool, names: &str| {
        if one || other {
            Ok(())
        } else {
            let message =
                format!("`[arguments]` needs {names}: without it the tool cannot generate a load");
            Err(source.fault(span.clone(), message))
        }
    };
    either(
        raw.closed.is_some(),
        raw.rate.is_some(),
        "`closed` or `rate`",
    )?;
    let ends = (raw.duration.is_some(), raw.requests.is_some());
    either(ends.0, ends.1, "`duration` or `requests`")?;
    Ok(Arguments {
        before: words(source, &raw.before, &[])?,
        closed: maybe(&raw.closed, &[])?,
        rate: maybe(
            &raw.rate,
            &[Rate, WholeRate, RatePerConnection, RatePerStream],
        )?,
        keep: words(source, &raw.keep, &[])?,
        close: maybe(&raw.close, &[])?,
        pipeline: maybe(&raw.pipeline, &[Pipeline])?,
        streams: maybe(&raw.streams, &[Streams])?,
        duration: maybe(&raw.duration, &[Seconds, Milliseconds])?,
        requests: maybe(&raw.requests, &[Requests])?,
        header: maybe(&raw.header, &[Header])?,
        method: maybe(&raw.method, &[Method])?,
        body: maybe(&raw.body, &[BodyFile])?,
        flow: maybe(&raw.flow, &[])?,
        after: words(source, &raw.after, &[])?,
    })
}

#[cfg(test)]
mod tests;

/// The drivers in a folder, by id.
#[derive(Clone, Debug)]
pub struct Catalogue {
    drivers: Vec<(String, Manifest)>,
}

/// Why the drivers cannot be read, or one is unknown.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    #[error("cannot read the drivers in {folder}: {source}")]
    Read { folder: PathBuf, source: io::Error },
    /// A manifest is invalid.
    #[error(transparent)]
    Manifest(#[from] FileError),
    /// There is no driver with this id.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
}

impl Catalogue {
    /// Reads every driver in `folder`: the folders in it that hold a manifest.
    ///
    /// # Errors
    /// If the folder cannot be read, or a manifest is invalid.
    pub fn read(folder: &Path) -> Result<Catalogue, CatalogueError> {
        let failed = |source| CatalogueError::Read {
            folder: folder.to_owned(),
            source,
        };
        let mut drivers = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.path().join(MANIFEST_FILE).is_file() {
                let id = entry.file_name().to_string_lossy().into_owned();
                drivers.push((id, Manifest::open(&entry.path())?));
            }
        }
        drivers.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Catalogue { drivers })
    }

    /// The ids, sorted.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.drivers.iter().map(|(id, _)| id.as_str())
    }

    /// The driver with this id.
    pub fn get(&self, id: &str) -> Result<&Manifest, CatalogueError> {
        match self.drivers.iter().find(|(known, _)| known == id) {
            Some((_, manifest)) => Ok(manifest),
            None => Err(UnknownName::new("driver", id, self.ids()).into()),
        }
    }
}
