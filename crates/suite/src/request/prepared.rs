//! A request with the values of its variables and the content of its files, ready for any server.

use std::collections::BTreeMap;
use std::ffi::OsString;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use prony_load::wire::grpc::{Call, CallKind};
use prony_load::{
    ALL_CODINGS, Accepted, HttpUrl, LONGEST_BODY, RequestParts, RequestSet, TargetError,
    WireRequest,
};
use prony_model::Protocol;

use super::value::{Resolver, Secrets, Unset, Value};
use super::{HttpRequest, Request};
use crate::files::{AssetError, Files};
use crate::one_or_more::OneOrMore;
use crate::workload::Exchange;

/// Some host and port, to see whether HTTP can express a request.
const ANY_AUTHORITY: &str = "127.0.0.1:1";
/// The longest path with its query: no server takes a longer one.
const LONGEST_TARGET: usize = 60_000;
/// The most bytes of header fields.
const MOST_HEADER_BYTES: usize = 1024 * 1024;
/// What a query shows as it is (RFC 3986, section 2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Why a request cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// A variable has no usable value.
    #[error(
        "workload `{workload}`: its {what} is the environment variable {variable}, which is {why}; set it: export {variable}=…"
    )]
    Variable {
        /// The workload's id.
        workload: String,
        /// What needs it.
        what: String,
        /// Its name.
        variable: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] AssetError),
    /// HTTP cannot express it, or it is too long.
    #[error("workload `{workload}` has a request that cannot be sent: {reason}")]
    Invalid {
        /// The workload's id.
        workload: String,
        /// Why.
        reason: String,
    },
}

/// The request of a workload, ready for any server.
#[derive(Clone)]
pub struct PreparedRequest {
    content: Content,
    secrets: Secrets,
}

#[derive(Clone)]
enum Content {
    Http(PreparedHttp),
    Grpc {
        path: String,
        message: Vec<u8>,
        kind: CallKind,
        scheme: &'static str,
    },
}

/// An HTTP request as it is sent.
#[derive(Clone)]
pub(crate) struct PreparedHttp {
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) target: String,
    /// `Name: value` lines.
    pub(crate) headers: Vec<String>,
    pub(crate) body: Vec<u8>,
    protocol: Protocol,
    accepted: Accepted,
}

impl PreparedRequest {
    /// The request of `workload`, with the values of environment variables and the content of files.
    ///
    /// # Errors
    ///
    /// If a variable is not set, a file is unusable, or the request cannot be sent.
    pub fn new(workload: Exchange<'_>, files: &Files) -> Result<Self, PrepareError> {
        Self::with(workload, files, &|name| std::env::var_os(name))
    }

    /// The same with other variables.
    pub(crate) fn with(
        workload: Exchange<'_>,
        files: &Files,
        variables: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Self, PrepareError> {
        let mut preparation = Preparation {
            workload: workload.id,
            files,
            resolver: Resolver::new(variables),
        };
        let content = match workload.request {
            Request::Http(request) => Content::Http(preparation.http(request)?),
            Request::Grpc { path, message, .. } => Content::Grpc {
                path: path.clone(),
                message: message.encode(),
                kind: CallKind::of(false, workload.response.is_stream()),
                scheme: workload.protocol().scheme(),
            },
        };
        let secrets = preparation.resolver.secrets;
        let prepared = Self { content, secrets };
        match prepared.encode(ANY_AUTHORITY) {
            Ok(_) => Ok(prepared),
            Err(reason) => Err(PrepareError::Invalid {
                workload: workload.id.to_owned(),
                reason,
            }),
        }
    }

    /// The URL, with `***` for secrets, and the request to the server with this host and port.
    ///
    /// # Errors
    ///
    /// If HTTP cannot express it.
    pub fn encode(&self, authority: &str) -> Result<(String, WireRequest), String> {
        let (url, request) = match &self.content {
            Content::Http(http) => http.encode(authority),
            Content::Grpc {
                path,
                message,
                kind,
                scheme,
            } => {
                let call = Call {
                    scheme,
                    kind: *kind,
                    ..Call::unary(path, authority, message)
                };
                let call = call.encode().map_err(|error| error.to_string());
                (
                    format!("{scheme}://{authority}{path}"),
                    call.map(WireRequest::from),
                )
            }
        };
        let request = request.map_err(|error| self.secrets.hide(&error))?;
        Ok((self.secrets.hide(&url), request))
    }

    /// The URL, with `***` for secrets, the same as it is requested, and the request to the server with this host and
    /// port; `None` for a gRPC call.
    pub fn http_parts(
        &self,
        authority: &str,
    ) -> Option<Result<(String, HttpUrl, RequestParts), String>> {
        let http = self.http()?;
        let url = http.url(authority);
        let parts = http.parts(&url).map_err(|error| self.secrets.hide(&error));
        Some(parts.map(|(server, parts)| (self.secrets.hide(&url), server, parts)))
    }

    /// The codings of responses that it accepts; `None` for a gRPC call, whose messages have their own.
    pub fn accepted(&self) -> Option<&Accepted> {
        self.http().map(|http| &http.accepted)
    }

    /// Its secrets.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// As it is sent, unless it is a gRPC call.
    pub(crate) fn http(&self) -> Option<&PreparedHttp> {
        match &self.content {
            Content::Http(http) => Some(http),
            Content::Grpc { .. } => None,
        }
    }
}

impl PreparedHttp {
    fn encode(&self, authority: &str) -> (String, Result<WireRequest, String>) {
        let url = self.url(authority);
        let request = self.parts(&url).and_then(|(_, parts)| {
            let encoded = RequestSet::from(parts).encode(self.protocol.into());
            encoded.map_err(|error| error.to_string())
        });
        (url, request)
    }

