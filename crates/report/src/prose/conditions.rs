//! The conditions of a run, as every kind of report lists them.

use prony_model::Run;

use super::{plural, rounds};
use crate::format;

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
        (
            "Rounds",
            run.adaptive
                .as_ref()
                .map_or_else(|| run.rounds.to_string(), rounds::adaptive),
        ),
        (
            "Baseline",
            run.baseline
                .clone()
                .unwrap_or_else(|| "the ceiling".to_owned()),
        ),
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
    fn a_command_can_be_typed_again() {
        let words = ["prony", "run", "it's", ""].map(String::from);
        assert_eq!(command(&words), r"prony run 'it'\''s' ''");
    }
}
