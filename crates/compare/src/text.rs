//! Words and numbers that terminal and Markdown share.

use prony_model::{LoadShape, LoadSpec};
use prony_report::format;

use crate::finding::{Finding, Tally};
use crate::row::{Basis, Case, Change, Row, What};
use crate::side::Named;

/// `+2.3 %`, `−12.4 %`, `+131 %`.
pub fn percent(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let decimals = if percent.abs() >= 99.95 { 0 } else { 1 };
    let digits = format!("{:.decimals$}", percent.abs());
    let sign = match digits.chars().any(|c| ('1'..='9').contains(&c)) {
        false => "±",
        true if percent < 0.0 => "−",
        true => "+",
    };
    format!("{sign}{digits} %")
}

/// `−5.1 % (−5.9 % to −4.2 %)`.
pub fn change_and_interval(ratio: f64, low: f64, high: f64) -> String {
    format!("{} ({})", percent(ratio), interval(low, high))
}

/// `−5.9 % to −4.2 %`.
pub fn interval(low: f64, high: f64) -> String {
    format!("{} to {}", percent(low), percent(high))
}

/// `hello, 64 connections`, `hello, 1k/s`.
pub fn workload_and_load(workload: &str, load: &LoadSpec) -> String {
    format!("{workload}, {}", arrivals(load))
}

fn arrivals(load: &LoadSpec) -> String {
    let s = if load.connections == 1 { "" } else { "s" };
    let connections = format!("{} connection{s}", format::exact(load.connections as u64));
    let users = |loop_: &str, think_time_s: f64| {
        let (count, think) = (
            format::exact(load.connections as u64),
            format::seconds(think_time_s),
        );
        format!("{count} user{s}, {loop_} loop, think time {think}")
    };
    let mut words = match &load.shape {
        LoadShape::Closed => connections,
        LoadShape::Rate(schedule) => format!("{} over {connections}", schedule.stages_text()),
        LoadShape::UsersClosed { think_time_s } => users("closed", *think_time_s),
        LoadShape::UsersOpen { think_time_s } => users("open", *think_time_s),
    };
    if load.pipeline > 1 {
        words += &format!(", pipelined {} deep", load.pipeline);
    }
    if let Some(responses) = load.requests_per_connection {
        words += &format!(", made anew after {responses}");
    }
    if load.streams > 0 {
        words += &format!(", beside {} streams", load.streams);
    }
    words
}

/// `hello, 64 connections`, and before it the server where that must be named.
pub fn case(case: &Case, named: bool) -> String {
    let load = workload_and_load(&case.workload, &case.load);
    match named {
        true => format!("{} × {load}", case.new),
        false => load,
    }
}

/// `1 worse, 2 improved, 5 no change seen`.
pub fn tally(tally: &Tally) -> String {
    let parts = Finding::ALL.into_iter().filter_map(|finding| {
        let count = tally.count(finding);
        (count > 0).then(|| format!("{count} {}", finding.words()))
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// `run 20261121-203000-tour, go-nethttp`.
pub fn side(side: &Named) -> String {
    match &side.server {
        Some(server) => format!("{server} (run {})", side.run),
        None => format!("run {}", side.run),
    }
}

/// A row's figure of one side.
pub fn figure(row: &Row, value: Option<f64>) -> String {
    match (row.what, value) {
        (_, None) => format::NONE.to_owned(),
        (What::Metric(metric), Some(value)) => metric.text(value),
        (What::Errors, Some(share)) => format::share(share),
        (What::Failure, Some(rounds)) => format!("{rounds} rounds"),
    }
}

/// How the rounds were compared, in a sentence.
pub const fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Paired => {
            "Each round of NEW is compared with the same round of BASE, made right beside it."
        }
        Basis::ToCeiling => {
            "The two were measured in separate sessions. Each round is taken as a ratio to the ceiling of its round, \
             so that what a session does to both cancels out; the medians are shown as they were measured."
        }
        Basis::Unpaired => {
            "The two were measured in separate sessions, and not interleaved: what differs between the sessions is \
             in the change."
        }
    }
}

/// `p 0.003, 12 rounds, threshold 2 %`.
pub fn grounds(change: &Change) -> String {
    let p = match change.p_corrected {
        p if p < 0.001 => "p < 0.001".to_owned(),
        p => format!("p {p:.3}"),
    };
    format!(
        "{p}, {} rounds, threshold {}",
        change.rounds,
        format::short(&format::share(change.threshold))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_sign_unless_they_are_none() {
        assert_eq!(percent(1.0), "±0.0 %");
        assert_eq!(percent(0.9997), "±0.0 %");
        assert_eq!(percent(1.023), "+2.3 %");
        assert_eq!(percent(0.8761), "−12.4 %");
        assert_eq!(percent(2.31), "+131 %");
    }
}
