//! Context switches.

use prony_model::CostFigure;
use prony_present::number::about_times;
use prony_stats::Estimate;

use super::{above, each, range_of_others};
use crate::costs::ServerCosts;
use crate::summary::WorkloadCosts;

/// A server stands out if it has this many times the switches of each other server.
const FAR: f64 = 3.0;
/// Fewer switches for each request do not matter.
const LEAST: f64 = 0.1;

/// The server whose threads wait far more often than those of the others.
pub fn voluntary(workload: &WorkloadCosts<'_>) -> Option<String> {
    let (server, times, others) = outstanding(workload, CostFigure::VoluntarySwitches)?;
    Some(format!(
        "Threads of {server} give up their CPU to wait {times} times {}, {others}.",
        each(workload.unit)
    ))
}

/// The server that the kernel interrupts far more often than the others.
pub fn involuntary(workload: &WorkloadCosts<'_>) -> Option<String> {
    let (server, times, others) = outstanding(workload, CostFigure::InvoluntarySwitches)?;
    Some(format!(
        "The kernel takes the CPU from threads of {server} {times} times {}, {others}; more of them want to run than have a CPU.",
        each(workload.unit)
    ))
}

/// The server far above all others, its figure, and those of the others.
fn outstanding<'w>(
    workload: &WorkloadCosts<'w>,
    figure: CostFigure,
) -> Option<(&'w str, String, String)> {
    fn of<'s>(server: &'s ServerCosts<'_>, figure: CostFigure) -> Option<&'s Estimate> {
        server.figure(figure)
    }
    workload.servers.iter().find_map(|server| {
        let times = of(server, figure).filter(|times| above(times, LEAST))?;
        let others = range_of_others(workload, &[server.server()], |other| of(other, figure))?;
        let is_far = above(times, FAR * others.highest_end);
        is_far.then(|| (server.server(), about_times(times.median), others.words()))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;
    use super::*;
    use crate::made::Made;
    use prony_model::Explanation;

    fn switching(id: &str, figure: CostFigure, times: f64) -> Explanation {
        Made::server(id).with(figure, times).done()
    }

    #[test]
    fn three_times_the_switches_of_all_others_stand_out() {
        let of = |a, b, c| {
            let server = |id, times| switching(id, CostFigure::VoluntarySwitches, times);
            says(voluntary, &[server("a", a), server("b", b), server("c", c)])
        };
        assert_eq!(
            of(1.8, 0.2, 0.1).unwrap(),
            "Threads of a give up their CPU to wait 1.8 times a request, the others 0.1 to 0.2."
        );
        assert!(of(0.2, 0.64, 0.1).unwrap().starts_with("Threads of b"));
        assert_eq!(of(0.6, 0.2, 0.1), None);
        assert_eq!(of(0.1, 0.001, 0.001), None, "too few to matter");
        assert!(of(0.105, 0.001, 0.001).is_some());
    }

    #[test]
    fn without_others_nothing_stands_out() {
        let one = switching("a", CostFigure::VoluntarySwitches, 9.0);
        assert_eq!(says(voluntary, std::slice::from_ref(&one)), None);
        let unknown = Made::server("b").done();
        assert_eq!(says(voluntary, &[one, unknown]), None);
    }

    #[test]
    fn involuntary_switches_have_their_own_sentence() {
        let server = |id, times| switching(id, CostFigure::InvoluntarySwitches, times);
        assert_eq!(
            says(involuntary, &[server("a", 0.9), server("b", 0.1)]).unwrap(),
            "The kernel takes the CPU from threads of a 0.9 times a request, the other 0.1; more of them want to run than have a CPU."
        );
        assert_eq!(
            says(involuntary, &[server("a", 0.3), server("b", 0.1)]),
            None
        );
    }
}
