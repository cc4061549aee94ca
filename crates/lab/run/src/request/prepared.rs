//! A request with the values of its variables and the content of its files, ready for any server.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use prony_manifest::nearest;
use prony_model::Protocol;
use prony_traffic::{
    ALL_CODINGS, Accepted, Call, CallKind, Encode, HttpUrl, LONGEST_BODY, RequestParts,
    RequestTemplate, Scenario, Secrets, Sources, Template, Text, TextError, UrlError,
};
use prony_traffic::{Scheme, Traffic};

use super::value::{Resolver, Unset, Value};
use super::{BasicAuth, DeclaredRequest, HttpRequest};
use crate::files::{AssetError, Files};
use crate::one_or_more::OneOrMore;
use crate::response::ExpectedContent;
use crate::values::ValuesError;
use crate::workload::Exchange;

/// Some host and port, to see whether HTTP can express a request.
const ANY_AUTHORITY: &str = "127.0.0.1:1";
/// The longest path with its query: no server takes a longer one.
const LONGEST_TARGET: usize = 60_000;
/// The most bytes of header fields.
const MOST_HEADER_BYTES: usize = 1024 * 1024;

/// Why a request cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    #[error(
        "workload `{workload}`: its {what} is the environment variable {variable}, which is {why}; set it: export {variable}=…"
    )]
    Variable {
        workload: String,
        what: String,
        variable: String,
        why: &'static str,
    },
    /// Its values are unusable.
    #[error(transparent)]
    Values(#[from] ValuesError),
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] AssetError),
    #[error("workload `{workload}` has a request that cannot be sent: {reason}")]
    Invalid { workload: String, reason: String },
}

/// The request of a workload, ready for any server.
#[derive(Clone)]
pub struct PreparedRequest {
    content: PreparedContent,
    secrets: Secrets,
}

