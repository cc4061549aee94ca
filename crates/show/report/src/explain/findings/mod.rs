//! Sentences on what stands out. Each is true by the intervals: a figure is above a threshold only if its whole interval is, and
//! two servers differ only if their intervals do not overlap.

mod calls;
mod cpu;
mod functions;
mod memory;
mod rules;
mod switches;
mod writes;

use prony_model::CostUnit;
use prony_present::number::about_times;
use prony_present::words::list;
use prony_stats::Estimate;

pub use rules::findings;

use crate::explain::costs::ServerCosts;
use crate::explain::summary::WorkloadCosts;

/// The most servers that a sentence names.
const NAMED: usize = 4;

/// The figure if its whole interval is above the limit. A single round has none.
fn above(figure: Option<&Estimate>, limit: f64) -> Option<f64> {
    let above = figure.filter(|one| one.n > 1 && one.low > limit);
    above.map(|one| one.median)
}

/// The figure if its whole interval is below the limit.
fn below(figure: Option<&Estimate>, limit: f64) -> Option<f64> {
    let below = figure.filter(|one| one.n > 1 && one.high < limit);
    below.map(|one| one.median)
}

/// `a request`, `an event`.
pub(super) fn each(unit: CostUnit) -> &'static str {
    match unit {
        CostUnit::Request => "a request",
        CostUnit::Event => "an event",
    }
}

/// What the server sends for each unit: `a response`, `an event`.
fn sent(unit: CostUnit) -> &'static str {
    match unit {
        CostUnit::Request => "a response",
        CostUnit::Event => "an event",
    }
}

/// The servers that a rule applies to, the highest figure first: `go (0.62) and node (0.55)`. `None` if it applies to none.
/// `rule` gives a server's figure, also in words.
fn named<'w>(
    workload: &WorkloadCosts<'w>,
    rule: impl Fn(&ServerCosts<'w>) -> Option<(f64, String)>,
) -> Option<Named> {
    let cases = workload.servers.iter().filter_map(|server| {
        let (value, words) = rule(server)?;
        Some((value, format!("{} ({words})", server.server())))
    });
    let mut cases: Vec<(f64, String)> = cases.collect();
    cases.sort_by(|a, b| b.0.total_cmp(&a.0));
    let rest = cases.len().saturating_sub(NAMED);
    let is_one = cases.len() == 1;
    let shown = cases.into_iter().take(NAMED).map(|(_, words)| words);
    let rest = (rest > 0).then(|| format!("{rest} more"));
    let words = list(&shown.chain(rest).collect::<Vec<_>>());
    (!words.is_empty()).then_some(Named { words, is_one })
}

/// Servers in a sentence.
struct Named {
    words: String,
    is_one: bool,
}

impl Named {
    /// The servers and a verb that agrees with them.
    fn and(&self, one: &str, several: &str) -> String {
        format!("{} {}", self.words, if self.is_one { one } else { several })
    }
}

/// The figures of the other servers, from the lowest to the highest: `1.0 to 2.0`. `None` if there are no others, or one lacks
/// the figure.
fn range_of_others<'s, 'w: 's>(
    workload: &'s WorkloadCosts<'w>,
    apart: &[&str],
    of: impl Fn(&'s ServerCosts<'w>) -> Option<&'s Estimate>,
) -> Option<Others> {
    let others = workload.servers.iter();
    let others = others.filter(|one| !apart.contains(&one.server()));
    let figures = others.map(of).collect::<Option<Vec<&Estimate>>>()?;
    if figures.is_empty() || figures.iter().any(|one| one.n < 2) {
        return None;
    }
    let ends = |of: fn(&Estimate) -> f64| figures.iter().map(move |one| of(one));
    Some(Others {
        low: ends(|one| one.median).fold(f64::INFINITY, f64::min),
        high: ends(|one| one.median).fold(f64::NEG_INFINITY, f64::max),
        highest_end: ends(|one| one.high).fold(f64::NEG_INFINITY, f64::max),
        is_one: figures.len() == 1,
    })
}

/// The figures of other servers.
struct Others {
    low: f64,
    high: f64,
    /// The highest end of their intervals.
    highest_end: f64,
    is_one: bool,
}

