//! Where figures come from.

use prony_load::LoadPlan;
use prony_model::Protocol;

/// What tells the figures of a load from those of others.
#[derive(Clone, Debug)]
pub struct Source {
    /// The process that runs the load: a UUID.
    pub instance: String,
    /// The version of Prony.
    pub version: String,
    /// What is loaded.
    pub url: String,
    /// Over which protocol.
    pub protocol: Protocol,
}

impl Source {
    /// That of a load which the process `instance` runs.
    pub fn of(plan: &LoadPlan, instance: String) -> Self {
        let target = plan.target();
        Self {
            instance,
            version: env!("CARGO_PKG_VERSION").into(),
            url: target.url,
            protocol: target.protocol,
        }
    }

    /// Its attributes, by the names that OpenTelemetry gives them if it has one.
    pub(crate) fn attributes(&self) -> [(&'static str, &str); 5] {
        [
            ("service.name", "prony"),
            ("service.version", &self.version),
            ("service.instance.id", &self.instance),
            ("url.full", &self.url),
            ("prony.protocol", self.protocol.name()),
        ]
    }
}
