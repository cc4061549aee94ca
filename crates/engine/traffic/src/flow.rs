//! Flows: what users send if a request may depend on earlier responses, or differs from the one before.

use serde::{Deserialize, Serialize};

use crate::one_request::{OneRequest, OneUser};
use crate::prepare::HurlScenario;
use crate::sources::Sources;
use crate::turn::{Entry, FlowShare, Rejection, Reply, ScenarioRequest, Turn};
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

    /// A new user, who begins flows of `share`. Random values of the user come from `seed`, and values that differ from
    /// flow to flow are those of the flows in `share`.
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

impl HurlScenario {
    /// As [`Scenario::user`].
    pub fn user(&self, seed: u64, share: FlowShare) -> User<'_> {
        User::Hurl(Box::new(HurlUser::new(self, seed, share)))
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
