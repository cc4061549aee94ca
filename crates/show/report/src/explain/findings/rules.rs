//! The rules that sentences come from.

use super::{calls, cpu, functions, memory, switches, writes};
use crate::explain::summary::WorkloadCosts;

/// A rule: what it says about a workload, if it applies.
pub(super) type Rule = fn(&WorkloadCosts<'_>) -> Option<String>;

/// The rules, the most telling first.
const RULES: [Rule; 17] = [
    writes::awaited,
    cpu::difference,
    calls::number,
    writes::apart,
    writes::together,
    calls::hand_offs,
    switches::voluntary,
    memory::growth,
    functions::collection,
    cpu::in_kernel,
    cpu::in_user_mode,
    functions::one_function,
    calls::epoll_ctl,
    memory::faults,
    switches::involuntary,
    writes::segments,
    calls::io_uring,
];

/// The most sentences about a workload.
pub(super) const MOST: usize = 8;

/// What stands out, the most telling first: at most eight sentences.
pub fn findings(workload: &WorkloadCosts<'_>) -> Vec<String> {
    let found = RULES.iter().filter_map(|rule| rule(workload));
    found.take(MOST).collect()
}
