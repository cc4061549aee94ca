//! What a search for a capacity gave.

use std::fmt::{Result, Write};

use prony_capacity::{CapacityResult, Ended, Found, Judgement, RateAttempt, per_second, supports};
use prony_model::{Arrivals, LatencySummary, LoadShape, NoiseCause};
use prony_report::format;

use super::capacity_progress::noisy_by;
use super::load_shape::connections_of_a_rate;
use super::plural;

/// The summary. What was not found is not in it, and said.
pub fn text(result: &CapacityResult, requests: Option<&str>) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_summary(&mut text, result, requests);
    text
}

fn write_summary(out: &mut String, result: &CapacityResult, requests: Option<&str>) -> Result {
    write_conditions(out, result, requests)?;
    write_response(out, result)?;
    write_noise(out, result)?;
    write_slow(out, result)?;
    write_curve(out, result)?;
    write_end(out, result)
}

fn write_conditions(out: &mut String, result: &CapacityResult, requests: Option<&str>) -> Result {
    let (target, load) = (&result.target, &result.load);
    writeln!(out, "{} {} ({})", target.method, target.url, target.address)?;
    if let Some(requests) = requests {
        writeln!(out, "  {requests}")?;
    }
    let arrivals = match &load.shape {
        LoadShape::Rate(schedule) if schedule.arrivals == Arrivals::Even => "evenly spaced",
        _ => "at random (Poisson)",
    };
    writeln!(
        out,
        "  {} and {}, open loop, {arrivals}",
        plural(load.threads, "thread"),
        connections_of_a_rate(load)
    )?;
    writeln!(out, "  seed {}", result.seed)?;
    writeln!(out, "  asked: {}", result.slo)
}

fn write_response(out: &mut String, result: &CapacityResult) -> Result {
    match &result.found {
        Found::Capacity {
            per_s,
            low_per_s,
            high_per_s,
            coverage,
            findings_per_s,
            confirmed,
        } => {
            write!(out, "Capacity: {}", per_second(*per_s))?;
            match findings_per_s.len() {
                1 => write!(out, ", from a single finding, so its spread is unknown")?,
                count => write!(
                    out,
                    " ({:.0} % interval {} to {}, of {})",
                    coverage * 100.0,
                    per_second(*low_per_s),
                    per_second(*high_per_s),
                    plural(count, "finding")
                )?,
            }
            let unless = if *confirmed { "" } else { ", not confirmed" };
            writeln!(out, "{unless}")
        }
        Found::Imprecise {
            low_per_s,
            high_per_s,
            findings_per_s,
        } => write_imprecise(out, result, (*low_per_s, *high_per_s), findings_per_s.len()),
        Found::AtLeast {
            per_s,
            limited_at_per_s,
        } => {
            let at = per_second(*limited_at_per_s);
            match per_s {
                Some(held) => writeln!(out, "Capacity: at least {}", per_second(*held))?,
                None => writeln!(out, "Capacity: not known")?,
            }
            writeln!(
                out,
                "  The generator was the limit at {at}{}. Give it more CPUs (-t, --cpus), or another machine.",
                why_limited(result)
            )
        }
        Found::Nothing { tried_per_s } => {
            writeln!(
                out,
                "Capacity: none. Not even {} holds{}",
                per_second(*tried_per_s),
                why_last(result)
            )
        }
        Found::Between {
            held_per_s,
            failed_per_s,
        } => writeln!(out, "Capacity: {}", between(*held_per_s, *failed_per_s)),
    }
}

