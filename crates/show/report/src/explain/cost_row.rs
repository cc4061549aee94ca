//! The rows of the table of costs: which there are, and how each is shown.

use std::collections::BTreeSet;

use prony_model::{CostFigure, CostRound, Explanation};
use prony_present::number::{bytes, count, duration, growth, times};
use prony_stats::Estimate;

use crate::explain::costs::{ServerCosts, estimate};
use crate::explain::summary::WorkloadCosts;

/// A system call has a row of its own if some server makes it at least this often for each request.
const LEAST_OFTEN: f64 = 0.05;

/// How many requests the growth of memory is given for.
const GROWTH_OF: f64 = 1000.0;

/// A row: a figure of each server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CostRow<'a> {
    Figure(CostFigure),
    /// How often a system call is made.
    Call(&'a str),
    /// How often all system calls are made that have no row of their own.
    OtherCalls {
        /// Those that have one.
        than: BTreeSet<&'a str>,
        /// How many others there are.
        kinds: usize,
    },
}

/// The rows of a workload, in order.
pub(super) fn rows<'a>(workload: &WorkloadCosts<'a>) -> Vec<CostRow<'a>> {
    let mut rows = Vec::new();
    for (figure, _) in ORDER {
        if has_row(workload, figure) {
            rows.push(CostRow::Figure(figure));
        }
        if figure == CostFigure::SystemCalls {
            rows.extend(calls(workload));
        }
    }
    rows
}

/// The figures in the order of the table, and how soon each gives way if there is no room: the highest first, 0 never.
const ORDER: [(CostFigure, u8); CostFigure::ALL.len()] = [
    (CostFigure::Cpu, 0),
    (CostFigure::CpuUser, 8),
    (CostFigure::CpuKernel, 3),
    (CostFigure::Instructions, 9),
    (CostFigure::Cycles, 15),
    (CostFigure::SystemCalls, 1),
    (CostFigure::Writes, 2),
    (CostFigure::VoluntarySwitches, 4),
    (CostFigure::InvoluntarySwitches, 10),
    (CostFigure::WakeUps, 7),
    (CostFigure::MinorFaults, 11),
    (CostFigure::MajorFaults, 18),
    (CostFigure::Bytes, 12),
    (CostFigure::Segments, 6),
    (CostFigure::AckWaits, 5),
    (CostFigure::Threads, 13),
    (CostFigure::HeapGrowth, 5),
];

/// Counters of the processor have a row if some server has them, faults that read from a disk and waits for
/// acknowledgements if there were any.
fn has_row(workload: &WorkloadCosts<'_>, figure: CostFigure) -> bool {
    let mut figures = workload
        .servers
        .iter()
        .filter_map(|server| server.figure(figure));
    match figure {
        CostFigure::Instructions | CostFigure::Cycles => figures.next().is_some(),
        CostFigure::MajorFaults | CostFigure::AckWaits => figures.any(|figure| figure.high > 0.0),
        _ => true,
    }
}

/// The system calls that are frequent on some server, the most frequent first, and the rest together.
fn calls<'a>(workload: &WorkloadCosts<'a>) -> Vec<CostRow<'a>> {
    let all = || {
        workload
            .servers
            .iter()
            .flat_map(|server| &server.system_calls)
    };
    let most = |name: &str| {
        let times = all()
            .filter(|(call, _)| **call == name)
            .map(|(_, times)| times.median);
        times.fold(0.0, f64::max)
    };
    let names: BTreeSet<&'a str> = all().map(|(name, _)| *name).collect();
    let mut frequent: Vec<(&'a str, f64)> = names
        .iter()
        .map(|name| (*name, most(name)))
        .filter(|(_, times)| *times >= LEAST_OFTEN)
        .collect();
    frequent.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let kinds = names.len() - frequent.len();
    let than: BTreeSet<&'a str> = frequent.iter().map(|(name, _)| *name).collect();
    let mut rows: Vec<CostRow<'a>> = frequent
        .iter()
        .map(|(name, _)| CostRow::Call(name))
        .collect();
    if kinds > 0 {
        rows.push(CostRow::OtherCalls { than, kinds });
    }
    rows
}

