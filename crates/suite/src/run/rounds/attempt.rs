//! One go at a trial.

use prony_record::{LoadSpec, Trial};

/// One go at a trial: a spoilt one is made again.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The trial.
    pub trial: Trial,
    /// Which attempt at it this is, from 1.
    pub number: u32,
    /// How long requests are sent before measuring begins, in seconds: as long as the trial's load
    /// says, or longer where that was found too short.
    pub warmup_s: f64,
}

impl Attempt {
    /// The load as it is put on the server.
    pub fn load(&self) -> LoadSpec {
        LoadSpec {
            warmup_s: self.warmup_s,
            ..self.trial.load.clone()
        }
    }
}
