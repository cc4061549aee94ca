//! The requests that users send.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue, header};
use prony_hurl::ast::{EntryOption, OptionValue, Request, Template, TextOption};
use prony_hurl::evaluate::{Failure, Rendered, Scope};

use crate::coding::ALL_CODINGS;
use crate::options::EntryOptions;
use crate::parts::{RequestError, RequestParts, add_field, add_user};
use crate::redirect;
use crate::request_template::TemplateError;
use crate::serde_http::Field;
use crate::target;
use crate::turn::ScenarioRequest;
use crate::url::{HttpUrl, UrlError};

/// What a request has unless its entry sets or removes it, as requests of Hurl do.
const DEFAULT_FIELDS: [(HeaderName, HeaderValue); 2] = [
    (header::ACCEPT, HeaderValue::from_static("*/*")),
    (
        header::USER_AGENT,
        HeaderValue::from_static(concat!("prony/", env!("CARGO_PKG_VERSION"))),
    ),
];

/// Why a request cannot be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestFailure {
    #[error(transparent)]
    Failure(#[from] Failure),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error(transparent)]
    Target(#[from] UrlError),
    #[error("{url} is on another server than {server}; a load needs one server")]
    OtherServer { url: String, server: String },
}

/// A request of that method without fields or body, for [`render`].
pub(crate) fn blank(method: &str, server: &HttpUrl) -> Result<ScenarioRequest, RequestError> {
    let parts = RequestParts::of_fields(method, server.clone(), Vec::new(), Vec::new())?;
    ScenarioRequest::new(parts)
}

/// Makes `rendered` the request of an entry, whose placeholders have their present values. The options that change the
/// request are applied.
pub(crate) fn render(
    request: &Request,
    options: &EntryOptions,
    server: &Server,
    scope: &mut Scope<'_>,
    rendered: &mut ScenarioRequest,
) -> Result<(), RequestFailure> {
    let Rendered {
        url, headers, body, ..
    } = scope.request(request)?;
    let other = match server.path_of(&url) {
        Some(path) if !path.contains("/.") => {
            rendered.set_path(path)?;
            None
        }
        _ => {
            let target = server.target_of(&url, options.keeps_dots)?;
            rendered.set_path(target.path())?;
            Some(target)
        }
    };
    let fields = rendered.fields_mut();
    fields.clear();
    for (name, value) in &headers {
        add_field(fields, name, value)?;
    }
    if options.is_compressed && !has(fields, &header::ACCEPT_ENCODING) {
        add_field(fields, "accept-encoding", ALL_CODINGS)?;
    }
    let texts = request.options.iter().filter_map(as_text);
    let texts = texts.map(|(option, template)| Ok((option, scope.text(template)?)));
    let texts: Vec<(TextOption, String)> = texts.collect::<Result<_, Failure>>()?;
    for (option, text) in &texts {
        apply(*option, text, fields)?;
    }
    if let Some(target) = other {
        add_user(fields, &target);
    }
    for (name, value) in DEFAULT_FIELDS {
        if !has(fields, &name) && !texts.iter().any(|it| is_without(it, &name)) {
            fields.push((name, value));
        }
    }
    *rendered.body_mut() = body;
    Ok(())
}

/// Makes `next` the request that follows a redirect to `target`, which is on the same server.
pub(crate) fn follow(
    next: &mut ScenarioRequest,
    target: &HttpUrl,
    status: u16,
    entry: &Request,
) -> Result<(), RequestError> {
    redirect::change_method(next, status, entry);
    next.set_path(target.path())?;
    add_user(next.fields_mut(), target);
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
        let prefix = url.origin().to_owned();
        Self { url, prefix }
    }

    /// The path and query of a URL, if that begins as nearly all do.
    fn path_of<'u>(&self, url: &'u str) -> Option<&'u str> {
        let path = url.strip_prefix(&self.prefix)?;
        path.starts_with('/').then_some(path)
    }

    /// Parses a URL, which must be on this server.
    pub(crate) fn target_of(&self, url: &str, keeps_dots: bool) -> Result<HttpUrl, RequestFailure> {
        let target = target::parse(url, keeps_dots)?;
        if target.is_same_server(&self.url) {
            Ok(target)
        } else {
            Err(RequestFailure::OtherServer {
                url: target.as_str().to_owned(),
                server: self.prefix.clone(),
            })
        }
    }
}

fn as_text(EntryOption { value, .. }: &EntryOption) -> Option<(TextOption, &Template)> {
    match value {
        OptionValue::Text(option, template) => Some((*option, template)),
        _ => None,
    }
}

/// Whether an option removes this field.
fn is_without((option, text): &(TextOption, String), name: &HeaderName) -> bool {
    *option == TextOption::NoHeader && text.trim().eq_ignore_ascii_case(name.as_str())
}

fn authorization(user: &str) -> String {
    format!("Basic {}", STANDARD.encode(user))
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
            add_field(fields, "authorization", &authorization(text))
        }
        // The others are not supported.
        _ => Ok(()),
    }
}

fn has(fields: &[Field], name: &HeaderName) -> bool {
    fields.iter().any(|(field, _)| field == name)
}

/// The cookies that a request has by its entry.
pub(crate) fn given_cookies(request: &ScenarioRequest) -> Option<HeaderValue> {
    let fields = request.parts().fields().iter();
    let cookies = fields.filter(|(name, _)| name == header::COOKIE);
    let all: Vec<&[u8]> = cookies.map(|(_, value)| value.as_bytes()).collect();
    let joined = HeaderValue::from_bytes(&all.join(&b"; "[..])).ok();
    joined.filter(|_| !all.is_empty())
}

/// Gives a request the cookies that a user keeps. Those that its entry gives come behind them, as for Hurl.
pub(crate) fn set_cookies(
    request: &mut ScenarioRequest,
    kept: Option<&str>,
    given: Option<&HeaderValue>,
) {
    let fields = request.fields_mut();
    fields.retain(|(name, _)| name != header::COOKIE);
    let kept = kept.map(str::as_bytes);
    let all: Vec<&[u8]> = kept
        .into_iter()
        .chain(given.map(HeaderValue::as_bytes))
        .collect();
    if all.is_empty() {
        return;
    }
    // A cookie with a byte that no header may have was not accepted.
    if let Ok(value) = HeaderValue::from_bytes(&all.join(&b"; "[..])) {
        fields.push((header::COOKIE, value));
    }
}
