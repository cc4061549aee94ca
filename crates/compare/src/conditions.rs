//! In what two sessions differ besides the server.

use prony_model::{Machine, Run, RunEnd};
use prony_report::format;
use prony_stats::Ratio;

use crate::ceiling::Ceilings;
use crate::metric::Metric;
use crate::rounds::Rounds;
use crate::row::Case;
use crate::text;

/// What the reader of a comparison must know of a run that did not come to its end.
pub fn unfinished(side: &str, run: &Run) -> Option<String> {
    let how = match run.end {
        RunEnd::Complete => return None,
        RunEnd::Open => "is not over, or was killed",
        RunEnd::Interrupted => "was stopped before its end",
        RunEnd::Failed => "could not go on",
    };
    Some(format!("{side}: the run {} {how}", run.id))
}

/// In what the conditions of two runs differ, a line each.
pub fn differences(base: &Run, new: &Run) -> Vec<String> {
    let (then, now) = (&base.machine, &new.machine);
    let cpus = |run: &Run| format!("{:?} and {:?}", run.cpus.server, run.cpus.load);
    let fields = [
        (
            "Prony",
            base.prony_version.clone(),
            new.prony_version.clone(),
        ),
        ("CPU", then.cpu_model.clone(), now.cpu_model.clone()),
        (
            "number of CPUs",
            then.cpus.to_string(),
            now.cpus.to_string(),
        ),
        ("memory", memory(then), memory(now)),
        ("system", then.os.clone(), now.os.clone()),
        ("kernel", then.kernel.clone(), now.kernel.clone()),
        (
            "virtual machine",
            or_none(&then.virtualization),
            or_none(&now.virtualization),
        ),
        ("governor", or_none(&then.governor), or_none(&now.governor)),
        ("CPUs of server and load", cpus(base), cpus(new)),
    ];
    let told = fields.into_iter().filter(|(_, then, now)| then != now);
    let mut lines: Vec<String> = told
        .map(|(what, then, now)| format!("{what}: {then} → {now}"))
        .collect();
    for (what, then, now) in [
        ("mitigations", &then.mitigations, &now.mitigations),
        ("TCP settings", &then.tcp_settings, &now.tcp_settings),
    ] {
        if then != now {
            lines.push(format!("the {what} of the kernel are not the same"));
        }
    }
    lines
}

fn or_none(text: &Option<String>) -> String {
    text.clone().unwrap_or_else(|| format::NONE.to_owned())
}

/// In words that a few megabytes do not change: kernels keep different amounts for themselves.
fn memory(machine: &Machine) -> String {
    format!(
        "{:.0} GiB",
        machine.memory_bytes as f64 / (1u64 << 30) as f64
    )
}

/// What made the load, where that is not the same: another event loop, or another generator.
pub fn generators(base: &Rounds<'_>, new: &Rounds<'_>) -> Option<String> {
    match (made_by(base), made_by(new)) {
        (Some(then), Some(now)) if then != now => {
            Some(format!("what made the load: {then} → {now}"))
        }
        _ => None,
    }
}

/// The event loop that made the load.
pub fn made_by<'a>(rounds: &Rounds<'a>) -> Option<&'a str> {
    let round = rounds.measured().next()?;
    Some(&round.load.generator.event_loop)
}

/// By how much the ceiling itself differs from one session to the other in the rate of a case, where it is the same
/// ceiling: the machine's doing.
pub fn drift(ceilings: &Ceilings<'_>, case: &Case) -> Option<String> {
    if case.load.shape.is_open() || ceilings.unlike().is_some() {
        return None;
    }
    let rates = |rounds: &Rounds<'_>| rounds.values(Metric::Rate).list();
    let ratio = Ratio::unpaired(&rates(&ceilings.new), &rates(&ceilings.base))?;
    Some(format!(
        "the ceiling's own rate, {}: {} from one session to the other",
        text::workload_and_load(&case.workload, &case.load),
        text::change_and_interval(ratio.ratio, ratio.low, ratio.high)
    ))
}
