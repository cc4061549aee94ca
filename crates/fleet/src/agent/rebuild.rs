//! Rebuilds the checks and scenarios of a plan.

use std::sync::Arc;

use prony_load::{Expectation, Portable, Rebuild, RebuildError, ResponseCheck, Scenario};
use prony_run::ExpectedResponse;
use prony_traffic::{HurlScenario, OneRequest};

/// Every check and scenario that Prony has.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllKinds;

impl Rebuild for AllKinds {
    fn check(&self, check: &Portable) -> Result<Arc<dyn ResponseCheck>, RebuildError> {
        match &check.kind[..] {
            Expectation::KIND => Ok(Arc::new(Expectation::rebuild(check)?)),
            ExpectedResponse::KIND => Ok(Arc::new(ExpectedResponse::rebuild(check)?)),
            _ => Err(unknown("expected response", check)),
        }
    }

    fn scenario(&self, scenario: &Portable) -> Result<Arc<dyn Scenario>, RebuildError> {
        match &scenario.kind[..] {
            HurlScenario::KIND => Ok(Arc::new(HurlScenario::rebuild(scenario)?)),
            OneRequest::KIND => Ok(Arc::new(OneRequest::rebuild(scenario)?)),
            _ => Err(unknown("scenario", scenario)),
        }
    }
}

fn unknown(what: &str, portable: &Portable) -> RebuildError {
    let kind = portable.kind.escape_debug();
    RebuildError(format!(
        "the plan has a kind of {what} that this agent does not know: `{kind}`; start agents of the same version"
    ))
}
