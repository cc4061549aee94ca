//! A warm-up worth a word, in a line.

use prony_model::{ProcessStart, TrialRecord, TrialResult, WarmUp};
use prony_report::format;

/// `warm     java-jdk × hello, round 1: took 8.20 s under load to warm up; …`, or that a server is still getting
/// faster. `None` if there is nothing to tell.
pub fn line(record: &TrialRecord) -> Option<String> {
    let TrialResult::Measured(measurement) = &record.result else {
        return None;
    };
    let trial = &record.trial;
    let (head, said) = told(measurement.warm_up.as_ref()?)?;
    Some(format!(
        "{head:<8} {} × {}, round {}: {said}",
        trial.server, trial.workload, trial.round
    ))
}

fn told(warm_up: &WarmUp) -> Option<(&'static str, String)> {
    if warm_up.still_improving {
        let loaded = tenths(warm_up.loaded_s);
        let said = format!(
            "still getting faster after {loaded} under load, so its figures are lower bounds; a longer \
             --warmup-limit may help"
        );
        return Some(("warming", said));
    }
    // The report alone tells a shorter one.
    let warm_s = warm_up.time_to_warm_s.filter(|_| warm_up.is_slow())?;
    let anew = match warm_up.process {
        ProcessStart::Restarted => ", started anew",
        ProcessStart::New | ProcessStart::Kept => "",
    };
    let warm = tenths(warm_s);
    Some((
        "warm",
        format!("took {warm} under load to warm up{anew}; it is kept running"),
    ))
}

fn tenths(seconds: f64) -> String {
    format::seconds((seconds * 10.0).round() / 10.0)
}
