//! Workloads: a request and its one expected response.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use prony_model::Protocol;

use crate::message::{Message, MessageStream};
use prony_manifest::FileError;
use prony_manifest::UnknownName;

/// A request and its one expected response.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The name of its file, without `.toml`.
    #[serde(skip)]
    pub id: String,
    /// The folder of that file.
    #[serde(skip)]
    pub folder: PathBuf,
    /// Its name in tables; by default its id.
    #[serde(default)]
    pub title: String,
    /// Its description, one sentence.
    #[serde(default)]
    pub about: String,
    /// The benchmark that it comes from.
    pub origin: Option<String>,
    /// The request.
    pub request: Request,
    /// The expected response.
    pub response: DeclaredResponse,
}

/// The request of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RequestFields")]
pub enum Request {
    /// An HTTP request without a body.
    Http {
        /// The method, such as `GET`.
        method: String,
        /// The path, with its slash and its query if it has one.
        path: String,
        /// The version of HTTP, and whether it is encrypted.
        protocol: Protocol,
    },
    /// A gRPC call with one message.
    Grpc {
        /// The path of the call: `/package.Service/Method`.
        path: String,
        /// The message.
        message: Message,
        /// [`Protocol::Grpc`] or [`Protocol::GrpcTls`].
        protocol: Protocol,
    },
}

impl Request {
    /// How it travels.
    pub fn protocol(&self) -> Protocol {
        match self {
            Self::Http { protocol, .. } | Self::Grpc { protocol, .. } => *protocol,
        }
    }
}

/// The fields of a request: `method` and `path`, or `grpc` and `message`; `protocol` and `tls` for both.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestFields {
    #[serde(default, deserialize_with = "token")]
    method: Option<String>,
    #[serde(default, deserialize_with = "path")]
    path: Option<String>,
    #[serde(default, deserialize_with = "call")]
    grpc: Option<String>,
    message: Option<Message>,
    protocol: Option<HttpVersion>,
    #[serde(default)]
    tls: bool,
}

/// The version of HTTP, as in a manifest.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
enum HttpVersion {
    #[serde(rename = "http/1.1")]
    Http11,
    #[serde(rename = "h2")]
    H2,
}

impl RequestFields {
    fn http_protocol(&self) -> Protocol {
        match (self.protocol, self.tls) {
            (None | Some(HttpVersion::Http11), false) => Protocol::Http11,
            (None | Some(HttpVersion::Http11), true) => Protocol::Https11,
            (Some(HttpVersion::H2), false) => Protocol::H2c,
            (Some(HttpVersion::H2), true) => Protocol::H2,
        }
    }

    fn grpc_protocol(&self) -> Result<Protocol, &'static str> {
        match (self.protocol, self.tls) {
            (Some(HttpVersion::Http11), _) => Err(
                "gRPC needs HTTP/2, so `protocol = \"http/1.1\"` does not go with `grpc`; remove it",
            ),
            (_, false) => Ok(Protocol::Grpc),
            (_, true) => Ok(Protocol::GrpcTls),
        }
    }
}

impl TryFrom<RequestFields> for Request {
    type Error = &'static str;

    fn try_from(fields: RequestFields) -> Result<Self, Self::Error> {
        let (http_protocol, grpc_protocol) = (fields.http_protocol(), fields.grpc_protocol());
        match (fields.method, fields.path, fields.grpc, fields.message) {
            (Some(method), Some(path), None, None) => Ok(Self::Http {
                method,
                path,
                protocol: http_protocol,
            }),
            (None, None, Some(call), Some(message)) => Ok(Self::Grpc {
                path: format!("/{call}"),
                message,
                protocol: grpc_protocol?,
            }),
            (_, _, Some(_), _) => {
                Err("a gRPC call has `grpc` and `message`, and neither `method` nor `path`")
            }
            (None, ..) => Err("missing field `method`"),
            (_, None, ..) => Err("missing field `path`"),
            _ => Err("`message` is only for gRPC; name the call with `grpc`"),
        }
    }
}

/// The expected response.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredResponse {
    /// The status code.
    #[serde(deserialize_with = "status")]
    pub status: u16,
    /// The media type, without parameters.
    pub content_type: String,
    /// The body.
    pub body: ExpectedBody,
    /// Further header fields that it must have: name (in any case) and value.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// How many lines on standard output the server must write per request.
    #[serde(default)]
    pub log_lines: u32,
}

impl ExpectedBody {
    /// Whether it is a stream of messages.
    pub fn is_stream(&self) -> bool {
        matches!(self, Self::Messages(_))
    }
}

/// The expected body.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedBody {
    /// This text.
    Text(String),
    /// This file of the assets, byte for byte.
    Asset(String),
    /// One line of this file of the assets, drawn for each request. A line feed may follow.
    LineOf(String),
    /// This file of the assets as one `datastar-patch-elements` event.
    DatastarPatchOf(String),
    /// This message, as gRPC sends it.
    Message(Message),
    /// These messages, as gRPC streams them.
    Messages(MessageStream),
}

