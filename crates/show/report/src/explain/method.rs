//! How everything was measured: below the tables, and in paragraphs for a page.

use prony_model::{CostUnit, Profile, Unnamed};
use prony_present::number::{NO_BREAK, change, count, exact, interval, share};
use prony_present::words::{list, plural};

use crate::explain::costs::ServerCosts;
use crate::explain::findings::each;
use crate::explain::summary::{ExplanationSummary, WorkloadCosts};

/// How to read the table of costs, in a line: in a terminal the interval is half its width.
pub(super) const REACH: &str =
    "Medians over the rounds; ±: half the 95 % interval, as a share of the median.";
/// The same if both ends are shown.
pub(super) const ENDS: &str = "Medians over the rounds, with their 95 % intervals.";

/// What intervals are if there is a single round.
pub(super) const ONE_ROUND: &str =
    "There is a single round, so no figure has an interval and no sentence says what stands out.";

/// What counting system calls cost, if they were counted.
pub(super) fn tracing(workload: &WorkloadCosts<'_>) -> Option<String> {
    let costs = workload
        .servers
        .iter()
        .filter_map(|server| server.tracing_cost);
    let costs: Vec<f64> = costs.map(|cost| cost.median).collect();
    let [low, high] = ends(&costs)?;
    Some(format!(
        "Counting system calls changed the CPU time for {} by {}; no other figure is from that load.",
        each(workload.unit),
        interval(low, high, |cost| change(1.0 + cost)).replace('–', " to ")
    ))
}

fn ends(values: &[f64]) -> Option<[f64; 2]> {
    let low = values.iter().copied().reduce(f64::min)?;
    Some([low, values.iter().copied().fold(low, f64::max)])
}

/// What a profile rests on: its samples, its cost, what it lost and what has no names.
pub(super) fn profile(profile: &Profile, unit: CostUnit) -> String {
    let samples = plural(profile.samples as usize, "sample");
    let units = plural(profile.units.round() as usize, unit.name());
    let mut parts = vec![format!(
        "{samples} over {units}, {} Hz.",
        count(profile.frequency_hz)
    )];
    if profile.lost > 0 {
        parts.push(format!("{} more were lost.", exact(profile.lost)));
    }
    if let Some(cost) = profile.cost {
        parts.push(format!(
            "Sampling changed the CPU time for {} by {}.",
            each(unit),
            change(1.0 + cost)
        ));
    }
    if profile.left_out > 0.0 {
        let of_all = share(profile.left_out / profile.total());
        parts.push(format!(
            "Rare stacks with {of_all} of the time were left out."
        ));
    }
    parts.extend(profile.unnamed.iter().map(unnamed));
    parts.join(" ")
}

fn unnamed(code: &Unnamed) -> String {
    let Unnamed {
        module,
        share: of_all,
        why,
    } = code;
    format!(
        "Without names: {} of the samples, in {module}: {why}.",
        share(*of_all)
    )
}

