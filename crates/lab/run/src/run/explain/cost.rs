//! What a load cost its server, for each request or event.

use prony_model::{CostFigure, CostUnit, Measurement};

use super::instruments::Counters;
use super::units::units;

/// The cost under a load that nothing but counters watched.
pub(super) fn plain_cost(
    measurement: &Measurement,
    counted: &Counters,
    unit: CostUnit,
) -> Vec<(CostFigure, f64)> {
    let Some(units) = units(measurement, unit) else {
        return Vec::new();
    };
    let mut totals = Vec::new();
    if let Some(server) = &measurement.server {
        let count = |count: Option<u64>| count.map(|count| count as f64);
        let figures = [
            (CostFigure::Cpu, Some(server.cpu_s())),
            (CostFigure::CpuUser, Some(server.cpu_user_s)),
            (CostFigure::CpuKernel, Some(server.cpu_system_s)),
            (CostFigure::Instructions, count(server.instructions)),
            (CostFigure::Cycles, count(server.cycles)),
        ];
        let figures = figures.into_iter();
        totals.extend(figures.filter_map(|(figure, total)| Some((figure, total?))));
    }
    totals.extend(counted.totals());
    let each = totals.into_iter();
    let mut cost: Vec<_> = each
        .map(|(figure, total)| (figure, total / units))
        .collect();
    let ack_waits = measurement.load.share_of_ack_waits();
    cost.push((CostFigure::AckWaits, ack_waits.unwrap_or(0.0)));
    let threads = counted.threads();
    cost.extend(threads.map(|threads| (CostFigure::Threads, threads)));
    cost
}