impl Workload {
    /// Reads `<folder>/<id>.toml`.
    fn read(folder: &Path, id: String) -> Result<Self, FileError> {
        let workload: Self = prony_manifest::read(&folder.join(format!("{id}.toml")))?;
        Ok(workload.named(id, folder))
    }

    /// The same with an id, from a file in `folder`.
    pub fn named(self, id: String, folder: &Path) -> Self {
        let title = match self.title.is_empty() {
            true => id.clone(),
            false => self.title,
        };
        Self {
            id,
            title,
            folder: folder.to_owned(),
            ..self
        }
    }

    /// Whether the other has the same request and expected response, so that a server that serves one serves both.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        (&self.request, &self.response) == (&other.request, &other.response)
    }

    /// How its requests and responses travel.
    pub fn protocol(&self) -> Protocol {
        self.request.protocol()
    }
}

/// All workloads, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workloads(BTreeMap<String, Workload>);

impl Workloads {
    /// Reads every TOML file of `folder`.
    pub fn read(folder: &Path) -> Result<Self, FileError> {
        let ids = prony_manifest::ids(folder)?.into_iter();
        ids.map(|id| Ok((id.clone(), Workload::read(folder, id)?)))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Adds one, unless there already is one with its id.
    pub fn add(&mut self, workload: Workload) {
        self.0.entry(workload.id.clone()).or_insert(workload);
    }

    /// All of them, sorted by id.
    pub fn iter(&self) -> impl Iterator<Item = &Workload> {
        self.0.values()
    }

    /// All ids, sorted.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The one with this id.
    pub fn get(&self, id: &str) -> Result<&Workload, UnknownName> {
        self.0
            .get(id)
            .ok_or_else(|| UnknownName::new("workload", id, self.ids()))
    }

    /// Those with these ids, in this order.
    pub fn select<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<&Workload>, UnknownName> {
        ids.into_iter().map(|id| self.get(id)).collect()
    }
}

/// Text that must be right, or else is not `what`.
fn checked<'de, D: Deserializer<'de>>(
    deserializer: D,
    is_right: impl FnOnce(&str) -> bool,
    what: &str,
) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    match is_right(&text) {
        true => Ok(Some(text)),
        false => Err(D::Error::custom(format_args!("`{text}` is not {what}"))),
    }
}

fn token<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let is_token = |method: &str| {
        !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    checked(deserializer, is_token, "a method; write one like `GET`")
}

fn call<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let is_name = |part: &str| {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        !part.is_empty() && part.chars().all(is_letter)
    };
    let is_call = |call: &str| {
        let parts = call.split_once('/');
        parts.is_some_and(|(service, method)| is_name(service) && is_name(method))
    };
    checked(
        deserializer,
        is_call,
        "a call; write one like `package.Service/Method`",
    )
}

fn path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let is_path =
        |path: &str| path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
    let what = "a path; it must begin with `/` and contain no blanks";
    checked(deserializer, is_path, what)
}

