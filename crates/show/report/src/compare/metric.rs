//! The metrics, and a round's value of each.

use std::fmt;
use std::str::FromStr;

use prony_model::{FigureKind, LatencyHistogram, LoadSpec, MeasuredBy, Measurement};
use prony_present::number;
use prony_stats::{Better, LEAST_VERDICT_ROUNDS, supports_percentile};
use serde::Serialize;

prony_model::named! {
    /// A metric to compare.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    pub enum Metric {
        /// Expected responses, or ok flows, per second, in closed loops only: in an open loop the schedule sets the rate.
        Rate = "rate",
        /// The server's CPU time per expected response or ok flow, in nanoseconds; both include the warm-up.
        Cpu = "cpu",
        /// The server's instructions per expected response or ok flow; both include the warm-up.
        Instructions = "instructions",
        /// The server's instructions in user mode per request, without the warm-up, of loads that count them.
        #[serde(rename = "user-instructions")]
        UserInstructions = "user-instructions",
        /// The median latency, or time of a flow, in nanoseconds.
        P50 = "p50",
        /// The latency that 99 of 100 responses, or the time that 99 of 100 flows, did not exceed, in nanoseconds.
        P99 = "p99",
        /// The server's peak memory, in bytes.
        Memory = "memory",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown metric `{0}`; use rate, cpu, instructions, user-instructions, p50, p99 or memory")]
pub struct UnknownMetric(pub String);

impl Metric {
    /// The metrics that are compared by default: those that depend on the server under this load.
    pub fn usual(load: &LoadSpec) -> &'static [Metric] {
        if load.by == MeasuredBy::Instructions {
            return &[Metric::UserInstructions];
        }
        if load.shape.is_open() {
            &[Metric::Cpu, Metric::Instructions, Metric::P50, Metric::P99]
        } else {
            &[Metric::Rate, Metric::Cpu, Metric::Instructions, Metric::P99]
        }
    }

    /// Whether it describes the server under this load.
    pub(crate) fn applies_to(self, load: &LoadSpec) -> bool {
        match load.by {
            MeasuredBy::Time if self == Metric::UserInstructions => false,
            MeasuredBy::Time => self != Metric::Rate || !load.shape.is_open(),
            // The emulator's rates, latencies and memory are not the server's.
            MeasuredBy::Instructions => self == Metric::UserInstructions,
        }
    }

    /// Which direction is better.
    pub const fn better(self) -> Better {
        match self {
            Metric::Rate => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// Its kind, which decides what limits it.
    pub const fn kind(self) -> FigureKind {
        match self {
            Metric::Rate => FigureKind::Pace,
            Metric::P50 | Metric::P99 => FigureKind::Latency,
            Metric::Cpu | Metric::Instructions => FigureKind::Cost,
            // How busy the machine and the generator were does not change them.
            Metric::UserInstructions => FigureKind::Other,
            Metric::Memory => FigureKind::Other,
        }
    }

    /// Whether the machine's speed affects it for a server as for the ceiling (reference server), so that the ratio of the two is
    /// steadier than either.
    pub(crate) const fn follows_the_machine(self) -> bool {
        !matches!(self, Metric::Memory | Metric::UserInstructions)
    }

    /// Whether nothing that changes on the machine from round to round affects it, so that pairs of rounds tell no more than all
    /// rounds of both sides do.
    pub(crate) const fn is_independent_of_time(self) -> bool {
        matches!(self, Metric::UserInstructions)
    }

    /// The significance of a change: its p-value, corrected for all comparisons made together, must be below this.
    ///
    /// Instructions differ so little from round to round that a strict one hardly hides a change.
    pub(crate) const fn significance(self) -> f64 {
        match self {
            Metric::UserInstructions => 0.01,
            _ => 0.05,
        }
    }

    /// The least number of rounds that a verdict needs, not counting those that were noisy in every attempt.
    pub const fn least_rounds(self) -> usize {
        match self {
            Metric::UserInstructions => 2,
            _ => LEAST_VERDICT_ROUNDS,
        }
    }

    /// A round's value; `None` if it was not recorded, or there are too few responses.
    pub fn of(self, round: &Measurement) -> Option<f64> {
        let value = match self {
            Metric::Rate => Some(round.load.work().rate_per_s),
            Metric::Cpu => round.per_completed(round.server_cpu_s()? * 1e9),
            Metric::Instructions => {
                round.per_completed(round.server.as_ref()?.instructions? as f64)
            }
            Metric::UserInstructions => round.user_instructions.as_ref()?.per_request(),
            Metric::P50 => percentile(round, 0.5),
            Metric::P99 => percentile(round, 0.99),
            Metric::Memory => Some(round.server.as_ref()?.peak_memory_bytes as f64),
        };
        value.filter(|value| value.is_finite() && *value > 0.0)
    }

    /// The value with its unit.
    pub fn text(self, value: f64) -> String {
        match self {
            Metric::Rate => number::rate(value),
            Metric::Instructions => number::count(value),
            Metric::UserInstructions => number::whole(value),
            Metric::Cpu | Metric::P50 | Metric::P99 => number::duration(value),
            Metric::Memory => number::bytes(value),
        }
    }
}

impl Metric {
    /// A change with as many decimals as the metric is precise to: `+0.31 %`.
    pub fn change_text(self, ratio: f64) -> String {
        match self {
            Metric::UserInstructions => number::precise_change(ratio),
            _ => number::change(ratio),
        }
    }
}

fn percentile(round: &Measurement, quantile: f64) -> Option<f64> {
    let histogram = LatencyHistogram::from_base64(round.load.work().histogram).ok()?;
    supports_percentile(histogram.count(), 1.0 - quantile)
        .then(|| histogram.value_at(quantile) as f64)
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Self, UnknownMetric> {
        Metric::from_name(text).ok_or_else(|| UnknownMetric(text.to_owned()))
    }
}
