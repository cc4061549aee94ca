//! What a workload sends and expects, whatever it is written in.

use std::sync::Arc;

use prony_traffic::{Expected, Secrets, Traffic};

use crate::request::PreparedRequest;
use crate::scenario::PreparedScenario;

/// What a workload sends, ready for any server.
pub enum PreparedTraffic {
    /// One request, with other values each time if it has placeholders.
    Request {
        request: PreparedRequest,
        /// Its expected response.
        expected: Arc<Expected>,
    },
    /// The requests of a Hurl file, which says what it expects.
    Scenario(PreparedScenario),
}

impl PreparedTraffic {
    /// The URL, with `***` for secrets, and what is sent to the server with this host and port. Rows and counters begin
    /// again.
    ///
    /// # Errors
    ///
    /// If HTTP cannot express it.
    pub fn encode(&self, authority: &str) -> Result<(String, Traffic), String> {
        match self {
            Self::Request { request, .. } => request.encode(authority),
            Self::Scenario(scenario) => scenario.encode(authority).map_err(|it| it.to_string()),
        }
    }

    pub fn request(&self) -> Option<&PreparedRequest> {
        match self {
            Self::Request { request, .. } => Some(request),
            Self::Scenario(_) => None,
        }
    }

    /// The expected response to the request; a Hurl file says itself what it expects.
    pub fn expected(&self) -> Option<&Arc<Expected>> {
        match self {
            Self::Request { expected, .. } => Some(expected),
            Self::Scenario(_) => None,
        }
    }

    /// The name of its Hurl file, for messages.
    pub fn file(&self) -> &str {
        match self {
            Self::Request { .. } => "",
            Self::Scenario(scenario) => &scenario.file,
        }
    }

    /// Its secrets, and what basic authentication makes of them.
    pub(crate) fn secrets(&self) -> &Secrets {
        match self {
            Self::Request { request, .. } => request.secrets(),
            Self::Scenario(scenario) => &scenario.secrets,
        }
    }

    /// Whether users capture secrets from responses, which nobody else knows.
    pub(crate) fn captures_secrets(&self) -> bool {
        match self {
            Self::Request { .. } => false,
            Self::Scenario(scenario) => scenario.captures_secrets,
        }
    }
}