impl CostRow<'_> {
    /// The server's figure, in the unit that is shown; `None` if it could not be measured.
    pub(crate) fn of(&self, server: &ServerCosts<'_>) -> Option<Estimate> {
        let rounds = self.in_rounds(server.of).into_iter().flatten();
        estimate(rounds.map(|value| value * self.scale()))
    }

    /// Each round's figure; `None` if that round lacks it.
    pub(crate) fn in_rounds(&self, of: &Explanation) -> Vec<Option<f64>> {
        let calls = |round: &CostRound, counts: &dyn Fn(&str) -> bool| {
            let named = round.system_calls.iter().filter(|(name, _)| counts(name));
            // The sum of no numbers would be −0.
            let times = named.fold(0.0, |sum, (_, times)| sum + times);
            (!round.system_calls.is_empty()).then_some(times)
        };
        let figure = |round: &CostRound| match self {
            Self::Figure(figure) => round.figures.get(figure).copied(),
            Self::Call(name) => calls(round, &|one| one == *name),
            Self::OtherCalls { than, .. } => calls(round, &|one| !than.contains(one)),
        };
        of.rounds.iter().map(figure).collect()
    }

    /// What figures are multiplied by to be shown: seconds become nanoseconds, and growth is that of many requests.
    pub(crate) fn scale(&self) -> f64 {
        match self {
            Self::Figure(CostFigure::HeapGrowth) => GROWTH_OF,
            Self::Figure(CostFigure::Cpu | CostFigure::CpuUser | CostFigure::CpuKernel) => 1e9,
            _ => 1.0,
        }
    }

    /// How a figure is written.
    pub(crate) fn shown(&self) -> fn(f64) -> String {
        match self {
            Self::Figure(figure) => shown(*figure),
            Self::Call(_) | Self::OtherCalls { .. } => times,
        }
    }

    /// Whether it is a part of a row above.
    pub(crate) fn is_part(&self) -> bool {
        match self {
            Self::Figure(figure) => matches!(figure, CostFigure::CpuUser | CostFigure::CpuKernel),
            Self::Call(_) | Self::OtherCalls { .. } => true,
        }
    }

    /// Whether it begins another kind of figures.
    pub(crate) fn begins_group(&self) -> bool {
        use CostFigure::{Bytes, MinorFaults, SystemCalls, Threads, VoluntarySwitches, Writes};
        const BEGINNINGS: [CostFigure; 6] = [
            SystemCalls,
            Writes,
            VoluntarySwitches,
            MinorFaults,
            Bytes,
            Threads,
        ];
        matches!(self, Self::Figure(figure) if BEGINNINGS.contains(figure))
    }

    pub(crate) fn title(&self) -> String {
        match self {
            Self::Figure(figure) => title(*figure).to_owned(),
            Self::Call(name) => (*name).to_owned(),
            Self::OtherCalls { kinds: 1, .. } => "other (1 kind)".to_owned(),
            Self::OtherCalls { kinds, .. } => format!("other ({kinds} kinds)"),
        }
    }

    /// What it counts.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Figure(figure) => hint(*figure),
            Self::Call(_) => "How often this system call is made",
            Self::OtherCalls { .. } => {
                "System calls that no server makes more often than once in 20 requests or events"
            }
        }
    }

    /// How soon it gives way if there is no room: the highest first, 0 never.
    pub(crate) fn drop(&self) -> u8 {
        match self {
            Self::Figure(figure) => {
                let found = ORDER.iter().find(|(one, _)| one == figure);
                found.map_or(0, |(_, drop)| *drop)
            }
            Self::Call(_) => 20,
            Self::OtherCalls { .. } => 21,
        }
    }
}

fn title(figure: CostFigure) -> &'static str {
    match figure {
        CostFigure::Cpu => "CPU time",
        CostFigure::CpuUser => "in user mode",
        CostFigure::CpuKernel => "in the kernel",
        CostFigure::Instructions => "instructions",
        CostFigure::Cycles => "cycles",
        CostFigure::SystemCalls => "system calls",
        CostFigure::Writes => "writes",
        CostFigure::VoluntarySwitches => "voluntary switches",
        CostFigure::InvoluntarySwitches => "involuntary switches",
        CostFigure::WakeUps => "wake-ups",
        CostFigure::MinorFaults => "page faults",
        CostFigure::MajorFaults => "page faults from disk",
        CostFigure::Bytes => "bytes",
        CostFigure::Segments => "TCP segments",
        CostFigure::AckWaits => "waits of 40 ms",
        CostFigure::Threads => "threads in all",
        CostFigure::HeapGrowth => "heap growth × 1,000",
    }
}