/// An interval that is wider than was asked for is no response.
fn write_imprecise(
    out: &mut String,
    result: &CapacityResult,
    (low, high): (Option<f64>, Option<f64>),
    findings: usize,
) -> Result {
    let is_noisy = result.attempts.iter().any(RateAttempt::is_noisy);
    let is_short = result.ended == Ended::Budget && !is_noisy;
    let why = match is_short {
        true => format!("too little is known after {}", plural(findings, "finding")),
        false => "too noisy to say".into(),
    };
    let range = match (low, high) {
        (Some(low), Some(high)) => {
            format!("between {} and {}", per_second(low), per_second(high))
        }
        (Some(low), None) => format!("{} or more", per_second(low)),
        (None, Some(high)) => format!("less than {}", per_second(high)),
        (None, None) => "no rate could be judged".into(),
    };
    let wanted = format::share(result.precision);
    writeln!(out, "Capacity: {why}: {range} (asked for: within {wanted})")?;
    if is_short {
        return Ok(());
    }
    if !is_noisy {
        writeln!(
            out,
            "  Neither other programs nor the hypervisor disturbed it: the server held a rate at one time and failed at a \
             lower one at another."
        )?;
    }
    writeln!(
        out,
        "  Stop other programs, give server and generator CPUs of their own (--cpus, and taskset for the server), try \
         each rate for longer (-d), or ask for less (--precision)."
    )
}

/// How many attempts did not count, and what disturbed them.
fn write_noise(out: &mut String, result: &CapacityResult) -> Result {
    let all = &result.attempts;
    let noisy: Vec<_> = all.iter().filter(|attempt| attempt.is_noisy()).collect();
    if noisy.is_empty() {
        return Ok(());
    }
    let worst = |of: fn(&NoiseCause) -> Option<f64>| {
        let causes = noisy.iter().filter_map(|attempt| attempt.noise.as_ref());
        let shares: Vec<f64> = causes
            .flat_map(|noise| &noise.noisy)
            .filter_map(of)
            .collect();
        let most = shares.iter().copied().fold(0.0, f64::max);
        (!shares.is_empty()).then(|| (shares.len(), format::share(most)))
    };
    let steal = worst(|cause| match cause {
        NoiseCause::Steal { share } => Some(*share),
        _ => None,
    });
    let others = worst(|cause| match cause {
        NoiseCause::OtherPrograms { share } => Some(*share),
        _ => None,
    });
    let steal = steal
        .map(|(count, most)| format!("{count} lost up to {most} of the CPU to the hypervisor"));
    let others = others
        .map(|(count, most)| format!("{count} lost up to {most} of the CPU to other programs"));
    let causes: Vec<String> = steal.into_iter().chain(others).collect();
    writeln!(
        out,
        "  {} of {} noisy and did not count: {}",
        noisy.len(),
        match all.len() {
            1 => "1 attempt was".into(),
            several => format!("{several} attempts were"),
        },
        causes.join(", "),
    )
}

/// What the kernel says about the lowest rate that did not hold.
fn write_slow(out: &mut String, result: &CapacityResult) -> Result {
    let explained = result.attempts.iter().filter_map(|attempt| {
        let because = attempt.slow_because.as_ref()?;
        (attempt.judgement != Judgement::Held).then_some((attempt, because))
    });
    let lowest = explained.min_by(|(a, _), (b, _)| a.rate_per_s.total_cmp(&b.rate_per_s));
    let Some((attempt, because)) = lowest else {
        return Ok(());
    };
    let reached = attempt
        .latency_ns
        .as_ref()
        .map_or(String::new(), |latency| {
            format!(", latency reached {}", format::duration(latency.max as f64))
        });
    writeln!(
        out,
        "  At {}{reached}: {because}",
        per_second(attempt.rate_per_s)
    )
}

fn between(held: Option<f64>, failed: Option<f64>) -> String {
    match (held, failed) {
        (Some(held), Some(failed)) => format!(
            "not found yet; {} held and {} did not",
            per_second(held),
            per_second(failed)
        ),
        (Some(held), None) => format!("not found yet; {} held", per_second(held)),
        (None, Some(failed)) => format!("not found yet; {} did not hold", per_second(failed)),
        (None, None) => "not found".into(),
    }
}

