//! One agent's part of a load, and how the parts become one result.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use prony_model::LoadResult;
use serde::{Deserialize, Serialize};

use super::{LoadError, Progress};
use crate::plan::LoadPlan;

/// When a part of a load begins.
pub trait Start: Sync {
    /// Called once, when the part is prepared and its connections are open (if its shape needs them). Waits until the
    /// instant is known; `None` if the load is not to begin, as when `interrupt` is set.
    fn at(&self, interrupt: &AtomicBool) -> Option<Instant>;
}

/// What one agent counted. It holds whole histograms, so parts can be merged exactly.
#[derive(Debug, Serialize, Deserialize)]
pub struct PartResult(());

/// Runs the part of agent `index` (from 0 on) of the load, as [`run`](super::run) runs a whole one.
///
/// # Errors
///
/// As for [`run`](super::run).
pub fn run_part(
    _plan: &LoadPlan,
    _index: usize,
    _start: &dyn Start,
    _interrupt: &AtomicBool,
    _observe: &mut dyn FnMut(Progress),
) -> Result<PartResult, LoadError> {
    unimplemented!()
}

/// Merges parts into the result of the load: all of them, or that of one agent to see its share.
pub fn assemble(_plan: &LoadPlan, _parts: &[PartResult]) -> LoadResult {
    unimplemented!()
}
