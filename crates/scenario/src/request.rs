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

/// The request of an entry. Its placeholders have their present values; the options that change the request are
/// applied.
pub(crate) fn request(
    request: &Request,
    is_compressed: bool,
    server: &HttpUrl,
    scope: &mut Scope<'_>,
) -> Result<ScenarioRequest, RequestFailure> {
    let Rendered {
        method,
        url,
        headers,
        body,
    } = scope.request(request)?;
    let url = url_of(&url)?;
    if !url.is_same_server(server) {
        return Err(RequestFailure::OtherServer {
            url: url.as_str().to_owned(),
            server: server.as_str().to_owned(),
        });
    }
    let mut fields = Vec::with_capacity(headers.len() + 2);
    for (name, value) in &headers {
        add_field(&mut fields, name, value)?;
    }
    if is_compressed && !has(&fields, &header::ACCEPT_ENCODING) {
        add_field(&mut fields, "accept-encoding", ALL_CODINGS)?;
    }
    for EntryOption { value, .. } in &request.options {
        if let OptionValue::Text(option, template) = value {
            apply(*option, &scope.text(template)?, &mut fields)?;
        }
    }
    let parts = RequestParts::of_fields(&method, url, fields, body)?;
    Ok(ScenarioRequest::new(parts)?)
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
