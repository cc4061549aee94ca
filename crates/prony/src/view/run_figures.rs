//! The figures of a run while it goes on, by the rules of its report.

use std::collections::BTreeMap;

use prony_live::screen::CellId;
use prony_model::{CountedRounds, Measurement, TrialRecord};
use prony_stats::Estimate;

/// Every attempt so far, by its server and measure.
#[derive(Default)]
pub struct RunFigures {
    records: BTreeMap<CellId, Vec<TrialRecord>>,
}

impl RunFigures {
    /// Takes an attempt, and returns the headline figure over the rounds so far, of the attempts that count.
    pub fn take(&mut self, cell: CellId, record: &TrialRecord) -> Option<Estimate> {
        let records = self.records.entry(cell).or_default();
        records.push(record.clone());
        let by_round = CountedRounds::of(&*records).by_round(Measurement::headline);
        let values: Vec<f64> = by_round.into_values().collect();
        Estimate::of(&values)
    }
}
