//! How the conditions of two sessions differ.

use prony_model::{CountedRounds, Machine, Run, RunEnd};
use prony_present::number::{NONE, change};
use prony_stats::Ratio;

use crate::ceiling::{Ceilings, made_by};
use crate::metric::Metric;
use crate::row::Case;
use crate::side::list;

/// A warning about a run that did not complete.
pub fn unfinished(side: &str, run: &Run) -> Option<String> {
    let how = match run.end {
        RunEnd::Complete => return None,
        RunEnd::Open => "is still going on, or was killed",
        RunEnd::Interrupted => "was stopped by its user",
        RunEnd::Failed => "could not continue",
    };
    Some(format!("{side}: the run {} {how}", run.id))
}

/// The name of a condition, and its value in a run.
type Condition = (&'static str, fn(&Run) -> String);

/// How the conditions of two runs differ, a line each.
pub fn differences(base: &Run, new: &Run) -> Vec<String> {
    let fields: [Condition; 9] = [
        ("Prony", |run| run.prony_version.clone()),
        ("CPU", |run| run.machine.cpu_model.clone()),
        ("number of CPUs", |run| run.machine.cpus.to_string()),
        ("memory", |run| memory(&run.machine)),
        ("system", |run| run.machine.os.clone()),
        ("kernel", |run| run.machine.kernel.clone()),
        ("virtual machine", |run| {
            or_none(&run.machine.virtualization)
        }),
        ("governor", |run| or_none(&run.machine.governor)),
        ("CPUs of server and generator", |run| {
            format!("{:?} and {:?}", run.cpus.server, run.cpus.load)
        }),
    ];
    let values = fields.map(|(what, of)| (what, of(base), of(new)));
    let changed = values.into_iter().filter(|(_, then, now)| then != now);
    let mut lines: Vec<String> = changed
        .map(|(what, then, now)| format!("{what}: {then} → {now}"))
        .collect();
    let (then, now) = (&base.machine, &new.machine);
    for (what, then, now) in [
        ("mitigations", &then.mitigations, &now.mitigations),
        ("TCP settings", &then.tcp_settings, &now.tcp_settings),
    ] {
        if then != now {
            lines.push(format!("the kernel's {what} differ"));
        }
    }
    lines
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
pub fn generators(base: &CountedRounds<'_>, new: &CountedRounds<'_>) -> Option<String> {
    match (made_by(base), made_by(new)) {
        (Some(then), Some(now)) if then != now => Some(format!("event loop: {then} → {now}")),
        _ => None,
    }
}

/// By how much the rate of the ceiling itself differs between the sessions, if it is the same ceiling: the effect of the machine.
pub fn drift(ceilings: &Ceilings<'_>, case: &Case) -> Option<String> {
    if case.load.shape.is_open() || ceilings.unlike().is_some() {
        return None;
    }
    let rates = |rounds: &CountedRounds<'_>| list(&rounds.by_round(|one| Metric::Rate.of(one)));
    let ratio = Ratio::unpaired(&rates(&ceilings.new), &rates(&ceilings.base))?;
    Some(format!(
        "the rate of the ceiling (reference server) itself, {}: {} ({} to {}) from one session to the other",
        case.load_words(),
        change(ratio.ratio),
        change(ratio.low),
        change(ratio.high)
    ))
}
