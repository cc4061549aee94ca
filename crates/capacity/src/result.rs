//! What a search gave: the body of `prony load --find-capacity --json`.

use prony_model::{LoadSpec, Target};
use serde::Serialize;

use crate::attempt::RateAttempt;
use crate::search::Found;
use crate::slo::Slo;

/// What a search gave. Rates are in requests a second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CapacityResult {
    /// What the load was put on.
    pub target: Target,
    /// The load of the first rate tried; each has a rate, a length and a seed of its own.
    pub load: LoadSpec,
    /// What is asked of the server.
    pub slo: Slo,
    /// How far the ends of the interval may be from the capacity, as a share (0 to 1) of it.
    pub precision: f64,
    /// How narrow each bisection is, as a share (0 to 1).
    pub resolution: f64,
    /// The least number of findings asked for.
    pub repeats: u32,
    /// How long all of it might take, in seconds.
    pub budget_s: f64,
    /// What the seeds of the trials come from.
    pub seed: u64,
    /// Expected responses a second of the short closed loop that the search began with.
    pub guess_per_s: f64,
    /// Why it ended.
    pub ended: Ended,
    /// What is known of the capacity.
    pub found: Found,
    /// Every rate that was tried, in the order of time.
    pub attempts: Vec<RateAttempt>,
    /// Latency against rate, by rate; empty if it was not measured.
    pub curve: Vec<RateAttempt>,
    /// From which rate on latency rises steeply; `None` if no such rate is seen.
    pub knee_per_s: Option<f64>,
    /// How long all of it took, in seconds.
    pub duration_s: f64,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The search did all that it does within its bounds.
    Complete,
    /// The budget did not suffice for more.
    Budget,
    /// When a load had ended, the server responded no request right any more.
    Unsettled,
    /// The user stopped it.
    Interrupted,
}
