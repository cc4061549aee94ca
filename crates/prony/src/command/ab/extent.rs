//! How much is measured, and whether it was enough.

use std::num::NonZeroU32;
use std::time::Duration;

use prony_compare::{Comparison, Metric, What};
use prony_model::{EnoughRounds, Run};
use prony_report::format;
use prony_suite::{AdaptiveRounds, Precision};

/// How much is measured.
pub struct Extent {
    /// How far the ends of an interval may be from its middle.
    pub precision: Precision,
    /// How long the trials may take altogether.
    pub budget: Duration,
    /// So many rounds, whatever they take.
    pub rounds: Option<NonZeroU32>,
}

impl Extent {
    /// Rounds that are added as needed; `None` where their number was set.
    pub fn adaptive(&self) -> Option<AdaptiveRounds> {
        self.rounds.is_none().then_some(AdaptiveRounds {
            precision: self.precision,
            budget: self.budget,
            most_rounds: AdaptiveRounds::MOST_ROUNDS,
        })
    }

    /// How many rounds there may be.
    pub fn most_rounds(&self) -> u32 {
        self.rounds
            .map_or(AdaptiveRounds::MOST_ROUNDS, NonZeroU32::get)
    }

    /// The changes of rates that are not known as precisely as was asked, a line each.
    pub fn too_wide(&self, comparison: &Comparison, run: &Run) -> Vec<String> {
        let cases = comparison.cases.iter();
        let rows = cases.flat_map(|case| case.rows.iter().map(move |row| (case, row)));
        let rates = rows.filter(|(_, row)| row.what == What::Metric(Metric::Rate));
        let wide = rates.filter_map(|(case, row)| {
            let half_width = row.change.as_ref()?.half_width();
            let share = |share: f64| format::short(&format::share(share));
            (half_width > self.precision.share()).then(|| {
                format!(
                    "the change of the rate of {} is known to ±{} only, not to ±{}; {}",
                    case.workload,
                    share(half_width),
                    self.precision,
                    advice(run, &case.workload)
                )
            })
        });
        wide.collect()
    }
}

/// What makes an interval narrower: whatever ended the rounds of its workload allows more of.
fn advice(run: &Run, workload: &str) -> &'static str {
    let ends = run.adaptive.iter().flat_map(|adaptive| &adaptive.ends);
    let mut ends = ends.filter(|end| end.workload == workload);
    match ends.next().map(|end| end.reason) {
        None => "more --rounds make it narrower",
        Some(EnoughRounds::Budget) => "a longer --budget makes it narrower",
        Some(EnoughRounds::MostRounds) => "more rounds are not made; a longer --duration may help",
        // Rounds that failed were not waited for.
        Some(EnoughRounds::Precise | EnoughRounds::Interrupted) => "a quieter machine may help",
    }
}
