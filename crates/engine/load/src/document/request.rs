//! What a load sends, as data.

use serde::{Deserialize, Serialize};

use super::{NotPortable, Portable, Rebuild, RebuildError};
use crate::base64::Base64;
use crate::request::{LoadRequest, Order, Request, RequestSet, WireRequest};
use crate::tls::HttpVersion;
use crate::wire::grpc::CallKind;
use crate::wire::h2::StreamRequest;

/// Requests as they are encoded, so that every host sends the same bytes.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RequestDocument {
    Http1(SetDocument<Http1Document>),
    Http2(SetDocument<StreamDocument>),
    Grpc(CallDocument),
    Scenario(ScenarioDocument),
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetDocument<R> {
    requests: Vec<R>,
    /// `None` for each in turn.
    #[serde(deserialize_with = "Option::deserialize")]
    weights: Option<Vec<u32>>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Http1Document {
    bytes: Base64,
    closes: bool,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StreamDocument {
    /// The header block for any connection.
    head: Base64,
    body: Base64,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallDocument {
    kind: CallKind,
    request: StreamDocument,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioDocument {
    http: HttpVersion,
    scenario: Portable,
}

impl RequestDocument {
    pub(super) fn of(request: &LoadRequest) -> Result<Self, NotPortable> {
        Ok(match request {
            LoadRequest::Set(WireRequest::Http1(set)) => {
                Self::Http1(SetDocument::of(set, |it| Ok(Http1Document::of(it)))?)
            }
            LoadRequest::Set(WireRequest::Http2(set)) => {
                Self::Http2(SetDocument::of(set, StreamDocument::of)?)
            }
            LoadRequest::Set(WireRequest::Grpc(call)) => Self::Grpc(CallDocument {
                kind: call.call_kind().unwrap_or_default(),
                request: StreamDocument::of(call)?,
            }),
            LoadRequest::Scenario(scenario, http) => Self::Scenario(ScenarioDocument {
                http: *http,
                scenario: scenario.portable()?,
            }),
        })
    }

    pub(super) fn request(self, rebuild: &dyn Rebuild) -> Result<LoadRequest, RebuildError> {
        Ok(match self {
            Self::Http1(set) => LoadRequest::from(set.set(Http1Document::request)?),
            Self::Http2(set) => {
                let set = set.set(|request| request.request(None))?;
                LoadRequest::Set(WireRequest::Http2(set))
            }
            Self::Grpc(CallDocument { kind, request }) => request.request(Some(kind))?.into(),
            Self::Scenario(ScenarioDocument { http, scenario }) => {
                LoadRequest::Scenario(rebuild.scenario(&scenario)?, http)
            }
        })
    }
}

impl<D> SetDocument<D> {
    fn of<R>(
        set: &RequestSet<R>,
        document: impl Fn(&R) -> Result<D, NotPortable>,
    ) -> Result<Self, NotPortable> {
        let requests = set.requests().iter().map(document);
        Ok(Self {
            requests: requests.collect::<Result<_, _>>()?,
            weights: match set.order() {
                Order::InTurn => None,
                Order::Random(weights) => Some(weights.clone()),
            },
        })
    }

    fn set<R>(
        self,
        request: impl Fn(D) -> Result<R, RebuildError>,
    ) -> Result<RequestSet<R>, RebuildError> {
        let requests = self.requests.into_iter().map(request);
        let order = self.weights.map_or(Order::InTurn, Order::Random);
        RequestSet::new(requests.collect::<Result<_, _>>()?, order).map_err(RebuildError::of)
    }
}

impl Http1Document {
    fn of(request: &Request) -> Self {
        Self {
            bytes: Base64(request.bytes().to_vec()),
            closes: request.closes(),
        }
    }

    fn request(self) -> Result<Request, RebuildError> {
        let request = Request::of_bytes(self.bytes.0, self.closes);
        request.ok_or_else(|| damaged("HTTP/1.1"))
    }
}

impl StreamDocument {
    fn of(request: &StreamRequest) -> Result<Self, NotPortable> {
        let (head, body) = (request.block(), request.body());
        // It is decoded again, and no more is.
        match StreamRequest::of_block(head, b"", request.call_kind()) {
            None => Err(NotPortable(
                "an HTTP/2 request with more than 64 KiB of header fields",
            )),
            Some(_) => Ok(Self {
                head: Base64(head.to_vec()),
                body: Base64(body.to_vec()),
            }),
        }
    }

    fn request(self, call: Option<CallKind>) -> Result<StreamRequest, RebuildError> {
        let request = StreamRequest::of_block(&self.head.0, &self.body.0, call);
        request.ok_or_else(|| damaged("HTTP/2"))
    }
}

fn damaged(http: &str) -> RebuildError {
    RebuildError(format!("the plan has a damaged {http} request"))
}
