//! The fleet: agents that generate one load together.

use std::sync::atomic::AtomicBool;

use prony_load::{LoadError, LoadPlan, LoadRunner, Progress};
use prony_model::LoadResult;

use crate::launcher::{LaunchError, Launcher};

/// Agents that generate loads together.
pub struct Fleet;

/// Why a load of a fleet is invalid.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "documented by the messages")]
pub enum FleetError {
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

impl Fleet {
    /// Starts the agents and waits until each has replied.
    ///
    /// # Errors
    ///
    /// If one does not.
    pub fn launch(
        _launcher: &dyn Launcher,
        _agents: usize,
        _interrupt: &AtomicBool,
    ) -> Result<Self, FleetError> {
        unimplemented!()
    }
}

impl LoadRunner for Fleet {
    fn run(
        &self,
        _plan: &LoadPlan,
        _interrupt: &AtomicBool,
        _observe: &mut dyn FnMut(Progress),
    ) -> Result<LoadResult, LoadError> {
        unimplemented!()
    }
}