#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "most are the large one")]
enum PreparedContent {
    Http(PreparedHttp),
    Grpc {
        path: String,
        message: Vec<u8>,
        kind: CallKind,
        scheme: Scheme,
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
    /// How requests differ from this first one, if they do.
    differing: Option<Differing>,
}

/// The first of the requests of a workload.
struct FirstRequest {
    /// The path with its query.
    target: String,
    /// `Name: value` lines.
    headers: Vec<String>,
    body: Vec<u8>,
}

/// A request that differs each time.
#[derive(Clone)]
struct Differing {
    template: Arc<RequestTemplate>,
    sources: Sources,
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
        if let Some(reason) = refused(workload) {
            return Err(PrepareError::Invalid {
                workload: workload.id.to_owned(),
                reason: reason.to_owned(),
            });
        }
        let mut preparation = Preparation {
            workload: workload.id,
            files,
            resolver: Resolver::new(variables),
            sources: None,
        };
        if let Some(values) = workload.values {
            let values = values.prepare_with(workload.id, files, variables)?;
            preparation.resolver.secrets = values.secrets;
            preparation.sources = Some(values.sources);
        }
        let content = match workload.request {
            DeclaredRequest::Http(request) => PreparedContent::Http(preparation.http(request)?),
            DeclaredRequest::Grpc { path, message, .. } => PreparedContent::Grpc {
                path: path.clone(),
                message: message.encode(),
                kind: CallKind::of(false, workload.response.is_stream()),
                scheme: Scheme::of(workload.protocol()),
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

    /// The URL, with `***` for secrets and the names of values that differ, and the requests to the server with this
    /// host and port. Rows and counters begin again.
    ///
    /// # Errors
    ///
    /// If HTTP cannot express it.
    pub fn encode(&self, authority: &str) -> Result<(String, Traffic), String> {
        let (url, request) = match &self.content {
            PreparedContent::Http(http) => http.encode(authority),
            PreparedContent::Grpc {
                path,
                message,
                kind,
                scheme,
            } => {
                let call = Call {
                    scheme: *scheme,
                    kind: *kind,
                    ..Call::unary(path, authority, message.clone())
                };
                let checked = call.check().map_err(|error| error.to_string());
                (
                    format!("{}://{authority}{path}", scheme.name()),
                    checked.map(|()| call.into()),
                )
            }
        };
        let request = request.map_err(|error| self.secrets.hide(&error))?;
        Ok((self.secrets.hide(&url), request))
    }

    /// What looks like a placeholder in it.
    pub(crate) fn placeholder(&self) -> Option<String> {
        let http = self.http()?;
        let headers = http.headers.iter().map(String::as_str);
        let body = String::from_utf8_lossy(&http.body);
        // A path may have its braces encoded.
        let target = http.target.replace("%7B", "{").replace("%7D", "}");
        let texts = [target.as_str()].into_iter().chain(headers);
        let found = texts.chain([&*body]).find_map(prony_traffic::placeholder);
        found.map(|placeholder| self.secrets.hide(placeholder))
    }

    /// Whether numbers in it are drawn at random, so that the seed of a load matters.
    pub fn is_random(&self) -> bool {
        let differing = self.http().and_then(|http| http.differing.as_ref());
        differing.is_some_and(|differing| differing.sources.is_random())
    }

    /// The codings of responses that it accepts; `None` for a gRPC call, whose messages have their own.
    pub fn accepted(&self) -> Option<&Accepted> {
        self.http().map(|http| &http.accepted)
    }

    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// As it is sent, unless it is a gRPC call.
    pub(crate) fn http(&self) -> Option<&PreparedHttp> {
        match &self.content {
            PreparedContent::Http(http) => Some(http),
            PreparedContent::Grpc { .. } => None,
        }
    }
}

/// What does not go with values that differ, or kept cookies.
fn refused(workload: Exchange<'_>) -> Option<&'static str> {
    if let (DeclaredRequest::Grpc { .. }, Some(_)) = (workload.request, workload.values) {
        return Some("a gRPC call has no placeholders; remove `values`");
    }
    let body = workload.response.body.as_ref();
    let content = body.and_then(|body| body.content.as_ref());
    (workload.may_differ() && matches!(content, Some(ExpectedContent::LineOf(_)))).then_some(
        "`line_of` tests many responses to the same request; remove it, or `values` and `keep_cookies`",
    )
}

impl PreparedHttp {
    fn encode(&self, authority: &str) -> (String, Result<Traffic, String>) {
        let Some(differing) = &self.differing else {
            let url = self.url(authority);
            let request = self.parts(&url).and_then(|parts| {
                let requests = Traffic::requests(parts, self.protocol.into());
                requests.map_err(|error| error.to_string())
            });
            return (url, request);
        };
        let target = differing.template.target.shown();
        let url = format!("{}://{authority}{target}", self.protocol.scheme());
        let request = differing.at(authority, self.protocol);
        let request = request.map(|it| Traffic::flows_of(it, self.protocol.into()));
        (url, request)
    }

    fn url(&self, authority: &str) -> String {
        format!("{}://{authority}{}", self.protocol.scheme(), self.target)
    }

    fn parts(&self, url: &str) -> Result<RequestParts, String> {
        let url: HttpUrl = url.parse().map_err(|error: UrlError| error.to_string())?;
        let parts = RequestParts::new(&self.method, &url, &self.headers, &self.body);
        parts.map_err(|error| error.to_string())
    }
}

impl Differing {
    fn at(&self, authority: &str, protocol: Protocol) -> Result<Scenario, String> {
        let server = format!("{}://{authority}/", protocol.scheme());
        let server = server
            .parse()
            .map_err(|error: UrlError| error.to_string())?;
        let request = Scenario::of_template(Arc::clone(&self.template), server, &self.sources);
        request.map_err(|error| error.to_string())
    }

    /// The first request, if all of them can be sent.
    fn first(&self, protocol: Protocol) -> Result<FirstRequest, String> {
        let scenario = self.at(ANY_AUTHORITY, protocol)?;
        scenario
            .check_rows(|parts| {
                let fields = parts.fields().iter();
                // As in a line: `Name: value`.
                let lengths =
                    fields.map(|(name, value)| name.as_str().len() + ": ".len() + value.len());
                check_lengths(parts.url().path(), lengths, parts.body())
            })
            .map_err(|(row, reason)| format!("in row {row}, {reason}"))?;
        let parts = scenario.first();
        let lines = parts.fields().iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            format!("{name}: {value}")
        });
        Ok(FirstRequest {
            target: parts.url().path().to_owned(),
            headers: lines.collect(),
            body: parts.body().to_vec(),
        })
    }
}

/// What preparing a request needs.
pub(super) struct Preparation<'a> {
    workload: &'a str,
    files: &'a Files,
    resolver: Resolver<'a>,
    /// Where the values of placeholders come from; without them there are no placeholders.
    sources: Option<Sources>,
}

impl Preparation<'_> {
    /// The text of a value; `what` it is for.
    pub(super) fn text(
        &mut self,
        what: &str,
        value: &Value,
        encode: Encode,
    ) -> Result<Text, PrepareError> {
        let template = self.template(what, value)?;
        let text = template.encoded(encode, encode);
        text.map_err(|error| self.unusable(what, &error))
    }

