//! What a load cost its server, for each request or event.

use prony_model::{CostFigure, CostRound, CostUnit, Measurement, Outcome};

use super::instruments::Counters;

/// How many requests or events of a load were ok, warm-up included; `None` if none was.
pub fn units(measurement: &Measurement, unit: CostUnit) -> Option<f64> {
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

/// The cost under a load that nothing but counters watched.
pub struct PlainCost {
    figures: Vec<(CostFigure, f64)>,
}

impl PlainCost {
    pub fn of(measurement: &Measurement, counted: &Counters, unit: CostUnit) -> Self {
        let Some(units) = units(measurement, unit) else {
            return Self {
                figures: Vec::new(),
            };
        };
        let mut totals = Vec::new();
        if let Some(server) = &measurement.server {
            totals.extend([
                (CostFigure::Cpu, server.cpu_s()),
                (CostFigure::CpuUser, server.cpu_user_s),
                (CostFigure::CpuKernel, server.cpu_system_s),
            ]);
            let counters = [
                (CostFigure::Instructions, server.instructions),
                (CostFigure::Cycles, server.cycles),
            ];
            let counters = counters.into_iter();
            totals.extend(counters.filter_map(|(figure, count)| Some((figure, count? as f64))));
        }
        totals.extend(counted.totals());
        let mut figures: Vec<(CostFigure, f64)> = totals
            .into_iter()
            .map(|(figure, total)| (figure, total / units))
            .collect();
        figures.push((
            CostFigure::AckWaits,
            measurement.load.share_of_ack_waits().unwrap_or(0.0),
        ));
        figures.extend(
            counted
                .threads()
                .map(|threads| (CostFigure::Threads, threads)),
        );
        Self { figures }
    }

    /// CPU time for each request, in seconds.
    pub fn cpu_s(&self) -> Option<f64> {
        let mut figures = self.figures.iter();
        let cpu = figures.find(|(figure, _)| *figure == CostFigure::Cpu)?;
        Some(cpu.1)
    }

    pub fn add_to(&self, round: &mut CostRound) {
        round.figures.extend(self.figures.iter().copied());
    }
}
