//! One go at a trial.

use prony_model::{LoadSpec, Trial};

/// One go at a trial: a noisy one is re-run.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The trial.
    pub trial: Trial,
    /// Which attempt at it this is, from 1.
    pub number: u32,
    /// Which of the plan's measures it is of.
    pub measure: usize,
    /// What process the server has.
    pub warming: Warming,
    /// How long it may be under load until it must be warm, in seconds.
    pub warmup_limit_s: f64,
    /// How long requests are sent before measuring begins, in seconds: as long as the trial's load
    /// says, or longer where that was found too short.
    pub warmup_s: f64,
}

/// What process the server of a trial has, and how it is warmed up before the trial's own load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warming {
    /// A new process. The load's own warm-up is all that it gets.
    Fixed,
    /// A new process, which is warmed up until it is steady, to learn how long that takes.
    Search,
    /// The process that is kept for this server under this measure. If there is none, a new one is warmed up until it
    /// is steady, and kept.
    Keep,
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
