//! Who generates a load: this process, or others.

use std::sync::atomic::AtomicBool;

use prony_model::LoadResult;

use crate::engine::{LoadError, Progress, run};
use crate::plan::LoadPlan;

/// Generates loads.
pub trait LoadRunner {
    /// Runs the load on its target and measures it, until it ends or `interrupt` is set (the result is then what was
    /// measured so far). `observe` is called about ten times per second, and once with the last figures.
    ///
    /// # Errors
    ///
    /// If the load could not be run, or has no valid result.
    fn run(
        &self,
        plan: &LoadPlan,
        interrupt: &AtomicBool,
        observe: &mut dyn FnMut(Progress),
    ) -> Result<LoadResult, LoadError>;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct ThisProcess;

impl LoadRunner for ThisProcess {
    fn run(
        &self,
        plan: &LoadPlan,
        interrupt: &AtomicBool,
        observe: &mut dyn FnMut(Progress),
    ) -> Result<LoadResult, LoadError> {
        run(plan, interrupt, observe)
    }
}
