//! When the requests of a rate are due.

use serde::{Deserialize, Serialize};

/// When the requests of a rate are due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Schedule {
    /// How they are spaced.
    pub arrivals: Arrivals,
    /// How many are due at each instant; more than 1 makes bursts, at the same rate overall.
    pub burst: u64,
    /// The rates, one stage after the other. The last one's rate goes on until the load ends.
    pub stages: Vec<Stage>,
}

crate::named! {
    /// How the requests of a rate are spaced.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Arrivals {
        /// Evenly.
        Even = "even",
        /// At random, independently of each other: a Poisson process.
        Poisson = "poisson",
    }
}

/// A part of a schedule, in which the rate changes evenly from one value to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stage {
    /// The rate at its beginning, in requests per second.
    pub from_per_s: f64,
    /// The rate at its end, in requests per second.
    pub to_per_s: f64,
    /// How long it takes, in seconds; `None` if it is the last one and lasts as long as the load.
    pub duration_s: Option<f64>,
}

impl Stage {
    /// A constant rate that lasts as long as the load.
    pub const fn endless(per_s: f64) -> Self {
        Self {
            from_per_s: per_s,
            to_per_s: per_s,
            duration_s: None,
        }
    }

    /// The highest rate in it, in requests per second.
    pub fn peak_per_s(&self) -> f64 {
        self.from_per_s.max(self.to_per_s)
    }
}

impl Schedule {
    /// The highest rate, in requests per second: one per nanosecond, the resolution of the clock.
    pub const MOST_PER_S: f64 = 1e9;
    /// The most requests that are due at one instant.
    pub const MOST_BURST: u64 = 1_000_000;
    pub const MOST_STAGES: usize = 1000;

    /// A constant rate.
    pub fn constant(arrivals: Arrivals, per_s: f64) -> Self {
        Self {
            arrivals,
            burst: 1,
            stages: vec![Stage::endless(per_s)],
        }
    }
}

impl Stage {
    /// How many requests are due in it: the area under its rate. Infinite for a stage without an end.
    pub fn requests(&self) -> f64 {
        let duration_s = self.duration_s.unwrap_or(f64::INFINITY);
        (self.from_per_s + self.to_per_s) / 2.0 * duration_s
    }

    /// How long into it this many requests (at most [`Stage::requests`]) have been due, in seconds.
    ///
    /// If the rate grows evenly, the area under it is `from * t + slope * t^2 / 2`. The solution holds for a slope of 0
    /// too.
    pub fn seconds_until(&self, requests: f64) -> f64 {
        let duration_s = self.duration_s.unwrap_or(f64::INFINITY);
        let slope = (self.to_per_s - self.from_per_s) / duration_s;
        let root = (self.from_per_s * self.from_per_s + 2.0 * slope * requests)
            .max(0.0)
            .sqrt();
        if requests == 0.0 || self.from_per_s + root == 0.0 {
            return 0.0;
        }
        (2.0 * requests / (self.from_per_s + root)).min(duration_s)
    }
}