/// What each figure counts and cannot see, in paragraphs.
pub(super) fn paragraphs(summary: &ExplanationSummary<'_>) -> Vec<String> {
    let servers = || {
        summary
            .workloads
            .iter()
            .flat_map(|workload| &workload.servers)
    };
    let any = |has: fn(&ServerCosts<'_>) -> bool| servers().any(has);
    let mut paragraphs = vec![UNIT.to_owned(), CPU.to_owned()];
    let mut add = |is_so: bool, text: &str| {
        if is_so {
            paragraphs.push(text.to_owned());
        }
    };
    add(any(has_counters), COUNTERS);
    add(any(|server| !server.system_calls.is_empty()), CALLS);
    add(true, WAITING);
    add(true, TCP);
    add(true, MEMORY);
    add(any(|server| server.of.on_cpu.is_some()), ON_CPU);
    add(any(|server| server.of.off_cpu.is_some()), OFF_CPU);
    add(true, STATISTICS);
    paragraphs
}

fn has_counters(server: &ServerCosts<'_>) -> bool {
    use prony_model::CostFigure::{Cycles, Instructions};
    [Instructions, Cycles]
        .iter()
        .any(|figure| server.figure(*figure).is_some())
}

const UNIT: &str = "Per request: figures are divided by the ok responses of the load, and by the events if the workload is an event \
     stream. They are from loads of their own, which are never ranked. What the server does beside its requests (timers, \
     logs, garbage collection) counts in.";
const CPU: &str = "CPU time: that of all processes of the server, as the kernel accounts it. The kernel's part includes what it sends and \
     receives for the server, but not interrupts that it handles on another CPU.";
const COUNTERS: &str = "Instructions and cycles: the processor's counters, in user mode and in the kernel. In a virtual machine a cycle may be \
     shorter or longer than on the processor.";
const CALLS: &str = "System calls: counted by name where a thread enters the kernel. What goes through io_uring, and what the vDSO serves \
     without entering the kernel (reading the clock), is not among them. The count does not tell a call that found nothing to \
     do from one that did something.";
const WAITING: &str = "Context switches: voluntary if a thread waits, involuntary if the kernel gives its CPU to another. Wake-ups: of threads of the \
     server, by whatever woke them.";
const TCP: &str = "Bytes and segments: what the load generator's kernel received on its TCP connections, headers of HTTP included. A network card may \
     join segments before the kernel counts them; on loopback a segment may have 64 KiB.";
const MEMORY: &str = "Page faults: minor ones map memory without a disk. Heap growth: how much anonymous memory the server had more after the \
     load than before it; what it freed and uses again does not show.";
const ON_CPU: &str = "Functions: samples of all threads while they run on a CPU. A function's own share excludes those that it calls. Functions that \
     were compiled into their callers (inlined) may count as part of them.";
const OFF_CPU: &str = "Waiting: where threads leave the CPU, and how long they stay off it. Idle threads wait too, so much waiting is not by itself a fault.";
const STATISTICS: &str = "Intervals: 95 %, from the rounds alone. With two to five rounds they assume approximately normal noise and are wide. A sentence \
     says that something stands out only if whole intervals support it.";

/// The rounds of the servers, if they differ.
pub(super) fn rounds(workload: &WorkloadCosts<'_>) -> Option<String> {
    let most = workload.rounds();
    let fewer = workload
        .servers
        .iter()
        .filter(|server| server.of.rounds.len() < most);
    let fewer: Vec<String> = fewer
        .map(|server| format!("{}{NO_BREAK}{}", server.server(), server.of.rounds.len()))
        .collect();
    (!fewer.is_empty()).then(|| format!("Fewer rounds: {}.", list(&fewer)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::testing::Builder;

    #[test]
    fn the_cost_of_counting_calls_is_that_of_the_servers() {
        let of = |costs: &[Option<f64>]| {
            let servers = ["a", "b", "c"].iter().zip(costs).map(|(id, cost)| {
                let mut one = Builder::server(id).done();
                one.rounds
                    .iter_mut()
                    .for_each(|round| round.tracing_cost = *cost);
                one
            });
            let servers: Vec<_> = servers.collect();
            tracing(&ExplanationSummary::of(&servers).workloads[0])
        };
        assert_eq!(
            of(&[Some(0.08), Some(0.121), None]).unwrap(),
            "Counting system calls changed the CPU time for a request by +8.0 to +12.1 %; no other figure is from that load."
        );
        assert!(of(&[Some(0.08)]).unwrap().contains("by +8.0 %;"));
        assert_eq!(of(&[None]), None);
    }

    #[test]
    fn a_profile_says_what_it_lost_and_what_has_no_names() {
        let mut one = crate::explain::testing::profile(&[("f", 1500.0)]);
        assert_eq!(
            profile(&one, CostUnit::Event),
            "1,500 samples over 1,000 events, 100 Hz."
        );
        (one.lost, one.cost, one.left_out) = (12, Some(0.02), 500.0);
        one.unnamed.push(Unnamed {
            module: "server".into(),
            share: 0.25,
            why: "it is stripped".into(),
        });
        assert_eq!(
            profile(&one, CostUnit::Request),
            "1,500 samples over 1,000 requests, 100 Hz. 12 more were lost. Sampling changed the CPU time for a request by +2.0 %. \
             Rare stacks with 25 % of the time were left out. Without names: 25 % of the samples, in server: it is stripped."
        );
    }

    #[test]
    fn a_server_with_fewer_rounds_is_named() {
        let mut short = Builder::server("b").done();
        short.rounds.truncate(3);
        let all = [Builder::server("a").done(), short];
        let of = |servers| rounds(&ExplanationSummary::of(servers).workloads[0]);
        assert_eq!(of(&all).unwrap(), "Fewer rounds: b\u{a0}3.");
        assert_eq!(of(&all[..1]), None);
    }
}