fn hint(figure: CostFigure) -> &'static str {
    match figure {
        CostFigure::Cpu => "CPU time of all processes of the server",
        CostFigure::CpuUser => "CPU time in the server's own code and libraries",
        CostFigure::CpuKernel => "CPU time in the kernel on behalf of the server",
        CostFigure::Instructions => {
            "Instructions in user mode and in the kernel, by the processor's counters"
        }
        CostFigure::Cycles => "Cycles in user mode and in the kernel, by the processor's counters",
        CostFigure::SystemCalls => "System calls of all kinds",
        CostFigure::Writes => {
            "System calls that write: write, writev, sendto, sendmsg, sendfile and the like"
        }
        CostFigure::VoluntarySwitches => "Times that a thread gave up its CPU to wait",
        CostFigure::InvoluntarySwitches => "Times that the kernel took the CPU from a thread",
        CostFigure::WakeUps => "Times that a thread was woken",
        CostFigure::MinorFaults => {
            "Pages that the kernel mapped at first use, without reading from a disk"
        }
        CostFigure::MajorFaults => "Pages that the kernel read from a disk",
        CostFigure::Bytes => "Bytes that a response or event takes in TCP, headers included",
        CostFigure::Segments => "TCP segments with data in which a response or event arrives",
        CostFigure::AckWaits => {
            "Responses that wait 40 ms between two of their parts, as long as an acknowledgement is delayed"
        }
        CostFigure::Threads => "Threads that used CPU time during the load, not for each request",
        CostFigure::HeapGrowth => {
            "Growth of the anonymous memory, for each 1,000 requests or events"
        }
    }
}

/// How a figure is written, in the unit of its row.
fn shown(figure: CostFigure) -> fn(f64) -> String {
    match figure {
        CostFigure::Cpu | CostFigure::CpuUser | CostFigure::CpuKernel => duration,
        CostFigure::Instructions | CostFigure::Cycles | CostFigure::Threads => count,
        CostFigure::Bytes => bytes,
        CostFigure::HeapGrowth => growth,
        _ => times,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::summary::ExplanationSummary;
    use crate::explain::testing::Builder;

    fn titles(servers: &[prony_model::Explanation]) -> Vec<String> {
        let summary = ExplanationSummary::of(servers);
        let rows = rows(&summary.workloads[0]);
        rows.iter().map(CostRow::title).collect()
    }

    #[test]
    fn every_figure_has_one_place() {
        for figure in CostFigure::ALL {
            let places = ORDER.iter().filter(|(one, _)| *one == figure);
            assert_eq!(places.count(), 1, "{}", figure.name());
        }
    }

    #[test]
    fn counters_and_faults_from_a_disk_have_rows_only_if_some_server_has_them() {
        let with = |figure, values: &[f64]| {
            let has = Builder::server("b").exactly(figure, values).done();
            titles(&[Builder::server("a").done(), has])
        };
        let has = |titles: &[String], title: &str| titles.iter().any(|one| one == title);
        let plain = titles(&[Builder::server("a").done()]);
        assert!(!has(&plain, "cycles") && !has(&plain, "instructions"));
        assert!(has(&plain, "system calls"), "a row of dashes");
        assert!(has(&with(CostFigure::Cycles, &[9.0]), "cycles"));
        for (faults, is_shown) in [([0.0, 0.0], false), ([0.0, 0.1], true)] {
            let titles = with(CostFigure::MajorFaults, &faults);
            assert_eq!(
                has(&titles, "page faults from disk"),
                is_shown,
                "{faults:?}"
            );
        }
    }

    #[test]
    fn a_call_that_is_frequent_on_one_server_has_a_row_for_all() {
        let calls = |id, calls: &[(&str, f64)]| {
            let mut builder = Builder::server(id);
            for (name, times) in calls {
                builder = builder.call(name, *times);
            }
            builder.done()
        };
        let servers = [
            calls("a", &[("read", 1.0), ("futex", 0.049)]),
            calls("b", &[("write", 1.0), ("read", 0.9), ("madvise", 0.051)]),
            calls("c", &[]),
        ];
        let workload = &ExplanationSummary::of(&servers).workloads[0];
        let rows = rows(workload);
        let calls = rows
            .iter()
            .filter(|row| row.scale() == 1.0 && row.is_part());
        let shown = calls.map(|row| {
            let medians = workload
                .servers
                .iter()
                .map(|server| row.of(server).map(|it| it.median));
            (row.title(), medians.collect())
        });
        // c was not counted.
        let expected = [
            ("read", [Some(1.0), Some(0.9), None]),
            ("write", [Some(0.0), Some(1.0), None]),
            ("madvise", [Some(0.0), Some(0.051), None]),
            ("other (1 kind)", [Some(0.049), Some(0.0), None]),
        ];
        let expected = expected.map(|(title, medians)| (title.to_owned(), medians.to_vec()));
        assert_eq!(shown.collect::<Vec<(String, Vec<Option<f64>>)>>(), expected);
    }

    #[test]
    fn growth_is_that_of_many_requests() {
        let server = Builder::server("a").exactly(CostFigure::HeapGrowth, &[2.0, 2.0]);
        let server = server.done();
        let row = CostRow::Figure(CostFigure::HeapGrowth);
        let growth = row.of(&ServerCosts::of(&server)).unwrap();
        assert_eq!((row.shown())(growth.median), "+1.95 KiB");
    }
}
