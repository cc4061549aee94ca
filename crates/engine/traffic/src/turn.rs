//! What a user does next in a flow, and what comes back.

use std::net::IpAddr;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Method};
use prony_model::Outcome;

use crate::collect::Collect;
use crate::http_version::HttpVersion;
use crate::parts::{RequestError, RequestParts};

/// Which flows of a load an agent begins: every `agents`th.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowShare {
    /// The agent's number, from 0 on.
    pub agent: u64,
    /// How many agents there are.
    pub agents: u64,
}

impl FlowShare {
    /// All of them, for a process that shares the load with no other.
    pub const ALL: Self = Self {
        agent: 0,
        agents: 1,
    };

    /// The number among all flows of the agent's `nth` one, both from 0 on.
    pub fn number(self, nth: u64) -> u64 {
        nth.wrapping_mul(self.agents).wrapping_add(self.agent)
    }
}

/// A request of a scenario, as the result names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    name: String,
    method: Method,
}

impl Entry {
    /// A request by its name, such as `POST /orders`.
    ///
    /// # Errors
    ///
    /// If `method` is none.
    pub fn new(name: impl Into<String>, method: &str) -> Result<Self, RequestError> {
        Ok(Self {
            name: name.into(),
            method: Method::from_bytes(method.as_bytes())
                .map_err(|_| RequestError::Method(method.into()))?,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The method's name.
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    pub(crate) fn is_idempotent(&self) -> bool {
        self.method.is_idempotent()
    }
}

/// What a user does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Sends a request.
    Send(Sending),
    /// The flow is over.
    End,
    /// The flow cannot go on, for this reason.
    Fail(String),
}

/// How to send a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    /// The position of its entry.
    pub entry: usize,
    /// How long to wait before.
    pub pause: Duration,
    /// How long the response may take; at most as long as every response of the load.
    pub timeout: Option<Duration>,
    /// What [`User::respond`](crate::User::respond) needs of the response.
    pub keep: Keep,
    /// Whether it follows a redirect, so that the user does not think before.
    pub is_redirected: bool,
}

/// What is kept of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    Status,
    /// The status and the header fields.
    Head,
    /// Everything.
    All,
}

/// A response for a [`User`](crate::User).
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    pub status: u16,
    /// The version of HTTP that the connection speaks.
    pub http: HttpVersion,
    /// The rest, if the user needs it.
    pub kept: Option<&'a Collect>,
    /// From the start of the request to the end of the response.
    pub duration: Duration,
    /// The address of the server; `None` if the connection is no TCP connection.
    pub server: Option<IpAddr>,
}

/// Why a response is not ok.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The outcome of its request.
    pub outcome: Outcome,
    /// What was expected, and what came.
    pub detail: String,
}

/// A request that a user sends.
#[derive(Clone, Debug)]
pub struct ScenarioRequest(RequestParts);

impl ScenarioRequest {
    /// # Errors
    ///
    /// If the method is CONNECT: a connection that has become a tunnel carries no further request.
    pub fn new(parts: RequestParts) -> Result<Self, RequestError> {
        if *parts.method() == Method::CONNECT {
            Err(RequestError::Tunnel)
        } else {
            Ok(Self(parts))
        }
    }

    /// Without its encoding.
    pub fn parts(&self) -> &RequestParts {
        &self.0
    }

    /// Changes the method to GET.
    pub(crate) fn become_get(&mut self) {
        self.0.become_get();
    }

    /// Changes the path and query.
    ///
    /// # Errors
    ///
    /// If no URL may have them.
    pub(crate) fn set_path(&mut self, path: &str) -> Result<(), RequestError> {
        self.0.set_path(path)
    }

    /// Changes the header fields.
    pub(crate) fn fields_mut(&mut self) -> &mut Vec<(HeaderName, HeaderValue)> {
        self.0.fields_mut()
    }

    /// Changes the body.
    pub(crate) fn body_mut(&mut self) -> &mut Vec<u8> {
        self.0.body_mut()
    }
}
