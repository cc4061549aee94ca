//! What a load sends.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::http_version::HttpVersion;
use crate::parts::{Order, RequestError, RequestParts, RequestSet};
use crate::scenario::Scenario;
use crate::turn::Entry;

/// What a load sends, as data. Each process that sends it encodes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Traffic {
    /// Requests that do not depend on responses, over that version of HTTP.
    Requests(RequestSet, HttpVersion),
    /// A gRPC call.
    Call(Call),
    /// What each user of a scenario sends, over that version of HTTP.
    Scenario(Arc<Scenario>, HttpVersion),
}

/// One request over HTTP/1.1.
impl From<RequestParts> for Traffic {
    fn from(request: RequestParts) -> Self {
        Self::Requests(request.into(), HttpVersion::Http1)
    }
}

impl From<Call> for Traffic {
    fn from(call: Call) -> Self {
        Self::Call(call)
    }
}

impl Traffic {
    /// These requests over that version of HTTP.
    ///
    /// # Errors
    ///
    /// If the version cannot express one of them.
    pub fn requests(
        requests: impl Into<RequestSet>,
        http: HttpVersion,
    ) -> Result<Self, RequestError> {
        let requests = requests.into();
        let mut methods = requests.requests().iter().map(RequestParts::method);
        if http == HttpVersion::Http2 && methods.any(|method| method == http::Method::CONNECT) {
            return Err(RequestError::Connect);
        }
        Ok(Self::Requests(requests, http))
    }

    /// What the users of this scenario send over that version of HTTP.
    pub fn flows_of(scenario: Scenario, http: HttpVersion) -> Self {
        Self::Scenario(Arc::new(scenario), http)
    }

    pub fn http(&self) -> HttpVersion {
        match self {
            Self::Requests(_, http) | Self::Scenario(_, http) => *http,
            Self::Call(_) => HttpVersion::Http2,
        }
    }

    /// The scenario, if requests depend on responses or differ.
    pub fn scenario(&self) -> Option<&Scenario> {
        match self {
            Self::Scenario(scenario, _) => Some(scenario),
            Self::Requests(..) | Self::Call(_) => None,
        }
    }

    /// The scenario whose flows a load counts.
    pub fn flows(&self) -> Option<&Scenario> {
        self.scenario()
            .filter(|scenario| !scenario.is_one_request())
    }

    /// How many requests there are, and their order if there are several.
    pub fn order(&self) -> (usize, &Order) {
        match self {
            Self::Requests(set, _) => (set.requests().len(), set.order()),
            Self::Call(_) | Self::Scenario(..) => (1, &Order::InTurn),
        }
    }

    /// The name of each request, or of each entry of the scenario, by its number: `GET /orders`, without a query, which
    /// may hold a secret.
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::Requests(set, _) => set.requests().iter().map(name).collect(),
            Self::Call(call) => vec![call.path.trim_start_matches('/').to_owned()],
            Self::Scenario(scenario, _) => {
                let names = scenario.entries().iter().map(Entry::name);
                names.map(str::to_owned).collect()
            }
        }
    }

    /// How many entries its scenario has; 0 without one.
    pub fn entries(&self) -> usize {
        self.scenario()
            .map_or(0, |scenario| scenario.entries().len())
    }

    /// Whether these are gRPC calls.
    pub fn is_grpc(&self) -> bool {
        matches!(self, Self::Call(_))
    }

    /// The method's name, if there is only one.
    pub fn method(&self) -> &str {
        match self {
            Self::Requests(set, _) => common(set.requests().iter().map(|it| it.method().as_str())),
            Self::Call(_) => "POST",
            Self::Scenario(scenario, _) => common(scenario.entries().iter().map(Entry::method)),
        }
    }

    /// Whether that request may be sent again if the first attempt has no known result. For a gRPC call only its server
    /// knows.
    pub fn is_idempotent(&self, number: usize) -> bool {
        match self {
            Self::Requests(set, _) => set.requests()[number].method().is_idempotent(),
            Self::Call(_) => false,
            Self::Scenario(scenario, _) => scenario.entries()[number].is_idempotent(),
        }
    }

    /// How many bytes of memory each request in flight takes at most until it is sent, if there may be several over a
    /// connection.
    pub fn longest_bytes(&self) -> u64 {
        match self {
            Self::Requests(set, _) => set.requests().iter().map(bytes).max().unwrap_or(0),
            Self::Call(call) => {
                let fields = call.fields();
                head_bytes(&[&call.path, &call.authority], &fields) + call.body().len() as u64
            }
            Self::Scenario(..) => 0,
        }
    }
}

fn name(request: &RequestParts) -> String {
    let path = request.url().path();
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    format!("{} {path}", request.method())
}

/// The method of several requests, if they all have the same.
fn common<'a>(mut methods: impl Iterator<Item = &'a str>) -> &'a str {
    let first = methods.next().unwrap_or_default();
    if methods.all(|other| other == first) {
        first
    } else {
        "various"
    }
}

/// What a head has beside texts and fields, in either version of HTTP: its first line or pseudo-fields, and the fields
/// that are added.
const REST_OF_HEAD: u64 = 80;

fn bytes(request: &RequestParts) -> u64 {
    let url = request.url();
    let texts = [request.method().as_str(), url.path(), url.host_header()];
    head_bytes(&texts, request.fields()) + request.body().len() as u64
}

fn head_bytes(texts: &[&str], fields: &[crate::serde_http::Field]) -> u64 {
    let texts = texts.iter().map(|text| text.len());
    let fields = fields.iter();
    let fields = fields.map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    texts.chain(fields).sum::<usize>() as u64 + REST_OF_HEAD
}
