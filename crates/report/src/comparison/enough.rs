//! Why no more rounds were added of a table, where they were added as needed.

use prony_model::{LoadSpec, Run};

/// Why no more rounds were added of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnoughRounds {
    /// How far an interval's ends were to be from its ratio at the most, as a share of it.
    pub precision: f64,
    /// How long the run's trials might take altogether, in seconds.
    pub budget_s: f64,
    /// How many rounds there were.
    pub rounds: u32,
    /// Why there were no more.
    pub reason: prony_model::EnoughRounds,
    /// How far the ends of the widest interval are from its ratio; `None` where there was nothing to compare.
    pub widest: Option<f64>,
}

impl EnoughRounds {
    /// `None` where the number of rounds was set.
    pub(super) fn of(run: &Run, workload: &str, load: &LoadSpec) -> Option<Self> {
        let adaptive = run.adaptive.as_ref()?;
        let mut ends = adaptive.ends.iter();
        let end = ends.find(|end| end.workload == workload && end.load.same_load(load))?;
        Some(Self {
            precision: adaptive.precision,
            budget_s: adaptive.budget_s,
            rounds: end.rounds,
            reason: end.reason,
            widest: end.widest,
        })
    }
}
