//! Flows: what users send if a request may depend on earlier responses, or differs from the one before.

use std::net::IpAddr;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Method};
use prony_model::Outcome;
use serde::{Deserialize, Serialize};

use crate::collect::Collect;
use crate::http_version::HttpVersion;
use crate::one_request::{OneRequest, OneUser};
use crate::parts::{RequestError, RequestParts};
use crate::prepare::HurlScenario;
use crate::sources::Sources;
use crate::user::HurlUser;

/// What each user of a load does: several requests in an order, and then again from the first. One pass is a flow.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    /// The requests of a Hurl file.
    Hurl(HurlScenario),
    /// One request whose values differ.
    One(OneRequest),
}

impl From<HurlScenario> for Scenario {
    fn from(scenario: HurlScenario) -> Self {
        Self::Hurl(scenario)
    }
}

impl From<OneRequest> for Scenario {
    fn from(request: OneRequest) -> Self {
        Self::One(request)
    }
}

impl Scenario {
    /// Its requests, in their order; at least one.
    pub fn entries(&self) -> &[Entry] {
        match self {
            Self::Hurl(scenario) => scenario.entries(),
            Self::One(request) => request.entries(),
        }
    }

    /// Whether each flow is one request, so that the load counts requests instead of flows, and the plan says which
    /// responses are expected.
    pub fn is_one_request(&self) -> bool {
        matches!(self, Self::One(_))
    }

    /// A new user, by whom flows of `share` are begun. Random values of the user come from `seed`, and values that differ
    /// from flow to flow are those of the flows in `share`.
    pub fn user(&self, seed: u64, share: FlowShare) -> User<'_> {
        match self {
            Self::Hurl(scenario) => scenario.user(seed, share),
            Self::One(request) => User::One(Box::new(OneUser::new(request, seed, share))),
        }
    }

    /// Leaves out the next `count` flows, because other processes have begun them: the next load continues after them.
    pub fn skip_flows(&self, count: u64) {
        self.sources().skip_flows(count);
    }

    /// How many flows have begun.
    pub fn flows_begun(&self) -> u64 {
        self.sources().flows_begun()
    }

    fn sources(&self) -> &Sources {
        match self {
            Self::Hurl(scenario) => scenario.sources(),
            Self::One(request) => request.sources(),
        }
    }
}

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

    /// Its name.
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

/// A user of a [`Scenario`].
pub enum User<'a> {
    /// Of a Hurl file.
    Hurl(Box<HurlUser<'a>>),
    /// Of one request.
    One(Box<OneUser<'a>>),
}

impl User<'_> {
    /// Begins the next flow.
    pub fn begin(&mut self) {
        match self {
            Self::Hurl(user) => user.begin(),
            Self::One(user) => user.begin(),
        }
    }

    /// What the user does next in the flow.
    pub fn next_turn(&mut self) -> Turn {
        match self {
            Self::Hurl(user) => user.next(),
            Self::One(user) => user.next(),
        }
    }

    /// The request of the last [`Turn::Send`].
    pub fn request(&self) -> &ScenarioRequest {
        match self {
            Self::Hurl(user) => user.request(),
            Self::One(user) => user.request(),
        }
    }

    /// Takes the response to it.
    ///
    /// # Errors
    ///
    /// If it is not as expected. That ends the flow.
    pub fn respond(&mut self, reply: &Reply<'_>) -> Result<(), Rejection> {
        match self {
            Self::Hurl(user) => user.respond(reply),
            Self::One(user) => {
                user.respond(reply);
                Ok(())
            }
        }
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
    /// What [`User::respond`] needs of the response.
    pub keep: Keep,
    /// Whether it follows a redirect, so that the user does not think before.
    pub is_redirected: bool,
}

/// What is kept of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Only the status.
    Status,
    /// The status and the header fields.
    Head,
    /// Everything.
    All,
}

/// A response for a [`User`].
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// The status.
    pub status: u16,
    /// The version of HTTP that the connection speaks.
    pub http: HttpVersion,
    /// The rest, if the user needs it.
    pub kept: Option<&'a Collect>,
    /// From the begin of the request to the end of the response.
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
