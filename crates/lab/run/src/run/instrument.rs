//! What watches a server during a load, beside the samples that every trial takes.

use super::process::Process;

/// Watches a server during a load.
pub(super) trait Instrument {
    /// Called just before the load, warm-up included.
    fn start(&mut self, _server: &Process) {}

    /// Called just after it; the server still runs.
    fn finish(&mut self, _server: &Process) {}
}

/// Watches nothing.
pub(super) struct NoInstrument;

impl Instrument for NoInstrument {}