fn why_limited(result: &CapacityResult) -> String {
    let mut limited = result.attempts.iter().rev();
    let last = limited.find(|attempt| matches!(attempt.judgement, Judgement::Limited { .. }));
    last.map_or(String::new(), because)
}

fn why_last(result: &CapacityResult) -> String {
    result.attempts.last().map_or(String::new(), because)
}

fn because(attempt: &RateAttempt) -> String {
    match attempt.judgement.why() {
        [] => String::new(),
        why => format!(": {}", why.join("; ")),
    }
}

type Column = (&'static str, f64, fn(&LatencySummary) -> u64);

const COLUMNS: [Column; 4] = [
    ("p50", 0.5, |latency| latency.p50),
    ("p90", 0.9, |latency| latency.p90),
    ("p99", 0.99, |latency| latency.p99),
    ("p99.9", 0.999, |latency| latency.p999),
];

fn write_curve(out: &mut String, result: &CapacityResult) -> Result {
    if result.curve.is_empty() {
        return Ok(());
    }
    writeln!(out, "Latency against rate (from the scheduled arrival)")?;
    write!(out, "  {:>12}", "due")?;
    for (name, ..) in COLUMNS {
        write!(out, "  {name:>9}")?;
    }
    writeln!(out, "  {:>9}  {:>7}", "errors", "sent")?;
    for attempt in &result.curve {
        write!(out, "  {:>12}", per_second(attempt.rate_per_s))?;
        for (_, quantile, value) in COLUMNS {
            let latency = attempt.latency_ns.as_ref();
            let shown = latency
                .filter(|_| supports(attempt.ok, quantile))
                .map_or(format::NONE.into(), |latency| {
                    format::duration(value(latency) as f64)
                });
            write!(out, "  {shown:>9}")?;
        }
        let (errors, sent) = (format::share(attempt.errors), format::share(attempt.sent));
        writeln!(out, "  {errors:>9}  {sent:>7}{}", mark(attempt))?;
    }
    match result.knee_per_s {
        Some(knee) => writeln!(
            out,
            "Knee: latency rises steeply from {} on",
            per_second(knee)
        ),
        None => writeln!(out, "Knee: none is seen"),
    }
}

fn mark(attempt: &RateAttempt) -> String {
    let verdict = match attempt.judgement {
        Judgement::Held => "",
        Judgement::Failed { .. } => "  does not hold",
        Judgement::Limited { .. } => "  the generator's limit",
    };
    let noise = noisy_by(attempt).map_or(String::new(), |by| format!("  noisy: {by}"));
    format!("{verdict}{noise}")
}

fn write_end(out: &mut String, result: &CapacityResult) -> Result {
    let tried = result.attempts.len() + result.curve.len();
    let time = format::seconds(result.duration_s.round());
    writeln!(out, "  {} tried in {time}", plural(tried, "rate"))?;
    match result.ended {
        Ended::Complete => Ok(()),
        Ended::Budget => writeln!(
            out,
            "  The budget of {} ended it{}. More time (--budget) finds more.",
            format::seconds(result.budget_s),
            of_all(result)
        ),
        Ended::Unsettled => writeln!(
            out,
            "  After the last of them the server responded no request right: this is what was known by then."
        ),
        Ended::Interrupted => writeln!(out, "  Stopped: this is what was known by then."),
    }
}

/// How many findings there are of those asked for.
fn of_all(result: &CapacityResult) -> String {
    let found = match &result.found {
        Found::Capacity { findings_per_s, .. } | Found::Imprecise { findings_per_s, .. } => {
            findings_per_s.len()
        }
        _ => 0,
    };
    let is_capacity = matches!(result.found, Found::Capacity { .. });
    match is_capacity && found >= result.repeats as usize {
        true => " before the curve was whole".into(),
        false => format!(" after {found} of {} findings", result.repeats),
    }
}

#[cfg(test)]
mod tests;
