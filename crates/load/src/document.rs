//! A plan as data, so that another process can run it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::plan::LoadPlan;
use crate::response::ResponseCheck;
use crate::scenario::Scenario;

/// A [`LoadPlan`] as data, with everything that it needs: encoded requests, certificates, rows of values.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanDocument(());

/// A value behind a trait as data. Whoever knows its kind can rebuild it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Portable {
    /// Which type it is, such as `hurl`.
    pub kind: String,
    /// Its content, which only that type reads.
    pub content: serde_json::Value,
}

/// Why a plan cannot leave this process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} cannot be sent to other hosts")]
pub struct NotPortable(pub &'static str);

/// Why a document is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RebuildError(pub String);

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
        unimplemented!()
    }
}

impl PlanDocument {
    /// The plan.
    ///
    /// # Errors
    ///
    /// If the document is not one that [`LoadPlan::document`] made.
    pub fn plan(self, _rebuild: &dyn Rebuild) -> Result<LoadPlan, RebuildError> {
        unimplemented!()
    }
}
