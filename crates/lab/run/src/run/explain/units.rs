//! What costs are divided by.

use prony_model::{CostUnit, Measurement, Outcome};

/// How many requests or events of a load were ok, warm-up included; `None` if none was.
pub(super) fn units(measurement: &Measurement, unit: CostUnit) -> Option<f64> {
    let completed = measurement.completed();
    let units = match (unit, &measurement.load.events) {
        (CostUnit::Request, _) => completed,
        // Those of the warm-up are not counted, so they are taken to be as many for each response.
        (CostUnit::Event, Some(events)) => match measurement.load.outcomes[Outcome::Ok] {
            0 => 0.0,
            ok => completed * events.count as f64 / ok as f64,
        },
        (CostUnit::Event, None) => 0.0,
    };
    (units > 0.0).then_some(units)
}
