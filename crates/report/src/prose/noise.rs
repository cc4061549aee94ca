//! How quiet the machine was, in words and as rows of a table.

use crate::{NoiseKind, Quiet, Seen, format};

/// What a report must begin with where the machine was noisy.
pub fn noisy(quiet: &Quiet) -> Option<String> {
    if !quiet.is_noisy() {
        return None;
    }
    let by_others = quiet.by_steal.max(quiet.by_other_programs);
    let noisy = match by_others {
        0 => String::new(),
        _ => format!(
            "{} of {} trials were noisy ({}), and ",
            quiet.noisy,
            quiet.trials,
            causes(quiet)
        ),
    };
    Some(format!(
        "This machine was noisy: {noisy}on average {} of the CPU time of server or generator was lost to others.",
        format::share(quiet.mean_loss)
    ))
}

/// What became of the trials, a sentence each; empty where there was none.
pub fn quiet(quiet: &Quiet) -> Vec<String> {
    if quiet.trials == 0 {
        return Vec::new();
    }
    let again = match quiet.again {
        1 => "1 was".to_owned(),
        n => format!("{n} were"),
    };
    let noisy = match quiet.noisy {
        0 => format!("None of {} trials was noisy.", quiet.trials),
        n => format!(
            "Of {} trials {n} were noisy ({}); {again} re-run. Figures rest on those that were not noisy; where \
             every attempt at a round was, they rest on the last one, and the row says so.",
            quiet.trials,
            causes(quiet),
        ),
    };
    let frequency = match quiet.frequency_mhz {
        Some((low, high)) => format!("The CPUs ran at {}.", megahertz(low, high)),
        None => "The frequency of the CPUs is not visible here.".to_owned(),
    };
    let loss = format!(
        "On average {} of the CPU time of server or generator, whichever lost more, was lost to others.",
        format::share(quiet.mean_loss)
    );
    vec![noisy, loss, frequency]
}

fn causes(quiet: &Quiet) -> String {
    let causes = [
        (quiet.by_other_programs, "by another program"),
        (quiet.by_steal, "by steal"),
        (quiet.by_warm_up, "still warming up"),
    ];
    let told = causes.iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    told.join(", ")
}

fn megahertz(low: f64, high: f64) -> String {
    format::interval(low, high, |mhz| format!("{mhz:.0} MHz"))
}

/// The titles of the rows of [`seen`].
pub const SEEN: [&str; 4] = ["noise", "median trial", "worst trial", "the worst was"];

/// What was seen, a row each.
pub fn seen(quiet: &Quiet) -> Vec<[String; 4]> {
    quiet.seen.iter().map(row).collect()
}

fn row(seen: &Seen) -> [String; 4] {
    let (words, shown) = told(seen.kind);
    let (server, workload, round) = &seen.worst_in;
    [
        words.to_owned(),
        shown(seen.median),
        shown(seen.worst),
        match seen.worst > 0.0 {
            true => format!("{server}, {workload}, round {round}"),
            false => format::NONE.to_owned(),
        },
    ]
}

fn told(kind: NoiseKind) -> (&'static str, fn(f64) -> String) {
    match kind {
        NoiseKind::Steal => ("stolen by the hypervisor, whole machine", format::share),
        NoiseKind::ServerSteal => ("stolen from the server's CPUs", format::share),
        NoiseKind::GeneratorSteal => ("stolen from the generator's CPUs", format::share),
        NoiseKind::ServerForeign => ("used by others on the server's CPUs", format::share),
        NoiseKind::GeneratorForeign => ("used by others on the generator's CPUs", format::share),
        NoiseKind::ServerWait => ("server's threads waiting for a CPU, seconds a second", wait),
        NoiseKind::GeneratorWait => (
            "generator's threads waiting for a CPU, seconds a second",
            wait,
        ),
        NoiseKind::ServerSwitches => ("CPU taken from a server's thread, a second", format::count),
        NoiseKind::GeneratorSwitches => (
            "CPU taken from a generator's thread, a second",
            format::count,
        ),
    }
}

fn wait(seconds: f64) -> String {
    match seconds {
        0.0 => "0".to_owned(),
        seconds => format::ratio(seconds),
    }
}