impl Others {
    /// `the other 1.0`, `the others 1.0 to 2.0`.
    fn words(&self) -> String {
        let (low, high) = (about_times(self.low), about_times(self.high));
        if self.is_one {
            format!("the other {high}")
        } else if low == high {
            format!("the others {high}")
        } else {
            format!("the others {low} to {high}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::rules::{MOST, Rule};
    use super::*;
    use crate::explain::summary::ExplanationSummary;
    use crate::explain::testing::{Builder, profile};
    use prony_model::{CostFigure, Explanation};
    use prony_testkit::table::rows;

    /// Asserts what a rule says, in rows of: servers, joined by `+` | sentence. `…` stands for any words, `-` for no sentence.
    #[track_caller]
    pub(super) fn assert_says(rule: Rule, table: &str) {
        for [servers, sentence] in rows(table) {
            let servers: Vec<Explanation> = servers.split(" + ").map(server).collect();
            let said = rule(&ExplanationSummary::of(&servers).workloads[0]);
            let is_expected = match &said {
                Some(said) => matches(said, sentence),
                None => sentence == "-",
            };
            assert!(is_expected, "{said:?} instead of {sentence}");
        }
    }

    fn matches(said: &str, sentence: &str) -> bool {
        match sentence.split('…').collect::<Vec<_>>().as_slice() {
            [first, middle @ .., last] => {
                let has_ends = said.starts_with(first) && said.ends_with(last);
                has_ends && middle.iter().all(|part| said.contains(part))
            }
            _ => said == sentence,
        }
    }

    /// A server, from its id, its figures (`cpu=2e-5`, or `cpu=1,2,3` round by round), its calls (`read()=1`), and `events`.
    fn server(text: &str) -> Explanation {
        let mut words = text.split(' ');
        let mut builder = Builder::server(words.next().unwrap());
        for word in words {
            if word == "events" {
                builder = builder.events();
                continue;
            }
            let (name, values) = word.split_once('=').expect(word);
            let values: Vec<f64> = values
                .split(',')
                .map(|value| value.parse().unwrap())
                .collect();
            builder = match (name.strip_suffix("()"), values.as_slice()) {
                (Some(call), _) => builder.call(call, values[0]),
                (None, [value]) => builder.with(CostFigure::from_name(name).unwrap(), *value),
                (None, values) => builder.exactly(CostFigure::from_name(name).unwrap(), values),
            };
        }
        builder.done()
    }

    #[test]
    fn at_most_eight_sentences_and_none_without_intervals() {
        let mut servers = [
            "a cpu=1e-5 cpu-user=2e-6 cpu-kernel=8e-6 system-calls=4 writes=2 voluntary-switches=1 involuntary-switches=1 \
             wake-ups=2 threads=3 minor-faults=1 heap-growth=100 segments=4 futex()=2 epoll_ctl()=1",
            "b cpu=3e-5 cpu-user=6e-6 cpu-kernel=24e-6 system-calls=12 writes=6 voluntary-switches=9 involuntary-switches=9 \
             wake-ups=6 threads=3 minor-faults=3 heap-growth=100 segments=12 futex()=2 epoll_ctl()=1",
        ]
        .map(server);
        for server in &mut servers {
            let stacks = [("runtime.gcBgMarkWorker", 500.0), ("handle", 500.0)];
            server.on_cpu = Some(profile(&stacks));
        }
        let of = |servers: &[Explanation]| findings(&ExplanationSummary::of(servers).workloads[0]);
        assert_eq!(of(&servers).len(), MOST, "{:#?}", of(&servers));
        for server in &mut servers {
            server.rounds.truncate(1);
            server.on_cpu = None;
        }
        assert_eq!(of(&servers), [] as [&str; 0]);
    }

    #[test]
    fn a_sentence_names_the_highest_and_counts_the_rest() {
        let servers: Vec<Explanation> = (0..7).map(|i| server(&format!("s{i}"))).collect();
        let summary = ExplanationSummary::of(&servers);
        let first = |count: f64| {
            named(&summary.workloads[0], |one| {
                let number = &one.server()[1..];
                let value = number.parse().unwrap();
                (value < count).then(|| (value, number.to_owned()))
            })
        };
        assert!(first(0.0).is_none());
        assert_eq!(first(1.0).unwrap().and("is", "are"), "s0 (0) is");
        let all = first(7.0).unwrap().and("is", "are");
        assert_eq!(all, "s6 (6), s5 (5), s4 (4), s3 (3) and 3 more are");
    }
}
