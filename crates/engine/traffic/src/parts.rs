//! Requests, before they are encoded for a version of HTTP.

use std::sync::Arc;

use http::uri::InvalidUri;
use http::{HeaderName, HeaderValue, Method, header};
use serde::{Deserialize, Serialize};

use crate::call::CallError;
use crate::response::excerpt;
use crate::serde_http::Field;
use crate::url::HttpUrl;

/// Why a request is invalid.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error("`{0}` is not an HTTP method")]
    Method(String),
    #[error("`{0}` is not a header: write it as `Name: value`")]
    HeaderShape(String),
    #[error("`{0}` is not the name of a header")]
    HeaderName(String),
    #[error("the value of header `{0}` contains a byte that is not allowed in a header")]
    HeaderValue(String),
    #[error("header `{0}` frames the body: Prony sets it itself, so leave it out")]
    Framing(String),
    #[error("a request has one header `Host`: remove the other one")]
    Hosts,
    #[error("{} is not the path of a URL: {reason}", excerpt(path.as_bytes(), 0))]
    Path { path: String, reason: InvalidUri },
    #[error("CONNECT opens a tunnel, which no further request can use")]
    Tunnel,
    #[error("CONNECT opens a tunnel, which is not supported over HTTP/2")]
    Connect,
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("a load needs at least one request")]
    None,
    #[error("the weights must be one for each request, at least one of them above 0")]
    Weights,
}

/// A request, before it is encoded for a version of HTTP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestParts {
    #[serde(with = "crate::serde_http::method")]
    method: Method,
    url: HttpUrl,
    #[serde(with = "crate::serde_http::fields")]
    fields: Vec<Field>,
    /// Shared by the clones: it may be long.
    #[serde(with = "crate::base64")]
    body: Arc<Vec<u8>>,
}

impl RequestParts {
    /// A request for `url`. `headers` are `Name: value` lines.
    pub fn new(
        method: &str,
        url: &HttpUrl,
        headers: &[String],
        body: &[u8],
    ) -> Result<Self, RequestError> {
        Self::of_fields(method, url.clone(), header_fields(headers)?, body.to_vec())
    }

    /// A request of these fields, none of which frames the body. The user of the URL is sent, unless the fields have
    /// another.
    pub(crate) fn of_fields(
        method: &str,
        url: HttpUrl,
        mut fields: Vec<Field>,
        body: Vec<u8>,
    ) -> Result<Self, RequestError> {
        add_user(&mut fields, &url);
        Ok(Self {
            method: Method::from_bytes(method.as_bytes())
                .map_err(|_| RequestError::Method(method.into()))?,
            url,
            fields,
            body: Arc::new(body),
        })
    }

    pub fn method(&self) -> &Method {
        &self.method
    }

    pub fn url(&self) -> &HttpUrl {
        &self.url
    }

    /// The header fields, without those that the encoding adds.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Whether it asks the server to close the connection after the response.
    pub fn closes(&self) -> bool {
        self.fields.iter().any(closes)
    }

    /// Whether it says how long its body is.
    pub fn expects_length(&self) -> bool {
        expects_length(&self.method, &self.body)
    }

    pub(crate) fn become_get(&mut self) {
        self.method = Method::GET;
    }

    pub(crate) fn fields_mut(&mut self) -> &mut Vec<Field> {
        &mut self.fields
    }

    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body, which clones share.
    pub fn shared_body(&self) -> &Arc<Vec<u8>> {
        &self.body
    }

    pub(crate) fn body_mut(&mut self) -> &mut Vec<u8> {
        Arc::make_mut(&mut self.body)
    }

    pub(crate) fn set_path(&mut self, path: &str) -> Result<(), RequestError> {
        self.url
            .set_path(path)
            .map_err(|reason| RequestError::Path {
                path: path.into(),
                reason,
            })
    }
}

/// Several requests to one server, and their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestSet {
    requests: Vec<RequestParts>,
    order: Order,
}

/// Which request of a set comes next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Each thread sends them round-robin.
    InTurn,
    /// At random, in proportion to their weights: one weight per request.
    Random(Vec<u32>),
}

impl RequestSet {
    /// # Errors
    ///
    /// If there is no request, or if the weights are not one per request with a sum above 0.
    pub fn new(requests: Vec<RequestParts>, order: Order) -> Result<Self, RequestError> {
        let set = Self { requests, order };
        set.check().map(|()| set)
    }

    /// # Errors
    ///
    /// As for [`Self::new`].
    pub fn check(&self) -> Result<(), RequestError> {
        let Self { requests, order } = self;
        if requests.is_empty() {
            return Err(RequestError::None);
        }
        match order {
            Order::Random(weights)
                if weights.len() != requests.len() || weights.iter().all(|&weight| weight == 0) =>
            {
                Err(RequestError::Weights)
            }
            _ => Ok(()),
        }
    }

    /// The requests; at least one.
    pub fn requests(&self) -> &[RequestParts] {
        &self.requests
    }

    pub fn order(&self) -> &Order {
        &self.order
    }
}

impl From<RequestParts> for RequestSet {
    fn from(request: RequestParts) -> Self {
        Self {
            requests: vec![request],
            order: Order::InTurn,
        }
    }
}

/// The fields of `Name: value` lines.
///
/// # Errors
///
/// If a line is none, or [`add_field`] refuses it.
pub fn header_fields(lines: &[String]) -> Result<Vec<Field>, RequestError> {
    let mut fields = Vec::with_capacity(lines.len());
    for line in lines {
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| RequestError::HeaderShape(line.into()))?;
        add_field(&mut fields, name.trim(), value.trim())?;
    }
    Ok(fields)
}

/// Adds a field to those of a request.
///
/// # Errors
///
/// If it is none, frames the body, or is another `Host` (RFC 9112, section 3.2).
pub fn add_field(fields: &mut Vec<Field>, name: &str, value: &str) -> Result<(), RequestError> {
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| RequestError::HeaderName(name.into()))?;
    if matches!(parsed, header::CONTENT_LENGTH | header::TRANSFER_ENCODING) {
        return Err(RequestError::Framing(name.into()));
    }
    if parsed == header::HOST && has(fields, &parsed) {
        return Err(RequestError::Hosts);
    }
    let value = HeaderValue::from_str(value).map_err(|_| RequestError::HeaderValue(name.into()))?;
    fields.push((parsed, value));
    Ok(())
}

/// Sends the user of a URL, unless the fields have another, as curl does.
pub fn add_user(fields: &mut Vec<Field>, url: &HttpUrl) {
    if let Some(value) = url.authorization()
        && !has(fields, &header::AUTHORIZATION)
    {
        fields.push((header::AUTHORIZATION, value.clone()));
    }
}

fn has(fields: &[Field], name: &HeaderName) -> bool {
    fields.iter().any(|(field, _)| field == name)
}

fn closes((name, value): &Field) -> bool {
    name == "connection"
        && value
            .as_bytes()
            .split(|&byte| byte == b',')
            .any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"))
}

/// Whether a request says how long its body is.
pub fn expects_length(method: &Method, body: &[u8]) -> bool {
    !body.is_empty() || matches!(*method, Method::POST | Method::PUT | Method::PATCH)
}
