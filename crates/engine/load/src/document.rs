//! A plan as data, so that another process can run it.

mod request;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prony_model::LoadSpec;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use crate::plan::{Here, LoadPlan, SampleChoice, Sampling};
use crate::response::ResponseCheck;
use crate::scenario::Scenario;
use crate::target::Endpoint;
use crate::tls::TlsParts;
use request::RequestDocument;

/// A [`LoadPlan`] as data, with everything that it needs: encoded requests, certificates, rows of values. It has secrets
/// and private keys if the plan has.
///
/// It is the whole plan. [`Here::sources`] and [`Here::cpus`] are those of the host of the command, which may be
/// wrong on others: who sends a document decides what to do about them.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanDocument {
    endpoint: Endpoint,
    url: String,
    request: RequestDocument,
    #[serde(deserialize_with = "Option::deserialize")]
    tls: Option<TlsParts>,
    #[serde(deserialize_with = "Option::deserialize")]
    sampling: Option<SamplingDocument>,
    #[serde(deserialize_with = "exactly")]
    load: LoadSpec,
    #[serde(deserialize_with = "Option::deserialize")]
    flow_think_time: Option<Duration>,
    agents: usize,
    overtime: bool,
    slow_from_ns: Vec<u64>,
    here: Here,
}

impl fmt::Debug for PlanDocument {
    // The rest may have secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PlanDocument");
        shown
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SamplingDocument {
    check: Portable,
    choice: SampleChoice,
}

/// A value behind a trait as data. A [`Rebuild`] that knows its kind can rebuild it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Portable {
    /// Which type it is, such as `hurl`.
    pub kind: String,
    /// Its content, which only that type reads.
    pub content: serde_json::Value,
}

impl fmt::Debug for Portable {
    // The content may have secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Portable");
        shown.field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Portable {
    /// A value of that kind.
    ///
    /// # Errors
    ///
    /// If it has no form in JSON.
    pub fn new(kind: &str, content: &impl Serialize) -> Result<Self, NotPortable> {
        let content = serde_json::to_value(content);
        Ok(Self {
            kind: kind.to_owned(),
            content: content.map_err(|_| NotPortable("a value that JSON does not have"))?,
        })
    }

    /// The content.
    ///
    /// # Errors
    ///
    /// If it is not that of such a type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, RebuildError> {
        T::deserialize(&self.content).map_err(|error| self.damaged(error))
    }

    /// Why the content cannot be rebuilt.
    pub fn damaged(&self, reason: impl fmt::Display) -> RebuildError {
        let kind = self.kind.escape_debug();
        RebuildError(format!("the `{kind}` of the plan is damaged: {reason}"))
    }
}