    /// Text of the file itself; `what` it is for.
    pub(super) fn own_text(
        &mut self,
        what: &str,
        text: &str,
        encode_value: Encode,
    ) -> Result<Text, PrepareError> {
        let text = self
            .parsed(text)
            .and_then(|it| it.encoded(Encode::Unchanged, encode_value));
        text.map_err(|error| self.unusable(what, &error))
    }

    /// JSON of a body.
    pub(super) fn json(&self, text: &str) -> Result<Text, PrepareError> {
        let json = self.parsed(text).and_then(|template| template.json());
        json.map_err(|error| match (&error, &self.sources) {
            (TextError::Json(_), None) => self.invalid(format!(
                "the body: {error}; placeholders like {{{{name}}}} need the table `values`"
            )),
            _ => self.unusable("body", &error),
        })
    }

    fn parsed(&self, text: &str) -> Result<Template, TextError> {
        match &self.sources {
            Some(sources) => Template::parse(text, sources),
            None => Ok(Template::literal(text)),
        }
    }

    fn template(&mut self, what: &str, value: &Value) -> Result<Template, PrepareError> {
        if let Some(text) = value.in_file().filter(|_| self.sources.is_some()) {
            let template = self.parsed(text);
            let template = template.map_err(|error| self.unusable(what, &error))?;
            if let Some(text) = template.constant().filter(|_| value.is_secret()) {
                self.resolver.secrets.add(&text);
            }
            return Ok(template);
        }
        // The environment has no placeholders.
        let text = self.resolver.text(value);
        let text = text.map_err(|Unset { variable, why }| PrepareError::Variable {
            workload: self.workload.to_owned(),
            what: what.to_owned(),
            variable,
            why,
        })?;
        Ok(Template::literal(&text))
    }

    fn unusable(&self, what: &str, error: &TextError) -> PrepareError {
        let hint = match (error, &self.sources) {
            (TextError::Undefined { name }, Some(sources)) => {
                let known = sources.names().chain(["newUuid", "newDate"]);
                match nearest(name, known) {
                    Some(known) => format!("; did you mean `{known}`?"),
                    None => "; add it to the table `values`".to_owned(),
                }
            }
            _ => String::new(),
        };
        match error {
            TextError::Text(reason) => self.invalid(format!("its {what} {reason}")),
            _ => self.invalid(format!("its {what}: {error}{hint}")),
        }
    }

    /// The content of a file to send.
    pub(super) fn file(&self, name: &str) -> Result<Vec<u8>, PrepareError> {
        let file = self.files.file(self.workload, name)?;
        if file.content.is_empty() {
            Err(PrepareError::File(AssetError::Empty {
                workload: self.workload.to_owned(),
                path: file.path,
            }))
        } else {
            Ok(file.content)
        }
    }

    /// Names with the text of their values, as queries and forms have them.
    pub(super) fn pairs(
        &mut self,
        kind: &str,
        fields: &BTreeMap<String, OneOrMore<Value>>,
        encode: Encode,
    ) -> Result<Text, PrepareError> {
        let mut pairs = Text::default();
        let mut separator: &[u8] = b"";
        for (name, values) in fields {
            let what = format!("{kind} `{name}`");
            let name = Template::literal(name).encoded(encode, encode);
            let name = name.map_err(|error| self.unusable(&what, &error))?;
            for value in values.as_slice() {
                pairs.push(separator);
                pairs.append(name.clone());
                pairs.push(b"=");
                pairs.append(self.text(&what, value, encode)?);
                separator = b"&";
            }
        }
        Ok(pairs)
    }

    fn http(&mut self, request: &HttpRequest) -> Result<PreparedHttp, PrepareError> {
        let target = self.target(request)?;
        let mut fields = self.fields(request)?;
        let mut body = Text::default();
        if let Some(declared) = &request.body {
            let (bytes, media) = declared.encode(self)?;
            if !request.has_header("content-type") {
                fields.push(("content-type".to_owned(), Text::literal(media)));
            }
            body = bytes;
        }
        let accepted = accepted(&fields);
        let template = RequestTemplate {
            method: request.method.clone(),
            target,
            fields,
            body,
            keeps_cookies: request.keep_cookies,
        };
        let (differing, first) = match first_of(&template) {
            Some(first) if !template.keeps_cookies => {
                let lengths = first.headers.iter().map(String::len);
                let checked = check_lengths(&first.target, lengths, &first.body);
                checked.map_err(|reason| self.invalid(reason))?;
                (None, first)
            }
            _ => {
                let differing = Differing {
                    template: Arc::new(template),
                    sources: self.sources.clone().unwrap_or_default(),
                };
                let first = differing.first(request.protocol);
                let first =
                    first.map_err(|reason| self.invalid(self.resolver.secrets.hide(&reason)))?;
                (Some(differing), first)
            }
        };
        Ok(PreparedHttp {
            method: request.method.clone(),
            target: first.target,
            accepted,
            headers: first.headers,
            body: first.body,
            protocol: request.protocol,
            differing,
        })
    }

