//! The result of a search for a capacity.

use prony_model::{Arrivals, LatencySummary, LoadShape, NoiseCause};
use prony_present::number;
use prony_present::table::{Cell, Column, Row, Table, Weight};
use prony_present::words::{Joined, counted, plural};
use prony_run::capacity::{CapacityResult, Ended, Found, Judgement, RateAttempt, Unit, supports};

use super::capacity_progress::noisy_by;
use super::{fitted, indented, or_more_streams, requested};

/// The summary, in lines of at most `width` characters.
pub(crate) fn text(result: &CapacityResult, requests: Option<&str>, width: usize) -> String {
    let mut lines = conditions(result, requests);
    lines.extend(capacity(result));
    lines.extend(noise(result));
    lines.extend(slow(result));
    lines.extend(set_up(result));
    lines.extend(curve(result, width));
    lines.extend(end(result));
    fitted(&lines.join("\n"), width)
}

fn conditions(result: &CapacityResult, requests: Option<&str>) -> Vec<String> {
    let (target, load) = (&result.target, &result.load);
    let arrivals = match &load.shape {
        LoadShape::Rate(schedule) if schedule.arrivals == Arrivals::Even => "evenly spaced",
        _ => "Poisson",
    };
    let connections = plural(load.connections, "connection");
    let connections = match load.max_connections {
        Some(most) if most > load.connections => {
            let most = number::exact(most as u64);
            format!("{connections}, growing to at most {most} as requests need them")
        }
        _ => format!("{connections}, fixed"),
    };
    let threads = plural(load.threads, "thread");
    let what = requested(target, load);
    let mut lines = vec![format!("{what} ({})", target.address)];
    lines.extend(requests.map(|how| format!("  {how}")));
    lines.push(format!("  open loop, {arrivals}, {connections}, {threads}"));
    let fleet = result.fleet.as_ref();
    lines.extend(fleet.map(|fleet| format!("  from {fleet}")));
    lines.push(format!("  seed {}", result.seed));
    lines.push(format!("  objective: {}", result.objectives));
    lines
}

fn capacity(result: &CapacityResult) -> Vec<String> {
    let rate = |per_s: f64| Unit::of(&result.load).rate(per_s);
    let requests = |per_s: f64| {
        let each = result.requests_per_flow?;
        Some(number::exact_rate_of("requests", each * per_s))
    };
    match &result.found {
        Found::Capacity {
            per_s,
            low_per_s,
            high_per_s,
            coverage,
            findings_per_s,
            confirmed,
        } => {
            let spread = match findings_per_s.len() {
                1 => "found once, so its spread is unknown".to_owned(),
                count => format!(
                    "{:.0} % interval {} to {}, of {}",
                    coverage * 100.0,
                    rate(*low_per_s),
                    rate(*high_per_s),
                    plural(count, "finding")
                ),
            };
            let unless = if *confirmed { "" } else { ", not confirmed" };
            let requests = requests(*per_s).map_or(String::new(), |it| format!("{it}; "));
            let rate = rate(*per_s);
            vec![format!("Capacity: {rate} ({requests}{spread}){unless}")]
        }
        Found::Imprecise {
            low_per_s,
            high_per_s,
            findings_per_s,
        } => imprecise(result, *low_per_s, *high_per_s, findings_per_s.len()),
        Found::AtLeast {
            per_s,
            limited_at_per_s,
        } => {
            let mut attempts = result.attempts.iter().rev();
            let limited =
                |attempt: &&RateAttempt| matches!(attempt.judgement, Judgement::Limited { .. });
            let why = because(attempts.find(limited));
            let at = rate(*limited_at_per_s);
            let least = per_s.map(|held| {
                let requests = requests(held).map_or(String::new(), |it| format!(" ({it})"));
                format!("at least {}{requests}", rate(held))
            });
            let more = match Unit::of(&result.load) {
                Unit::Requests => "CPUs (-t, --cpus)",
                Unit::Flows => "CPUs (-t, --cpus) or connections (--max-connections)",
            };
            vec![
                format!("Capacity: {}", least.unwrap_or("unknown".into())),
                format!(
                    "  The generator was the bottleneck at {at}{why}. Give it more {more}, or another machine."
                ),
            ]
        }
        Found::Nothing { tried_per_s } => {
            let (tried, why) = (rate(*tried_per_s), because(result.attempts.last()));
            vec![format!("Capacity: none. Not even {tried} holds{why}")]
        }
        Found::Between {
            held_per_s,
            failed_per_s,
        } => {
            let best = result.best_per_s.map(rate).unwrap_or_default();
            let known = match (held_per_s.map(rate), failed_per_s.map(rate)) {
                (Some(held), Some(failed)) => {
                    format!("about {best}; {held} held, {failed} did not, and no more is known")
                }
                (Some(held), None) => format!("{held} or more; it held, and no more is known"),
                (None, Some(failed)) => {
                    format!("less than {failed}; it did not hold, and no more is known")
                }
                (None, None) => "unknown".into(),
            };
            vec![format!("Capacity: {known}")]
        }
    }
}

