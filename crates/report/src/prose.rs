//! The sentences that every kind of report shares.

use prony_record::{LoadShape, LoadSpec, Run, RunEnd};
use prony_stats::Estimate;

use crate::{Comparison, Row, format};

/// The load in a line: `64 connections, 1 thread, closed loop, 2 s after 0.5 s of warm-up`.
pub fn load(load: &LoadSpec) -> String {
    let LoadShape::Closed = load.shape;
    let mut parts = vec![
        plural(load.connections, "connection"),
        plural(load.threads, "thread"),
        "closed loop".to_owned(),
    ];
    if let Some(requests) = load.requests {
        parts.push(format!("{} requests", format::exact(requests)));
    }
    let warmup = match load.warmup_s > 0.0 {
        true => format!(" after {} of warm-up", format::seconds(load.warmup_s)),
        false => String::new(),
    };
    match load.duration_s {
        Some(duration) => parts.push(format!("{}{warmup}", format::seconds(duration))),
        None if !warmup.is_empty() => parts.push(warmup.trim_start().to_owned()),
        None => {}
    }
    parts.join(", ")
}

pub fn plural(count: usize, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        n => format!("{n} {thing}s"),
    }
}

/// `±1.2 %`, or nothing to show for a single round.
pub fn plus_minus(estimate: &Estimate) -> String {
    estimate
        .half_width_share()
        .map_or(format::NONE.to_owned(), |share| {
            format!("±{}", format::share(share))
        })
}

/// The rank as it stands in a table.
pub fn rank(row: &Row) -> String {
    row.rank()
        .map_or(format::NONE.to_owned(), |rank| rank.to_string())
}

/// What must be said of a run that did not come to its end; a complete one needs no word.
pub fn end(run: &Run) -> Option<&'static str> {
    match run.end {
        RunEnd::Complete => None,
        RunEnd::Open => {
            Some("This run is not over, or Prony was killed in it: rounds are missing.")
        }
        RunEnd::Interrupted => Some("This run was stopped by its user: rounds are missing."),
        RunEnd::Failed => Some("This run could not go on to its end: rounds are missing."),
    }
}

/// What the intervals mean for as many rounds as there were.
pub fn intervals(comparison: &Comparison) -> Vec<String> {
    comparison
        .round_counts()
        .into_iter()
        .map(|n| match n {
            1 => "With one round there is no interval, and nothing can be ranked apart.".to_owned(),
            n => {
                let places: Vec<f64> = (1..=n).map(|place| place as f64).collect();
                let estimate = Estimate::of(&places);
                let coverage = estimate.map_or(0.0, |estimate| estimate.coverage);
                let ends = match estimate.map_or(1.0, |estimate| estimate.low) {
                    low if low > 1.0 => format!("value {low} from either end of {n} rounds"),
                    _ => format!("the lowest and the highest of {n} rounds"),
                };
                let percent = (coverage * 10_000.0).floor() / 100.0;
                format!("Intervals run between {ends}: they hold the true median with a chance of {percent} %.")
            }
        })
        .collect()
}

/// How to read the tables, a paragraph each.
pub const READING: [&str; 6] = [
    "Rank: rows are ordered by the median of their rounds. A rank says how many rows are faster with their whole \
     interval: rank 3 means that two are. Rows whose intervals overlap are not told apart by these data.",
    "Ceiling: the built-in reference server does the least work that still answers right. It shows what \
     this machine can do at all and is never ranked.",
    "Client-limited: in at least one round the generator was busy nearly all the time while the server was not. \
     The server can do more than the figure says, so such a row is never ranked.",
    "Latency: from the send of a request to the last byte of its answer, ok answers only, from the histograms of \
     all rounds merged. It is measured in a closed loop: a connection sends its next request only when it has \
     its answer, so a server that stalls is asked less while it does. Compare it between rows of one table; it is \
     not what users who arrive by themselves would meet.",
    "CPU: user and kernel time of the server's whole process tree for one ok answer, warm-up included on both \
     sides. Memory: the most that the process tree held at once in any round.",
    "Transfer counts every byte received, heads included. Rates count ok answers only; an error is never throughput.",
];

/// The conditions of a run, name by name. What could not be seen is said to be unknown.
pub fn conditions(run: &Run) -> Vec<(&'static str, String)> {
    let machine = &run.machine;
    let known = |text: &str| match text {
        "" => "unknown".to_owned(),
        text => text.to_owned(),
    };
    let memory = match machine.memory_bytes {
        0 => "unknown".to_owned(),
        bytes => format::bytes(bytes as f64),
    };
    let shared = match run.cpus.shared() {
        true => " (server and generator shared a CPU)",
        false => "",
    };
    vec![
        (
            "Machine",
            format!(
                "{}, {} on line, {memory} memory",
                known(&machine.cpu_model),
                plural(machine.cpus, "CPU")
            ),
        ),
        (
            "Virtualization",
            machine
                .virtualization
                .clone()
                .unwrap_or_else(|| "none seen".to_owned()),
        ),
        (
            "System",
            format!("{}, kernel {}", known(&machine.os), known(&machine.kernel)),
        ),
        (
            "Governor",
            machine
                .governor
                .clone()
                .unwrap_or_else(|| "not visible".to_owned()),
        ),
        ("Server CPUs", format!("{}{shared}", cpus(&run.cpus.server))),
        (
            "Generator CPUs",
            format!("{}{shared}", cpus(&run.cpus.load)),
        ),
        ("Prony", run.prony_version.clone()),
        ("Command", command(&run.command)),
        ("Suite", format!("{} ({})", run.suite, run.title)),
        ("Rounds", run.rounds.to_string()),
        ("Seed of the order", run.seed.to_string()),
        ("Started", run.started_at.clone()),
        (
            "Finished",
            run.finished_at
                .clone()
                .unwrap_or_else(|| "not finished".to_owned()),
        ),
        ("Run", run.id.clone()),
    ]
}

/// A command as it would be typed.
pub fn command(words: &[String]) -> String {
    let quoted: Vec<String> = words
        .iter()
        .map(|word| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+{}".contains(c);
            match !word.is_empty() && word.chars().all(plain) {
                true => word.clone(),
                false => format!("'{}'", word.replace('\'', "'\\''")),
            }
        })
        .collect();
    quoted.join(" ")
}

fn cpus(cpus: &[usize]) -> String {
    match cpus {
        [] => "not pinned".to_owned(),
        cpus => {
            let list: Vec<_> = cpus.iter().map(usize::to_string).collect();
            list.join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_says_its_loop() {
        let mut spec = LoadSpec {
            shape: LoadShape::Closed,
            connections: 64,
            threads: 1,
            duration_s: Some(2.0),
            requests: None,
            warmup_s: 0.5,
            timeout_s: 2.0,
        };
        assert_eq!(
            load(&spec),
            "64 connections, 1 thread, closed loop, 2 s after 0.5 s of warm-up"
        );
        (spec.duration_s, spec.requests, spec.warmup_s) = (None, Some(10_000), 0.0);
        assert_eq!(
            load(&spec),
            "64 connections, 1 thread, closed loop, 10,000 requests"
        );
    }

    #[test]
    fn a_command_can_be_typed_again() {
        let words = ["prony", "run", "it's", ""].map(String::from);
        assert_eq!(command(&words), r"prony run 'it'\''s' ''");
    }
}