    fn url(&self, authority: &str) -> String {
        format!("{}://{authority}{}", self.protocol.scheme(), self.target)
    }

    fn parts(&self, url: &str) -> Result<(HttpUrl, RequestParts), String> {
        let url: HttpUrl = url
            .parse()
            .map_err(|error: TargetError| error.to_string())?;
        let parts = RequestParts::new(&self.method, &url, &self.headers, &self.body);
        let parts = parts.map_err(|error| error.to_string())?;
        Ok((url, parts))
    }
}

/// What preparing a request needs.
pub(super) struct Preparation<'a> {
    workload: &'a str,
    files: &'a Files,
    resolver: Resolver<'a>,
}

impl Preparation<'_> {
    /// The text of a value; `what` it is for.
    pub(super) fn text(&mut self, what: &str, value: &Value) -> Result<String, PrepareError> {
        let text = self.resolver.text(value);
        text.map_err(|Unset { variable, why }| PrepareError::Variable {
            workload: self.workload.to_owned(),
            what: what.to_owned(),
            variable,
            why,
        })
    }

    /// The content of a file to send.
    pub(super) fn file(&self, name: &str) -> Result<Vec<u8>, PrepareError> {
        let file = self.files.file(self.workload, name)?;
        match file.content.is_empty() {
            false => Ok(file.content),
            true => Err(PrepareError::File(AssetError::Empty {
                workload: self.workload.to_owned(),
                path: file.path,
            })),
        }
    }

    /// Names with the text of their values.
    pub(super) fn pairs(
        &mut self,
        kind: &str,
        fields: &BTreeMap<String, OneOrMore<Value>>,
    ) -> Result<Vec<(String, String)>, PrepareError> {
        let mut pairs = Vec::new();
        for (name, values) in fields {
            for value in values.as_slice() {
                let text = self.text(&format!("{kind} `{name}`"), value)?;
                pairs.push((name.clone(), text));
            }
        }
        Ok(pairs)
    }

    fn http(&mut self, request: &HttpRequest) -> Result<PreparedHttp, PrepareError> {
        let target = self.target(request)?;
        let mut headers = self.headers(request)?;
        let mut body = Vec::new();
        if let Some(declared) = &request.body {
            let (bytes, media) = declared.encode(self)?;
            if !request.has_header("content-type") {
                headers.push(format!("content-type: {media}"));
            }
            body = bytes;
        }
        let header_bytes = headers.iter().map(String::len).sum::<usize>();
        self.limit("the path and its query", target.len(), LONGEST_TARGET)?;
        self.limit("the headers", header_bytes, MOST_HEADER_BYTES)?;
        self.limit("the body", body.len(), LONGEST_BODY as usize)?;
        let accepted = headers.iter().filter_map(|line| line.split_once(": "));
        let mut accepted = accepted
            .filter(|(name, _)| name.eq_ignore_ascii_case("accept-encoding"))
            .map(|(_, value)| Accepted::of(value));
        Ok(PreparedHttp {
            method: request.method.clone(),
            target,
            accepted: accepted.next_back().unwrap_or_default(),
            headers,
            body,
            protocol: request.protocol,
        })
    }

    fn limit(&self, what: &str, bytes: usize, most: usize) -> Result<(), PrepareError> {
        match bytes <= most {
            true => Ok(()),
            false => Err(self.invalid(format!(
                "{what} takes {bytes} bytes; at most {most} are allowed"
            ))),
        }
    }

    fn invalid(&self, reason: String) -> PrepareError {
        PrepareError::Invalid {
            workload: self.workload.to_owned(),
            reason,
        }
    }

    fn target(&mut self, request: &HttpRequest) -> Result<String, PrepareError> {
        let mut target = request.path.clone();
        for (name, value) in self.pairs("query field", &request.query)? {
            target.push(if target.contains('?') { '&' } else { '?' });
            target.push_str(&format!("{}={}", in_query(&name), in_query(&value)));
        }
        Ok(target)
    }

    fn headers(&mut self, request: &HttpRequest) -> Result<Vec<String>, PrepareError> {
        let mut lines = Vec::new();
        for (name, value) in &request.headers {
            let value = self.text(&format!("header `{name}`"), value)?;
            lines.push(format!("{name}: {value}"));
        }
        if request.compressed {
            lines.push(format!("accept-encoding: {ALL_CODINGS}"));
        }
        if let Some(auth) = &request.basic_auth {
            let user = self.text("user", &auth.user)?;
            let password = self.text("password", &auth.password)?;
            if user.contains(':') {
                return Err(self.invalid("the user of `basic_auth` contains a colon".into()));
            }
            let credentials = format!("{user}:{password}");
            self.resolver.secrets.add(&credentials);
            let credentials = BASE64_STANDARD.encode(credentials);
            lines.push(format!("authorization: Basic {credentials}"));
        }
        let mut cookies = Vec::new();
        for (name, value) in &request.cookies {
            let value = self.text(&format!("cookie `{name}`"), value)?;
            if !value.bytes().all(is_in_cookie) {
                let reason =
                    format!("the value of cookie `{name}` has a byte that cookies cannot have");
                return Err(self.invalid(reason));
            }
            cookies.push(format!("{name}={value}"));
        }
        if !cookies.is_empty() {
            lines.push(format!("cookie: {}", cookies.join("; ")));
        }
        Ok(lines)
    }
}

/// The text as a part of a query.
pub(super) fn in_query(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

/// Whether the value of a cookie may have this byte (RFC 6265, section 4.1.1).
fn is_in_cookie(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\",;\\".contains(&byte)
}
