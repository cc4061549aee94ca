//! The conditions under which a run was measured.

use prony_model::{Adaptive, CEILING, Run, RunEnd, baseline, percentage, quota};
use prony_present::number::{NONE, bytes, seconds};
use prony_present::words::{command_line, plural};

/// The conditions of a run: names and values. What Prony could not see is shown as unknown.
pub(crate) fn conditions(run: &Run) -> Vec<(&'static str, String)> {
    let machine = &run.machine;
    let known = |text: &str| {
        if text.is_empty() {
            "unknown".to_owned()
        } else {
            text.to_owned()
        }
    };
    let or = |text: &Option<String>, other: &str| text.clone().unwrap_or_else(|| other.to_owned());
    let memory = match machine.memory_bytes {
        0 => "unknown".to_owned(),
        size => bytes(size as f64),
    };
    let shared = if run.cpus.shared() {
        " (server and generator shared a CPU)"
    } else {
        ""
    };
    let (model, online) = (known(&machine.cpu_model), plural(machine.cpus, "CPU"));
    let quota = machine.cpu_quota.map(quota);
    let quota = quota.map_or(String::new(), |cpus| format!(" (CPU quota of {cpus})"));
    let rounds = run.adaptive.as_ref();
    vec![
        (
            "Machine",
            format!("{model}, {online} online{quota}, {memory} memory"),
        ),
        (
            "Virtualization",
            or(&machine.virtualization, "none detected"),
        ),
        (
            "System",
            format!("{}, kernel {}", known(&machine.os), known(&machine.kernel)),
        ),
        ("Governor", or(&machine.governor, "not visible")),
        ("Server CPUs", format!("{}{shared}", cpus(&run.cpus.server))),
        match &run.fleet {
            None => (
                "Generator CPUs",
                format!("{}{shared}", cpus(&run.cpus.load)),
            ),
            Some(fleet) => ("Generator", fleet.to_string()),
        },
        ("Prony", run.prony_version.clone()),
        ("Command", command_line(&run.command)),
        ("Suite", format!("{} ({})", run.suite, run.title)),
        (
            "Rounds",
            rounds.map_or_else(|| run.rounds.to_string(), adaptive),
        ),
        ("Baseline", baseline_of(run)),
        ("Order seed", run.seed.to_string()),
        ("Started", run.started_at.clone()),
        ("Finished", or(&run.finished_at, "not finished")),
        ("Run", run.id.clone()),
    ]
}

/// What ratios are to.
fn baseline_of(run: &Run) -> String {
    let ids = run.servers.iter().map(|server| server.id.as_str());
    match baseline(run.baseline.as_deref(), ids, |id| run.server(id).is_some()) {
        None => NONE.to_owned(),
        Some(CEILING) => "the ceiling (reference server)".to_owned(),
        Some(id) => id.to_owned(),
    }
}

/// How the number of rounds was decided.
fn adaptive(adaptive: &Adaptive) -> String {
    format!(
        "added until every comparison is within ±{}, for at most {}",
        percentage(adaptive.precision),
        time(adaptive.budget_s)
    )
}

/// `10 min`, or seconds if it is not a whole number of minutes.
pub(crate) fn time(length_s: f64) -> String {
    let minutes = length_s / 60.0;
    if minutes >= 1.0 && minutes.fract() == 0.0 {
        format!("{minutes} min")
    } else {
        seconds(length_s)
    }
}

/// A warning about a run that did not complete.
pub fn end(run: &Run) -> Option<&'static str> {
    match run.end {
        RunEnd::Complete => None,
        RunEnd::Open => {
            Some("This run is still going on, or Prony was killed: rounds are missing.")
        }
        RunEnd::Interrupted => Some("You stopped this run: rounds are missing."),
        RunEnd::Failed => Some("This run could not continue: rounds are missing."),
    }
}

fn cpus(cpus: &[usize]) -> String {
    match cpus {
        [] => "not pinned".to_owned(),
        cpus => cpus
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_minutes_are_shown_as_minutes() {
        assert_eq!((time(600.0), time(90.0)), ("10 min".into(), "90 s".into()));
    }
}
