//! The requests that users send.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue, header};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use prony_hurl::ast::{EntryOption, OptionValue, Request, TextOption};
use prony_hurl::evaluate::{Failure, Rendered, Scope};
use prony_load::{ALL_CODINGS, HttpUrl, RequestError, RequestParts, ScenarioRequest, TargetError};

/// What a URL does not have as it is (the path and query sets of the URL standard).
pub(crate) const NOT_IN_URLS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'^')
    .add(b'|')
    .add(b'\\');

/// Why a request cannot be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestFailure {
    #[error(transparent)]
    Failure(#[from] Failure),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("{url} is on another server than {server}; a load needs one server")]
    OtherServer { url: String, server: String },
}

type Field = (HeaderName, HeaderValue);

/// A request of that method without fields or body, for [`render`].
pub(crate) fn blank(method: &str, server: &HttpUrl) -> Result<ScenarioRequest, RequestError> {
    let parts = RequestParts::of_fields(method, server.clone(), Vec::new(), Vec::new())?;
    ScenarioRequest::new(parts)
}

/// Makes `rendered` the request of an entry, whose placeholders have their present values. The options that change the
/// request are applied.
pub(crate) fn render(
    request: &Request,
    is_compressed: bool,
    server: &Server,
    scope: &mut Scope<'_>,
    rendered: &mut ScenarioRequest,
) -> Result<(), RequestFailure> {
    let Rendered {
        url, headers, body, ..
    } = scope.request(request)?;
    match server.path_of(&url) {
        Some(path) if is_plain(path) => rendered.set_path(path)?,
        _ => rendered.set_path(server.url_of(&url)?.path())?,
    }
    let fields = rendered.fields_mut();
    fields.clear();
    for (name, value) in &headers {
        add_field(fields, name, value)?;
    }
    if is_compressed && !has(fields, &header::ACCEPT_ENCODING) {
        add_field(fields, "accept-encoding", ALL_CODINGS)?;
    }
    for EntryOption { value, .. } in &request.options {
        if let OptionValue::Text(option, template) = value {
            apply(*option, &scope.text(template)?, fields)?;
        }
    }
    *rendered.body_mut() = body;
    Ok(())
}

/// The one server of a scenario.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) url: HttpUrl,
    /// How nearly all URLs of the file begin: `http://localhost:8080`.
    prefix: String,
}

impl Server {
    pub(crate) fn new(url: HttpUrl) -> Self {
        let prefix = format!("{}://{}", url.scheme().name(), url.host_header());
        Self { url, prefix }
    }

    /// The path and query of a URL, if that begins as nearly all do.
    fn path_of<'u>(&self, url: &'u str) -> Option<&'u str> {
        let path = url.strip_prefix(&self.prefix)?;
        path.starts_with('/').then_some(path)
    }

    /// Parses a URL, which must be on this server.
    fn url_of(&self, url: &str) -> Result<HttpUrl, RequestFailure> {
        let url = url_of(url)?;
        match url.is_same_server(&self.url) {
            true => Ok(url),
            false => Err(RequestFailure::OtherServer {
                url: url.as_str().to_owned(),
                server: self.prefix.clone(),
            }),
        }
    }
}

/// Whether a path has only what URLs have as it is.
fn is_plain(path: &str) -> bool {
    path.bytes()
        .all(|byte| byte.is_ascii_graphic() && !b"\"<>`{}^|\\#".contains(&byte))
}

/// Parses a URL, after it has encoded what no URL has.
pub(crate) fn url_of(url: &str) -> Result<HttpUrl, TargetError> {
    let encoded = utf8_percent_encode(url, NOT_IN_URLS).to_string();
    encoded.parse()
}

fn apply(option: TextOption, text: &str, fields: &mut Vec<Field>) -> Result<(), RequestError> {
    match option {
        TextOption::Header => {
            let (name, value) = text
                .split_once(':')
                .ok_or_else(|| RequestError::HeaderShape(text.to_owned()))?;
            add_field(fields, name.trim(), value.trim())
        }
        TextOption::NoHeader => {
            let name = text.trim();
            fields.retain(|(field, _)| !field.as_str().eq_ignore_ascii_case(name));
            Ok(())
        }
        TextOption::User if !has(fields, &header::AUTHORIZATION) => {
            let value = format!("Basic {}", STANDARD.encode(text));
            add_field(fields, "authorization", &value)
        }
        // The others are not supported.
        _ => Ok(()),
    }
}

fn has(fields: &[Field], name: &HeaderName) -> bool {
    fields.iter().any(|(field, _)| field == name)
}

fn add_field(fields: &mut Vec<Field>, name: &str, value: &str) -> Result<(), RequestError> {
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| RequestError::HeaderName(name.to_owned()))?;
    if matches!(parsed, header::CONTENT_LENGTH | header::TRANSFER_ENCODING) {
        return Err(RequestError::Framing(name.to_owned()));
    }
    let value =
        HeaderValue::from_str(value).map_err(|_| RequestError::HeaderValue(name.to_owned()))?;
    fields.push((parsed, value));
    Ok(())
}

/// Adds the cookies that a user keeps to a request. Those that the file gives come behind them, as for Hurl.
pub(crate) fn add_cookies(request: &mut ScenarioRequest, cookies: &str) {
    let fields = request.fields_mut();
    let own = fields.iter().position(|(name, _)| name == header::COOKIE);
    let mut value = cookies.as_bytes().to_vec();
    if let Some(at) = own {
        value.extend_from_slice(b"; ");
        value.extend_from_slice(fields.remove(at).1.as_bytes());
    }
    // A cookie with a byte that no header may have was not accepted.
    if let Ok(value) = HeaderValue::from_bytes(&value) {
        fields.push((header::COOKIE, value));
    }
}
