//! Context switches.

use prony_model::CostFigure;
use prony_present::number::about_times;

use super::{above, each, range_of_others};
use crate::explain::summary::WorkloadCosts;

/// A server stands out if it has this many times the switches of each other server.
const FAR: f64 = 3.0;
/// Fewer switches for each request do not matter.
const LEAST: f64 = 0.1;

/// The server whose threads wait far more often than those of the others.
pub(super) fn voluntary(workload: &WorkloadCosts<'_>) -> Option<String> {
    let (server, often) = outstanding(workload, CostFigure::VoluntarySwitches)?;
    Some(format!(
        "Threads of {server} give up their CPU to wait {often}."
    ))
}

/// The server that the kernel interrupts far more often than the others.
pub(super) fn involuntary(workload: &WorkloadCosts<'_>) -> Option<String> {
    let (server, often) = outstanding(workload, CostFigure::InvoluntarySwitches)?;
    Some(format!(
        "The kernel takes the CPU from threads of {server} {often}; more of them want to run than have a CPU."
    ))
}

/// A server far above all others, with its figure and those of the others: `4.0 times a request, the other 1.0`.
fn outstanding<'w>(workload: &WorkloadCosts<'w>, figure: CostFigure) -> Option<(&'w str, String)> {
    workload.servers.iter().find_map(|server| {
        let own = server.figure(figure);
        let times = about_times(above(own, LEAST)?);
        let others = range_of_others(workload, &[server.server()], |it| it.figure(figure))?;
        above(own, FAR * others.highest_end)?;
        let (each, others) = (each(workload.unit), others.words());
        Some((server.server(), format!("{times} times {each}, {others}")))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_says;
    use super::*;

    #[test]
    fn three_times_the_switches_of_all_others_stand_out() {
        assert_says(
            voluntary,
            "
            a voluntary-switches=1.8 + b voluntary-switches=0.2 + c voluntary-switches=0.1 | Threads of a give up their CPU to wait 1.8 times a request, the others 0.1 to 0.2.
            a voluntary-switches=0.2 + b voluntary-switches=0.64 + c voluntary-switches=0.1 | Threads of b…
            a voluntary-switches=0.6 + b voluntary-switches=0.2 + c voluntary-switches=0.1 | -
            // Too few to matter.
            a voluntary-switches=0.1 + b voluntary-switches=0.001 + c voluntary-switches=0.001 | -
            a voluntary-switches=0.105 + b voluntary-switches=0.001 + c voluntary-switches=0.001 | …
            // Without others, or others that are known.
            a voluntary-switches=9 | -
            a voluntary-switches=9 + b | -
            ",
        );
    }

    #[test]
    fn involuntary_switches_have_their_own_sentence() {
        assert_says(
            involuntary,
            "
            a involuntary-switches=0.9 + b involuntary-switches=0.1 | The kernel takes the CPU from threads of a 0.9 times a request, the other 0.1; more of them want to run than have a CPU.
            a involuntary-switches=0.3 + b involuntary-switches=0.1 | -
            ",
        );
    }
}
