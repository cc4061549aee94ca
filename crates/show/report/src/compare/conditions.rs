//! How the conditions of two sessions differ.

use prony_model::{CountedRounds, Machine, Run, RunEnd, quota};
use prony_present::number::{NONE, change};
use prony_stats::Ratio;

use crate::compare::ceiling::{Ceilings, event_loop};
use crate::compare::metric::Metric;
use crate::compare::row::Case;
use crate::compare::side::{list, load_from};

/// A warning about a run that did not complete.
pub(super) fn unfinished(side: &str, run: &Run) -> Option<String> {
    let how = match run.end {
        RunEnd::Complete => return None,
        RunEnd::Open => "is still going on, or was killed",
        RunEnd::Interrupted => "was interrupted",
        RunEnd::Failed => "could not continue",
    };
    Some(format!("{side}: the run {} {how}", run.id))
}

/// How the conditions of two runs differ, a line each; empty if the runs are alike.
pub fn differences(base: &Run, new: &Run) -> Vec<String> {
    let pairs = conditions(base).into_iter().zip(conditions(new));
    let mut lines: Vec<String> = pairs
        .filter(|((_, then), (_, now))| then != now)
        .map(|((what, then), (_, now))| format!("{what}: {then} → {now}"))
        .collect();
    let (then, now) = (&base.machine, &new.machine);
    for (what, then, now) in [
        ("mitigations", &then.mitigations, &now.mitigations),
        ("TCP settings", &then.tcp_settings, &now.tcp_settings),
    ] {
        if then != now {
            lines.push(format!("kernel {what} differ"));
        }
    }
    lines
}

fn conditions(run: &Run) -> [(&'static str, String); 11] {
    let machine = &run.machine;
    [
        ("Prony", run.prony_version.clone()),
        ("CPU", machine.cpu_model.clone()),
        ("number of CPUs", machine.cpus.to_string()),
        ("CPU quota", or_none(&machine.cpu_quota.map(quota))),
        ("memory", memory(machine)),
        ("system", machine.os.clone()),
        ("kernel", machine.kernel.clone()),
        ("virtual machine", or_none(&machine.virtualization)),
        ("governor", or_none(&machine.governor)),
        (
            "CPUs of server and generator",
            format!("{:?} and {:?}", run.cpus.server, run.cpus.load),
        ),
        ("load", load_from(run)),
    ]
}

fn or_none(text: &Option<String>) -> String {
    text.clone().unwrap_or_else(|| NONE.to_owned())
}

/// Rounded, because kernels reserve different amounts for themselves.
fn memory(machine: &Machine) -> String {
    format!(
        "{:.0} GiB",
        machine.memory_bytes as f64 / (1u64 << 30) as f64
    )
}

/// The event loops that sent the load, if they differ.
pub(super) fn generators(base: &CountedRounds<'_>, new: &CountedRounds<'_>) -> Option<String> {
    match (event_loop(base), event_loop(new)) {
        (Some(then), Some(now)) if then != now => Some(format!("event loop: {then} → {now}")),
        _ => None,
    }
}

/// By how much the rate of the ceiling itself differs between the sessions, if it is the same ceiling: the effect of the machine.
pub(super) fn drift(ceilings: &Ceilings<'_>, case: &Case) -> Option<String> {
    if case.load.shape.is_open() || ceilings.differ_by().is_some() {
        return None;
    }
    let rates = |rounds: &CountedRounds<'_>| list(&rounds.by_round(|one| Metric::Rate.of(one)));
    let ratio = Ratio::unpaired(&rates(&ceilings.new), &rates(&ceilings.base))?;
    Some(format!(
        "the rate of the ceiling (reference server) changed by {} ({} to {}): {}",
        change(ratio.ratio),
        change(ratio.low),
        change(ratio.high),
        case.workload_and_load()
    ))
}