/// An interval that is wider than the precision, or that rests on noisy attempts, is only an estimate.
fn imprecise(
    result: &CapacityResult,
    low: Option<f64>,
    high: Option<f64>,
    findings: usize,
) -> Vec<String> {
    let is_noisy = result.attempts.iter().any(RateAttempt::is_noisy);
    let is_short = result.ended == Ended::Budget && !is_noisy;
    let findings = match findings {
        0 => String::new(),
        _ => format!(", of {}", plural(findings, "finding")),
    };
    let rate = |per_s: f64| Unit::of(&result.load).rate(per_s);
    let range = match (low.map(rate), high.map(rate)) {
        (Some(low), Some(high)) => format!("between {low} and {high}{findings}"),
        (Some(low), None) => format!("{low} or more{findings}"),
        (None, Some(high)) => format!("less than {high}{findings}"),
        (None, None) => "no rate could be judged".into(),
    };
    let wanted = number::share(result.precision);
    let mut lines = vec![match (low.or(high), result.best_per_s) {
        (Some(_), Some(best)) => format!(
            "Capacity: about {}, a best estimate: {range} (target: within {wanted})",
            rate(best)
        ),
        _ => format!("Capacity: unknown: {range}"),
    }];
    let longer = "Try each rate for longer (-d), or accept a wider interval (--precision).";
    let advice = match (is_noisy, low, high) {
        _ if is_short => None,
        (true, ..) => Some(format!(
            "  Stop other programs, or give server and generator their own CPUs (--cpus, and taskset for the server). \
             {longer}"
        )),
        (false, Some(_), Some(_)) => Some(format!(
            "  No attempt was noisy, but the server itself varied: it held a rate and, at another time, failed at a \
             lower one. {longer}"
        )),
        (false, ..) => None,
    };
    lines.extend(advice);
    lines
}

fn noise(result: &CapacityResult) -> Option<String> {
    let all = &result.attempts;
    let noisy = all.iter().filter(|attempt| attempt.is_noisy()).count();
    let (mut steal, mut others) = (Vec::new(), Vec::new());
    let attempts = all.iter().filter(|attempt| attempt.is_noisy());
    let causes = attempts.filter_map(|attempt| attempt.noise.as_ref());
    for cause in causes.flat_map(|noise| &noise.noisy) {
        match cause {
            NoiseCause::Steal { share } => steal.push(*share),
            NoiseCause::OtherPrograms { share } => others.push(*share),
            NoiseCause::WarmUp { .. } => {}
        }
    }
    let causes = [(steal, "the hypervisor"), (others, "other programs")];
    let causes = causes.iter().filter_map(|(shares, who)| {
        let most = number::share(shares.iter().copied().reduce(f64::max)?);
        let count = shares.len();
        Some(format!("{count} lost up to {most} of the CPU to {who}"))
    });
    let causes = causes.joined(", ");
    let attempts = counted(all.len() as u64, "attempt was", "attempts were");
    let anyway = counted_anyway(result);
    (noisy > 0).then(|| format!("  {noisy} of {attempts} noisy: {causes}{anyway}"))
}

fn counted_anyway(result: &CapacityResult) -> String {
    match result.noisy_rates {
        0 => "; none of them counted".into(),
        rates => format!(
            "; {} noisy in every attempt, and the least disturbed one counted",
            counted(rates.into(), "rate was", "rates were")
        ),
    }
}

/// The lowest rate that did not hold and of which there is this.
fn lowest<'r, T>(
    result: &'r CapacityResult,
    of: impl Fn(&'r RateAttempt) -> Option<T>,
) -> Option<(&'r RateAttempt, T)> {
    let attempts = result.attempts.iter();
    let attempts = attempts.filter(|attempt| attempt.judgement != Judgement::Held);
    let attempts = attempts.filter_map(|attempt| Some((attempt, of(attempt)?)));
    attempts.min_by(|(a, _), (b, _)| a.rate_per_s.total_cmp(&b.rate_per_s))
}

/// What the kernel's counters say about the lowest rate that did not hold.
fn slow(result: &CapacityResult) -> Option<String> {
    let (attempt, because) = lowest(result, |attempt| attempt.slow_because.as_ref())?;
    let reached = attempt.latency_ns.as_ref().map(|latency| {
        let max = number::duration(latency.max as f64);
        format!(", latency reached {max}")
    });
    let rate = Unit::of(&result.load).rate(attempt.rate_per_s);
    Some(format!(
        "  At {rate}{}: {because}",
        reached.unwrap_or_default()
    ))
}