    fn invalid(&self, reason: String) -> PrepareError {
        PrepareError::Invalid {
            workload: self.workload.to_owned(),
            reason,
        }
    }

    fn target(&mut self, request: &HttpRequest) -> Result<Text, PrepareError> {
        if self.sources.is_none() && !super::is_graphic(&request.path) {
            return Err(self.invalid(format!(
                "its path `{}` contains a blank; a placeholder needs the table `values`",
                request.path
            )));
        }
        let mut target = self.own_text("path", &request.path, Encode::Path)?;
        if !request.query.is_empty() {
            let has_query = request.path.contains('?');
            target.push(if has_query { b"&" } else { b"?" });
            target.append(self.pairs("query field", &request.query, Encode::Query)?);
        }
        Ok(target)
    }

    fn fields(&mut self, request: &HttpRequest) -> Result<Vec<(String, Text)>, PrepareError> {
        let mut fields = Vec::new();
        for (name, value) in &request.headers {
            let value = self.text(&format!("header `{name}`"), value, Encode::Unchanged)?;
            fields.push((name.clone(), value));
        }
        if request.compressed {
            fields.push(("accept-encoding".to_owned(), Text::literal(ALL_CODINGS)));
        }
        if let Some(auth) = &request.basic_auth {
            fields.push(("authorization".to_owned(), self.basic_auth(auth)?));
        }
        if !request.cookies.is_empty() {
            fields.push(("cookie".to_owned(), self.cookies(&request.cookies)?));
        }
        Ok(fields)
    }

    fn basic_auth(&mut self, auth: &BasicAuth) -> Result<Text, PrepareError> {
        let mut credentials = self.text("user", &auth.user, Encode::User)?;
        credentials.push(b":");
        credentials.append(self.text("password", &auth.password, Encode::Unchanged)?);
        if let Some(credentials) = credentials.constant() {
            let credentials = String::from_utf8_lossy(&credentials);
            self.resolver.secrets.add(&credentials);
        }
        let mut value = Text::literal("Basic ");
        value.append(credentials.in_base64());
        Ok(value)
    }

    fn cookies(&mut self, cookies: &BTreeMap<String, Value>) -> Result<Text, PrepareError> {
        let mut pairs = Text::default();
        let mut separator: &[u8] = b"";
        for (name, value) in cookies {
            let value = self.text(&format!("cookie `{name}`"), value, Encode::Cookie)?;
            pairs.push(separator);
            pairs.push(format!("{name}=").as_bytes());
            pairs.append(value);
            separator = b"; ";
        }
        Ok(pairs)
    }
}

/// Sees whether a request is within the limits.
fn check_lengths(
    target: &str,
    headers: impl Iterator<Item = usize>,
    body: &[u8],
) -> Result<(), String> {
    for (what, bytes, most) in [
        ("the path and its query take", target.len(), LONGEST_TARGET),
        ("the headers take", headers.sum(), MOST_HEADER_BYTES),
        ("the body takes", body.len(), LONGEST_BODY as usize),
    ] {
        if bytes > most {
            return Err(format!("{what} {bytes} bytes; at most {most} are allowed"));
        }
    }
    Ok(())
}

/// The codings that a request with these fields accepts.
fn accepted(fields: &[(String, Text)]) -> Accepted {
    let is_meant = |(name, _): &&(String, Text)| name.eq_ignore_ascii_case("accept-encoding");
    match fields
        .iter()
        .rfind(is_meant)
        .map(|(_, text)| text.constant())
    {
        None => Accepted::default(),
        Some(Some(value)) => Accepted::of(&String::from_utf8_lossy(&value)),
        // Which request had which value, nobody knows when its response is checked.
        Some(None) => Accepted::all(),
    }
}

/// The request, if it never differs.
fn first_of(template: &RequestTemplate) -> Option<FirstRequest> {
    let constant = |text: &Text| Some(String::from_utf8_lossy(&text.constant()?).into_owned());
    let line = |(name, value): &(String, Text)| Some(format!("{name}: {}", constant(value)?));
    let lines: Option<Vec<String>> = template.fields.iter().map(line).collect();
    Some(FirstRequest {
        target: constant(&template.target)?,
        headers: lines?,
        body: template.body.constant()?,
    })
}
