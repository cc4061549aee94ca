//! CPU time: how much, and where.

use prony_model::CostFigure;
use prony_present::number::{duration, interval, ratio, share};
use prony_stats::{Estimate, Ratio};

use super::{Case, above, below, each, named};
use crate::costs::ServerCosts;
use crate::difference::ratio_of;
use crate::summary::WorkloadCosts;

/// A difference in CPU time is worth a sentence from this ratio on.
const LEAST_RATIO: f64 = 1.1;

/// A server spends most of its CPU time in the kernel if the kernel's share is above this.
const MOST_OF_IT: f64 = 0.5;

/// A server spends nearly all of its CPU time in user mode if the kernel's share is below this.
const LITTLE_OF_IT: f64 = 0.25;

/// How many times the CPU time of the cheapest server the dearest one needs.
pub fn difference(workload: &WorkloadCosts<'_>) -> Option<String> {
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
pub fn in_kernel(workload: &WorkloadCosts<'_>) -> Option<String> {
    let cases = cases(
        workload,
        |kernel| above(kernel, MOST_OF_IT),
        |kernel| kernel,
    );
    let servers = named(cases)?.and("spends most of its", "spend most of their");
    Some(format!("{servers} CPU time in the kernel."))
}

/// Which servers spend nearly all of their CPU time in their own code.
pub fn in_user_mode(workload: &WorkloadCosts<'_>) -> Option<String> {
    let cases = cases(
        workload,
        |kernel| below(kernel, LITTLE_OF_IT),
        |kernel| 1.0 - kernel,
    );
    let servers = named(cases)?.and("spends its", "spend their");
    Some(format!(
        "{servers} CPU time mostly in user mode, in code of the server, its libraries and its runtime."
    ))
}

fn cases<'w>(
    workload: &WorkloadCosts<'w>,
    applies: impl Fn(&Estimate) -> bool,
    shown: impl Fn(f64) -> f64,
) -> Vec<Case<'w>> {
    let servers = workload.servers.iter();
    let cases = servers.filter_map(|server| {
        let kernel = server.kernel_share.filter(|kernel| applies(kernel))?;
        let value = shown(kernel.median);
        Some(Case::new(server, value, share(value)))
    });
    cases.collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;
    use super::*;
    use crate::made::Made;
    use prony_model::Explanation;

    fn cpu(id: &str, seconds: f64) -> Explanation {
        Made::server(id).with(CostFigure::Cpu, seconds).done()
    }

    fn kernel(id: &str, share: f64) -> Explanation {
        Made::server(id)
            .with(CostFigure::CpuKernel, share)
            .with(CostFigure::CpuUser, 1.0 - share)
            .done()
    }

    #[test]
    fn the_dearest_server_is_compared_with_the_cheapest() {
        let servers = [cpu("a", 2e-5), cpu("b", 1e-5), cpu("c", 1.5e-5)];
        let sentence = says(difference, &servers).unwrap();
        assert_eq!(
            sentence,
            "a needs 2.00 times the CPU time of b for a request (20.0 µs and 10.0 µs)."
        );
    }

    #[test]
    fn cpu_times_that_hardly_differ_are_not_mentioned() {
        assert!(says(difference, &[cpu("a", 1.11e-5), cpu("b", 1e-5)]).is_some());
        assert_eq!(says(difference, &[cpu("a", 1.09e-5), cpu("b", 1e-5)]), None);
        assert_eq!(says(difference, &[cpu("a", 2e-5)]), None);
        let unknown = [Made::server("a").done(), Made::server("b").done()];
        assert_eq!(says(difference, &unknown), None);
    }

    #[test]
    fn a_difference_within_the_noise_is_not_mentioned() {
        let noisy =
            |id: &str, rounds: &[f64]| Made::server(id).exactly(CostFigure::Cpu, rounds).done();
        let servers = [noisy("a", &[1.0, 2.0, 1.6]), noisy("b", &[1.3, 1.1, 1.2])];
        assert_eq!(says(difference, &servers), None);
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
        assert_eq!(
            says(in_kernel, &[kernel("a", 0.62), kernel("b", 0.49)]).unwrap(),
            "a (62 %) spends most of its CPU time in the kernel."
        );
        assert_eq!(
            says(in_kernel, &[kernel("a", 0.62), kernel("b", 0.78)]).unwrap(),
            "b (78 %) and a (62 %) spend most of their CPU time in the kernel."
        );
        assert_eq!(says(in_kernel, &[kernel("a", 0.5)]), None);
    }

    #[test]
    fn mostly_in_user_mode_is_more_than_three_quarters() {
        assert!(
            says(in_user_mode, &[kernel("a", 0.2)])
                .unwrap()
                .starts_with("a (80 %) spends its CPU time mostly")
        );
        assert_eq!(says(in_user_mode, &[kernel("a", 0.25)]), None);
    }
}
