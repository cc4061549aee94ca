//! The result of a search: the body of `prony load --find-capacity --json`.

use prony_model::objective::Objectives;
use prony_model::{LoadSpec, RunFleet, Target};
use serde::Serialize;

use crate::capacity::attempt::RateAttempt;
use crate::capacity::search::Found;

/// The result of a search. Rates are in requests per second or, if the load has a scenario, in flows per second.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapacityResult {
    /// The URL under load.
    pub target: Target,
    /// The load of the first rate; each load has its own rate, duration and seed.
    pub load: LoadSpec,
    /// The agents that generated the loads; `None` if Prony's own process did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet: Option<RunFleet>,
    /// What the server has to keep at a rate.
    #[serde(rename = "slo")]
    pub objectives: Objectives,
    /// How far the ends of the interval may be from the capacity, as a share (0 to 1) of it.
    pub precision: f64,
    /// The width of each bisection, as a share (0 to 1).
    pub resolution: f64,
    /// How many findings the search needs at least; each fine bisection gives one.
    pub repeats: u32,
    /// The time limit of the search, in seconds.
    pub budget_s: f64,
    /// The seed from which the attempts' seeds were drawn.
    pub seed: u64,
    /// Expected responses, or ok flows, per second of the short closed loop at the beginning.
    pub guess_per_s: f64,
    /// How many requests a flow of that loop sent; `None` without a scenario.
    pub requests_per_flow: Option<f64>,
    /// Why the search ended.
    pub ended: Ended,
    /// What is known of the capacity.
    pub found: Found,
    /// The best estimate of the capacity, even if it is no more than that; `None` if nothing is known.
    pub best_per_s: Option<f64>,
    /// How many rates of the search were judged by a noisy attempt, because every attempt at them was noisy.
    pub noisy_rates: u32,
    /// Every attempt, in order of time.
    pub attempts: Vec<RateAttempt>,
    /// Latency against rate, by rate; empty if it was not measured.
    pub curve: Vec<RateAttempt>,
    /// The rate above which latency rises steeply; `None` if there is no such rate.
    pub knee_per_s: Option<f64>,
    /// How long the search took, in seconds.
    pub duration_s: f64,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The search did everything it had to.
    Complete,
    /// The budget ran out.
    Budget,
    /// After a load the server did not respond correctly any more.
    Unsettled,
    /// The user stopped it.
    Interrupted,
}