/// How opening connections delayed the requests of the lowest rate that did not hold, and what to try.
fn set_up(result: &CapacityResult) -> Option<String> {
    let (attempt, share) = lowest(result, |attempt| attempt.waited_for_set_up)?;
    let streams = or_more_streams(&result.target);
    Some(format!(
        "  At {}, {} of the requests waited while connections were being set up ({} opened). Try a fixed number of them, \
         such as -c 64 --max-connections 64{streams}.",
        Unit::of(&result.load).rate(attempt.rate_per_s),
        number::share(share),
        number::exact(attempt.connections_opened)
    ))
}

/// Why an attempt was judged as it was, after a statement.
fn because(attempt: Option<&RateAttempt>) -> String {
    let why = attempt.map_or(&[][..], |attempt| attempt.judgement.why());
    match why {
        [] => String::new(),
        why => format!(": {}", why.join("; ")),
    }
}

/// A percentile of an attempt, if its responses support it.
fn percentile(attempt: &RateAttempt, quantile: f64, of: fn(&LatencySummary) -> u64) -> Cell {
    let latency = attempt.latency_ns.as_ref();
    let latency = latency.filter(|_| supports(attempt.ok, quantile));
    Cell::optional(latency.map(|latency| of(latency) as f64), number::duration)
}

const COLUMNS: [Column<RateAttempt>; 8] = [
    Column::figure("due", |one| Cell::text(number::exact_rate(one.rate_per_s))),
    Column::figure("p50", |one| percentile(one, 0.5, |latency| latency.p50)),
    Column::figure("p90", |one| percentile(one, 0.9, |latency| latency.p90)),
    Column::figure("p99", |one| percentile(one, 0.99, |latency| latency.p99)),
    Column::figure("p99.9", |one| {
        percentile(one, 0.999, |latency| latency.p999)
    }),
    Column::figure("errors", |one| Cell::text(number::share(one.errors))),
    Column::figure("sent", |one| Cell::text(number::share(one.sent))),
    Column::figure("opened", |one| {
        Cell::text(number::exact(one.connections_opened))
    }),
];

fn curve(result: &CapacityResult, width: usize) -> Vec<String> {
    if result.curve.is_empty() {
        return Vec::new();
    }
    let rows = result.curve.iter();
    let rows = rows.map(|attempt| (attempt, Row::flagged(Weight::Note, mark(attempt))));
    let table = Table::of(&COLUMNS, rows);
    let unit = Unit::of(&result.load);
    let title = match unit {
        Unit::Requests => "Latency against rate (from the scheduled arrival)",
        Unit::Flows => "Latency of the requests against the rate of flows",
    };
    let mut lines = vec![title.to_owned()];
    lines.extend(indented(&table, width));
    lines.push(match result.knee_per_s {
        Some(knee) => format!("Knee: latency rises steeply from {} on", unit.rate(knee)),
        None => "Knee: none found".into(),
    });
    lines
}

fn mark(attempt: &RateAttempt) -> Vec<String> {
    let verdict = match attempt.judgement {
        Judgement::Held => None,
        Judgement::Failed { .. } => Some("does not hold".to_owned()),
        Judgement::Limited { .. } => Some("the generator was the bottleneck".to_owned()),
    };
    let noise = noisy_by(attempt).map(|by| format!("noisy: {by}"));
    [verdict, noise].into_iter().flatten().collect()
}

fn end(result: &CapacityResult) -> Vec<String> {
    let tried = plural(result.attempts.len() + result.curve.len(), "rate");
    let time = number::seconds(result.duration_s.round());
    let mut lines = vec![format!("  {tried} tried in {time}")];
    lines.extend(match result.ended {
        Ended::Complete => None,
        Ended::Budget => Some(format!(
            "  The budget of {} ended the search {}; a longer --budget may find more.",
            number::seconds(result.budget_s),
            progress_at_end(result)
        )),
        Ended::Unsettled => Some(
            "  After the last rate the server sent no ok responses any more; this is the result so far."
                .into(),
        ),
        Ended::Interrupted => Some("  Interrupted: this is the result so far.".into()),
    });
    lines
}

/// How far the search was when the budget ended it.
fn progress_at_end(result: &CapacityResult) -> String {
    let repeats = result.repeats;
    match &result.found {
        Found::Capacity { findings_per_s, .. } if findings_per_s.len() >= repeats as usize => {
            "before the curve was complete".into()
        }
        Found::Capacity { findings_per_s, .. } | Found::Imprecise { findings_per_s, .. } => {
            format!("after {} of {repeats} findings", findings_per_s.len())
        }
        _ => format!("after 0 of {repeats} findings"),
    }
}

#[cfg(test)]
pub(super) mod tests;
