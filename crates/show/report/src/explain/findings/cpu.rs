//! CPU time: how much, and where.

use prony_model::CostFigure;
use prony_present::number::{duration, interval, ratio, share};
use prony_stats::Ratio;

use super::{above, below, each, named};
use crate::explain::costs::ServerCosts;
use crate::explain::difference::ratio_of;
use crate::explain::summary::WorkloadCosts;

/// A difference in CPU time is worth a sentence from this ratio on.
const LEAST_RATIO: f64 = 1.1;

/// A server spends most of its CPU time in the kernel if the kernel's share is above this.
const MOST_OF_IT: f64 = 0.5;

/// A server spends nearly all of its CPU time in user mode if the kernel's share is below this.
const LITTLE_OF_IT: f64 = 0.25;

/// How many times the CPU time of the cheapest server the dearest one needs.
pub(super) fn difference(workload: &WorkloadCosts<'_>) -> Option<String> {
    let cpu = |server: &ServerCosts<'_>| server.figure(CostFigure::Cpu).map(|cpu| cpu.median);
    let servers = || {
        workload
            .servers
            .iter()
            .filter_map(|server| Some((server, cpu(server)?)))
    };
    let (least, least_s) = servers().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (most, most_s) = servers().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let found = ratio_of(least.of, most.of, CostFigure::Cpu)?.0;
    let pairs = servers().count() * servers().count().saturating_sub(1) / 2;
    if !is_clear(&found, pairs) {
        return None;
    }
    let [most_s, least_s] = [most_s, least_s].map(|seconds| duration(seconds * 1e9));
    let (most, least) = (most.server(), least.server());
    let (times, range) = (ratio(found.ratio), interval(found.low, found.high, ratio));
    let range = if range == times {
        String::new()
    } else {
        format!(" ({range})")
    };
    Some(format!(
        "{most} needs {times} times{range} the CPU time of {least} for {} ({most_s} and {least_s}).",
        each(workload.unit)
    ))
}

/// Whether a ratio is one, also if it is the largest of this many pairs of servers (Bonferroni).
fn is_clear(found: &Ratio, pairs: usize) -> bool {
    found.p * (pairs as f64) < 0.05 && found.low > 1.0 && found.ratio >= LEAST_RATIO
}

/// Which servers spend most of their CPU time in the kernel.
pub(super) fn in_kernel(workload: &WorkloadCosts<'_>) -> Option<String> {
    let servers = named(workload, |server| {
        let kernel = above(server.kernel_share.as_ref(), MOST_OF_IT)?;
        Some((kernel, share(kernel)))
    })?;
    let servers = servers.and("spends most of its", "spend most of their");
    Some(format!("{servers} CPU time in the kernel."))
}

/// Which servers spend nearly all of their CPU time in their own code.
pub(super) fn in_user_mode(workload: &WorkloadCosts<'_>) -> Option<String> {
    let servers = named(workload, |server| {
        let user = 1.0 - below(server.kernel_share.as_ref(), LITTLE_OF_IT)?;
        Some((user, share(user)))
    })?;
    let servers = servers.and("spends its", "spend their");
    Some(format!(
        "{servers} CPU time mostly in user mode, in code of the server, its libraries and its runtime."
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_says;
    use super::*;

    #[test]
    fn the_dearest_server_is_compared_with_the_cheapest() {
        assert_says(
            difference,
            "
            a cpu=2e-5 + b cpu=1e-5 + c cpu=1.5e-5 | a needs 2.00 times the CPU time of b for a request (20.0 µs and 10.0 µs).
            // CPU times that hardly differ, alone or unknown.
            a cpu=1.11e-5 + b cpu=1e-5 | …
            a cpu=1.09e-5 + b cpu=1e-5 | -
            a cpu=2e-5 | -
            a + b | -
            // Within the noise.
            a cpu=1,2,1.6 + b cpu=1.3,1.1,1.2 | -
            ",
        );
    }

    #[test]
    fn among_many_pairs_a_difference_must_be_clearer() {
        let ratio = Ratio {
            ratio: 1.3,
            low: 1.1,
            high: 1.5,
            p: 0.02,
            n: 5,
        };
        assert!(is_clear(&ratio, 2));
        assert!(!is_clear(&ratio, 3));
    }

    #[test]
    fn most_of_the_time_in_the_kernel_is_more_than_half() {
        assert_says(
            in_kernel,
            "
            a cpu-kernel=0.62 cpu-user=0.38 + b cpu-kernel=0.49 cpu-user=0.51 | a (62 %) spends most of its CPU time in the kernel.
            a cpu-kernel=0.62 cpu-user=0.38 + b cpu-kernel=0.78 cpu-user=0.22 | b (78 %) and a (62 %) spend most of their CPU time in the kernel.
            a cpu-kernel=0.5 cpu-user=0.5 | -
            ",
        );
    }

    #[test]
    fn mostly_in_user_mode_is_more_than_three_quarters() {
        assert_says(
            in_user_mode,
            "
            a cpu-kernel=0.2 cpu-user=0.8 | a (80 %) spends its CPU time mostly…
            a cpu-kernel=0.25 cpu-user=0.75 | -
            ",
        );
    }
}