fn status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    match u16::deserialize(deserializer)? {
        status @ 200..=599 => Ok(status),
        other => Err(D::Error::custom(format!(
            "{other} is not a final status; write one from 200 to 599"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::without_field;
    use tempfile::TempDir;

    const SSE: &str = r#"title = "Server-sent page"
about = "A page as one event."
origin = "datastar"
[request]
method = "GET"
path = "/sse"
[response]
status = 200
content_type = "text/event-stream"
body = { datastar_patch_of = "page-100k.html" }
headers = { "cache-control" = "no-cache" }
log_lines = 1
"#;

    fn read(text: &str) -> Result<Workloads, String> {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("sse.toml"), text).unwrap();
        std::fs::write(folder.path().join("README.md"), "no workload").unwrap();
        Workloads::read(folder.path()).map_err(|error| {
            let path = format!("{}/", folder.path().display());
            without_field(&error.to_string().replace(&path, ""))
        })
    }

    #[test]
    fn every_field_is_read() {
        let workloads = read(SSE).unwrap();
        assert_eq!(workloads.ids().collect::<Vec<_>>(), ["sse"]);
        let sse = workloads.get("sse").unwrap();
        assert_eq!(
            (sse.id.as_str(), sse.title.as_str()),
            ("sse", "Server-sent page")
        );
        assert_eq!(
            (sse.about.as_str(), sse.origin.as_deref()),
            ("A page as one event.", Some("datastar"))
        );
        let request = Request::Http {
            method: "GET".into(),
            path: "/sse".into(),
            protocol: Protocol::Http11,
        };
        assert_eq!(sse.request, request);
        let response = &sse.response;
        assert_eq!((response.status, response.log_lines), (200, 1));
        assert_eq!(response.content_type, "text/event-stream");
        assert_eq!(
            response.body,
            ExpectedBody::DatastarPatchOf("page-100k.html".into())
        );
        assert_eq!(response.headers["cache-control"], "no-cache");
    }

    #[test]
    fn faults_are_reported_with_file_line_field_and_nearest_name() {
        for (from, to, expected) in [
            ("about =", "abuot =", "sse.toml:2: unknown field `abuot`"),
            ("about =", "abuot =", "did you mean `about`?"),
            ("path =", "pth =", "sse.toml:6: unknown field `pth`"),
            (
                "datastar_patch_of",
                "datastar_pach_of",
                "did you mean `datastar_patch_of`?",
            ),
            ("method = \"GET\"\n", "", "missing field `method`"),
            ("method = \"GET\"\n", "", "sse.toml:4: "),
            ("\"/sse\"", "\"sse\"", "sse.toml:6: `sse` is not a path"),
            ("\"GET\"", "\"G T\"", "sse.toml:5: `G T` is not a method"),
            ("200", "99", "sse.toml:8: 99 is not a final status"),
            (
                "200",
                "\"ok\"",
                "sse.toml:8: invalid type: string \"ok\", expected u16",
            ),
            ("[response]", "[response", "sse.toml:7: "),
            (
                "[response]",
                "protocol = \"h3\"\n[response]",
                "sse.toml:7: unknown variant `h3`, expected `http/1.1` or `h2`",
            ),
            (
                "[response]",
                "protocol = \"http/11\"\n[response]",
                "did you mean `http/1.1`?",
            ),
            (
                "[response]",
                "tsl = true\n[response]",
                "did you mean `tls`?",
            ),
            (
                "[response]",
                "tls = \"yes\"\n[response]",
                "sse.toml:7: invalid type: string \"yes\", expected a boolean",
            ),
        ] {
            let error = read(&SSE.replace(from, to)).unwrap_err();
            assert!(error.contains(expected), "{error}\nlacks {expected}");
        }
    }

    #[test]
    fn version_and_tls_make_the_protocol() {
        let protocol = |text: &str, lines: &str| {
            let text = text.replace("[request]\n", &format!("[request]\n{lines}"));
            let workloads = read(&text).unwrap();
            workloads.get("sse").unwrap().protocol()
        };
        for (lines, http) in [
            ("", Protocol::Http11),
            ("protocol = \"http/1.1\"\n", Protocol::Http11),
            ("tls = true\n", Protocol::Https11),
            ("protocol = \"h2\"\n", Protocol::H2c),
            ("protocol = \"h2\"\ntls = true\n", Protocol::H2),
        ] {
            assert_eq!(protocol(SSE, lines), http, "{lines}");
        }
        for (lines, grpc) in [
            ("", Protocol::Grpc),
            ("protocol = \"h2\"\n", Protocol::Grpc),
            ("tls = true\n", Protocol::GrpcTls),
        ] {
            assert_eq!(protocol(CALL, lines), grpc, "{lines}");
        }
    }

    const CALL: &str = r#"title = "Unary call"
about = "A call."
origin = "hydragen"
[request]
grpc = "prony.echo.v1.Echo/Unary"
message = { 1 = "r" }
[response]
status = 200
content_type = "application/grpc"
headers = { "grpc-status" = "0" }
body = { message = { 1 = "r" } }
"#;

    #[test]
    fn a_call_is_read_and_its_faults_are_reported() {
        let workloads = read(CALL).unwrap();
        let call = workloads.get("sse").unwrap();
        let Request::Grpc { path, message, .. } = &call.request else {
            panic!("{:?}", call.request);
        };
        assert_eq!(path, "/prony.echo.v1.Echo/Unary");
        assert_eq!(message.encode(), b"\x0a\x01r");
        assert_eq!(call.response.body, ExpectedBody::Message(message.clone()));
        for (from, to, expected) in [
            (
                "Echo/Unary",
                "Echo.Unary",
                "sse.toml:5: `prony.echo.v1.Echo.Unary` is not a call",
            ),
            (
                "message = { 1 = \"r\" }\n[",
                "[",
                "has `grpc` and `message`",
            ),
            (
                "grpc =",
                "path = \"/\"\ngrpc =",
                "neither `method` nor `path`",
            ),
            (
                "grpc = \"prony.echo.v1.Echo/Unary\"",
                "method = \"GET\"\npath = \"/\"",
                "name the call with `grpc`",
            ),
            (
                "grpc =",
                "protocol = \"http/1.1\"\ngrpc =",
                "gRPC needs HTTP/2",
            ),
            (
                "message = { 1",
                "message = { one",
                "sse.toml:6: `one` is not a field number",
            ),
        ] {
            let error = read(&CALL.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(expected), "{error}\nlacks {expected}");
        }
    }

    #[test]
    fn an_unknown_id_is_reported_with_the_nearest() {
        let workloads = read(SSE).unwrap();
        assert_eq!(workloads.select(["sse"]).unwrap().len(), 1);
        let error = workloads.select(["sse", "sse-2k"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no workload `sse-2k`; did you mean `sse`?"
        );
    }

    #[test]
    fn a_missing_folder_is_reported() {
        let error = Workloads::read(Path::new("no/such/folder")).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("cannot read no/such/folder: "),
            "{error}"
        );
    }
}
