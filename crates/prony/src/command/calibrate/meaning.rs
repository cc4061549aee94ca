//! What the limits mean for figures from this machine.

use prony_present::number::{count, duration, exact_rate, share};

use super::calibration::Calibration;
use super::conditions::Conditions;
use super::engine::{AtRate, Engine, ScheduleLag};
use super::round_trip::RoundTrips;
use super::timing::Wakeups;

/// From this share on, CPU steal is reported.
const STEAL: f64 = 0.01;
/// From this share on, a side was the bottleneck.
const SATURATED: f64 = 0.9;
/// A closed loop keeps one side busy. If both are below this share, other programs had the CPUs.
const IDLE: f64 = 0.6;

/// A sentence for each limit that was measured.
pub(super) fn sentences(calibration: &Calibration) -> Vec<String> {
    let round_trips = calibration.round_trips.as_ref().and_then(round_trip);
    let wakeups = calibration.wakeups.as_ref().and_then(wakeup);
    let engine = calibration.engine.iter().flat_map(engine);
    let lag = calibration.schedule_lag.iter().flat_map(schedule_lag);
    let conditions = calibration.conditions.iter().flat_map(conditions);
    round_trips
        .into_iter()
        .chain(wakeups)
        .chain(engine)
        .chain(lag)
        .chain(conditions)
        .collect()
}

fn round_trip(trips: &RoundTrips) -> Option<String> {
    let trip = trips.two_cpus.or(trips.one_cpu)?;
    let tail = trip.p99.map_or_else(String::new, |p99| {
        format!("; one in a hundred takes {} or more", duration(p99 as f64))
    });
    Some(format!(
        "Latencies below {} are the machine's own: the round trip of a byte takes this long without a \
         server{tail}.",
        duration(trip.p50 as f64)
    ))
}

fn wakeup(wakeups: &Wakeups) -> Option<String> {
    let (sleeping, spinning) = (wakeups.sleeping?, wakeups.spinning?);
    Some(format!(
        "Timers wake {} late (median), {} when spinning. In an open loop up to this much of a latency may be the \
         generator's; reports show it as schedule lag.",
        duration(sleeping.p50 as f64),
        duration(spinning.p50 as f64)
    ))
}

fn engine(engine: &Engine) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(cost) = engine.generator.filter(|cost| cost.cpu_ns() > 0.0) {
        sentences.push(format!(
            "A request costs the generator {} of CPU time, so one thread sends at most {} small requests per second. \
             A faster server needs more threads, or its row is marked as client-limited.",
            duration(cost.cpu_ns()),
            count(1e9 / cost.cpu_ns())
        ));
        if cost.instructions.is_none() {
            sentences.push(
                "This machine does not count cycles and instructions, so costs are in CPU time, which is noisier."
                    .to_owned(),
            );
        }
    }
    sentences.extend(limit(engine).map(str::to_owned));
    sentences
}

/// Which side was the bottleneck of the closed loop.
fn limit(engine: &Engine) -> Option<&'static str> {
    let (generator, server) = (engine.generator_busy, engine.server_busy);
    if generator < IDLE && server < IDLE {
        return Some(
            "Neither generator nor server was busy, although a closed loop keeps one of them busy: other programs had \
             the CPUs. Calibrate again when the machine is quiet.",
        );
    }
    match (generator >= SATURATED, server >= SATURATED) {
        (true, false) => Some(
            "The generator was the bottleneck of its load on the reference server: with one thread it cannot measure \
             a faster server.",
        ),
        (false, true) => Some(
            "The reference server, not the generator, was the bottleneck of that load: Prony can measure even a server \
             that is as fast as the ceiling.",
        ),
        _ => None,
    }
}

fn schedule_lag(lag: &ScheduleLag) -> Vec<String> {
    [("sleeping", &lag.sleeping), ("spinning", &lag.spinning)]
        .into_iter()
        .filter_map(|(way, rates)| kept_up(way, rates))
        .collect()
}

fn kept_up(way: &str, rates: &[AtRate]) -> Option<String> {
    let kept = rates.iter().rev().find(|at| at.is_kept_up());
    let lost = rates.iter().find(|at| !at.is_kept_up());
    let kept = kept.map(|at| {
        let lag = at.lag_ns.map_or_else(String::new, |lag| {
            let p99 = lag
                .p99
                .map(|p99| format!(" (p99 {})", duration(p99 as f64)));
            let p50 = duration(lag.p50 as f64);
            format!(", with a median lag of {p50}{}", p99.unwrap_or_default())
        });
        format!("keeps up with {}{lag}", exact_rate(at.rate_per_s))
    });
    let lost = lost.map(|at| exact_rate(at.rate_per_s));
    let text = match (kept, lost) {
        (Some(kept), Some(lost)) => format!("{kept}, but not with {lost}"),
        (Some(kept), None) => kept,
        (None, Some(lost)) => format!("cannot keep up with {lost}"),
        (None, None) => return None,
    };
    Some(format!("With one thread, {way}, the generator {text}."))
}

fn conditions(seen: &Conditions) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(steal) = seen.steal_share.filter(|&steal| steal >= STEAL) {
        sentences.push(format!(
            "The hypervisor took {} of the CPU time meanwhile: do not trust single trials here; run many rounds.",
            share(steal)
        ));
    }
    if seen.cpus.shared() {
        sentences
            .push("Server and generator share a CPU, so each slows the other down.".to_owned());
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::super::tests::{all, at};
    use super::*;
    use prony_testkit::contains;

    /// One that counts no cycles and no instructions.
    fn engine_of(generator_busy: f64, server_busy: f64) -> Engine {
        let mut engine = all().engine.unwrap();
        engine.generator.as_mut().unwrap().instructions = None;
        Engine {
            generator_busy,
            server_busy,
            ..engine
        }
    }

    #[test]
    fn the_round_trip_is_the_least_latency() {
        let mut trips = all().round_trips.unwrap();
        let text = round_trip(&trips).unwrap();
        contains(&text, "below 30.0 µs");
        contains(&text, "hundred takes 300 µs or more");
        trips.two_cpus = None;
        contains(&round_trip(&trips).unwrap(), "below 9.00 µs");
    }

    #[test]
    fn the_cost_of_a_request_bounds_the_rate() {
        let text = engine(&engine_of(0.95, 0.5)).join("\n");
        for part in [
            "5.00 µs",
            "at most 200 k small",
            "does not count",
            "The generator was the bottleneck",
        ] {
            contains(&text, part);
        }
        let text = engine(&engine_of(0.5, 0.99)).join("");
        contains(&text, "The reference server, not");
        assert_eq!(limit(&engine_of(0.95, 0.95)), None);
        contains(limit(&engine_of(0.2, 0.3)).unwrap(), "other programs had");
    }

    #[test]
    fn the_highest_rate_that_was_kept_up_is_named() {
        let rates =
            [(1e3, 1.0), (5e3, 0.999), (20e3, 0.7)].map(|(rate, ratio)| at(rate, ratio, None));
        let text = kept_up("sleeping", &rates).unwrap();
        contains(&text, "keeps up with 5,000/s, with a median lag");
        contains(&text, ", but not with 20,000/s");
        let text = kept_up("sleeping", &rates[..1]).unwrap();
        prony_testkit::lacks(&text, "not");
        assert_eq!(kept_up("sleeping", &[]), None);
    }

    #[test]
    fn what_was_not_measured_has_no_sentence() {
        assert_eq!(sentences(&Calibration::default()), Vec::<String>::new());
    }
}
