//! The source of figures.

use prony_load::LoadPlan;
use prony_model::Protocol;

#[derive(Clone, Debug)]
pub struct LoadResource {
    /// The process that runs the load, by an ID that no other has.
    pub instance: String,
    pub version: String,
    /// What is loaded, without the query.
    pub url: String,
    pub protocol: Protocol,
}

impl LoadResource {
    /// Describes a load that the process `instance` runs.
    pub fn of(plan: &LoadPlan, instance: String) -> Self {
        let target = plan.target();
        Self {
            instance,
            version: env!("CARGO_PKG_VERSION").into(),
            url: target.url_without_query().into(),
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

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use prony_traffic::{HttpUrl, RequestParts};

    use super::*;

    #[test]
    fn the_query_of_a_url_stays_here() {
        let url: HttpUrl = "http://h/a?token=secret".parse().unwrap();
        let request = RequestParts::new("GET", &url, &[], &[]).unwrap();
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
        let plan = LoadPlan::new(nowhere.into(), url.as_str(), request);
        let resource = LoadResource::of(&plan, "1".into());
        assert!(resource.attributes().contains(&("url.full", "http://h/a")));
    }
}