/// Why a plan cannot leave this process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} cannot be sent to other hosts")]
pub struct NotPortable(pub &'static str);

/// Why a document is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RebuildError(pub String);

impl RebuildError {
    fn of(reason: impl fmt::Display) -> Self {
        Self(format!("the plan is damaged: {reason}"))
    }
}

/// Rebuilds what this crate knows only behind traits.
pub trait Rebuild {
    /// The expected response of that kind.
    ///
    /// # Errors
    ///
    /// If the kind is unknown or its content is wrong.
    fn check(&self, check: &Portable) -> Result<Arc<dyn ResponseCheck>, RebuildError>;

    /// The scenario of that kind.
    ///
    /// # Errors
    ///
    /// If the kind is unknown or its content is wrong.
    fn scenario(&self, scenario: &Portable) -> Result<Arc<dyn Scenario>, RebuildError>;
}

impl LoadPlan {
    /// The plan as data.
    ///
    /// # Errors
    ///
    /// If a part of it cannot leave this process.
    pub fn document(&self) -> Result<PlanDocument, NotPortable> {
        if let Endpoint::Unix(path) = &self.endpoint
            && path.to_str().is_none()
        {
            return Err(NotPortable("the path of a socket that is not UTF-8"));
        }
        if self.here.batches.is_some() {
            return Err(NotPortable("a load in batches"));
        }
        if self.here.acknowledges_at_once {
            return Err(NotPortable("a load that acknowledges at once"));
        }
        let sampling = self.sampling.as_ref();
        Ok(PlanDocument {
            endpoint: self.endpoint.clone(),
            url: self.url.clone(),
            request: RequestDocument::of(&self.request)?,
            tls: self.tls.as_ref().map(|tls| tls.parts().clone()),
            sampling: sampling.map(SamplingDocument::of).transpose()?,
            load: self.load.clone(),
            flow_think_time: self.flow_think_time,
            agents: self.agents,
            overtime: self.overtime,
            slow_from_ns: self.slow_from_ns.clone(),
            here: self.here.clone(),
        })
    }
}

impl PlanDocument {
    /// The plan.
    ///
    /// # Errors
    ///
    /// If the document is not one that [`LoadPlan::document`] made, or its plan is [not
    /// valid](LoadPlan::validate).
    pub fn plan(self, rebuild: &dyn Rebuild) -> Result<LoadPlan, RebuildError> {
        self.check_bounds()?;
        let tls = self.tls.map(TlsParts::client).transpose();
        let sampling = self.sampling.map(|sampling| sampling.sampling(rebuild));
        let plan = LoadPlan {
            endpoint: self.endpoint,
            url: self.url,
            request: self.request.request(rebuild)?,
            tls: tls.map_err(RebuildError::of)?,
            sampling: sampling.transpose()?,
            load: self.load,
            flow_think_time: self.flow_think_time,
            agents: self.agents,
            overtime: self.overtime,
            slow_from_ns: self.slow_from_ns,
            here: self.here,
        };
        plan.validate().map_err(RebuildError::of)?;
        Ok(plan)
    }

    /// What [`LoadPlan::validate`] leaves to the command line, or to the limits of the machine.
    fn check_bounds(&self) -> Result<(), RebuildError> {
        let counts = [
            ("connections", self.load.connections),
            ("connections at most", self.load.most_connections()),
            ("streams", self.load.streams),
            ("threads", self.load.threads),
            ("agents", self.agents),
        ];
        if let Some((what, given)) = counts.iter().find(|(_, given)| *given > MOST) {
            return Err(RebuildError::of(format_args!(
                "it has {given} {what}, more than {MOST}"
            )));
        }
        let load = &self.load;
        let always = [*load.warmup, *load.timeout];
        let given = [load.duration, load.deadline].map(|time| time.map(Duration::from));
        let sometimes = given.into_iter().chain([self.flow_think_time]);
        let mut times = always.into_iter().chain(sometimes.flatten());
        match times.find(|time| *time > LONGEST) {
            None => Ok(()),
            Some(_) => Err(RebuildError::of("it has a time of more than 100 years")),
        }
    }
}

/// The most connections and the like: far more than any fleet has, and sums of them do not overflow.
const MOST: usize = 1_000_000_000;
/// The longest time: no instant overflows.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl SamplingDocument {
    fn of(sampling: &Sampling) -> Result<Self, NotPortable> {
        Ok(Self {
            check: sampling.check.portable()?,
            choice: sampling.choice,
        })
    }

    fn sampling(self, rebuild: &dyn Rebuild) -> Result<Sampling, RebuildError> {
        Ok(Sampling {
            check: rebuild.check(&self.check)?,
            choice: self.choice,
        })
    }
}

/// Reads a value of another crate, which ignores fields that it does not know.
fn exactly<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Serialize + DeserializeOwned,
{
    use serde::de::Error;
    let given = serde_json::Value::deserialize(deserializer)?;
    let value = T::deserialize(&given).map_err(D::Error::custom)?;
    match serde_json::to_value(&value) {
        Ok(read) if read == given => Ok(value),
        _ => Err(D::Error::custom(
            "it has a field that is unknown or missing",
        )),
    }
}
