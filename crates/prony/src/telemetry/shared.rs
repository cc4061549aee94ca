//! What both outlets send.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prony_live::telemetry::{Figures, LoadResource};

/// What both outlets send: the figures so far, and whose they are.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) resource: Arc<LoadResource>,
    pub(super) figures: Arc<Mutex<Figures>>,
}

impl Shared {
    /// The figures, which nobody holds for longer than it takes to copy them.
    pub(super) fn figures(&self) -> MutexGuard<'_, Figures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn copied(&self) -> Figures {
        self.figures().clone()
    }
}
