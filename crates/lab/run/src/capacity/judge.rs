//! Whether a server sustained a rate.

use prony_model::objective::{LoadFigures, Objectives};
use prony_model::{HistogramError, LoadResult, OpenLoop, Outcome, Timeline};
use prony_stats::grows;
use serde::Serialize;

use crate::capacity::broken::{Broken, broken_by};
use crate::capacity::search::Tried;
use crate::capacity::unit::Unit;

/// The least share of the due requests that must have been sent for the rate to count as reached.
const SENT: f64 = 0.99;
/// If connections spend at least this share of the time in pauses of flows, it is not the server that keeps them busy.
const PAUSED: f64 = 0.5;

/// Whether a server sustained a rate, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Judgement {
    /// It met the whole objective.
    Held,
    /// It did not.
    Failed {
        /// Each bound that it broke.
        why: Vec<String>,
    },
    /// The rate was not sustained, but the generator may be the cause, so the server cannot be judged.
    Limited {
        /// The evidence.
        why: Vec<String>,
    },
}

impl Judgement {
    /// The result for the search.
    pub(crate) fn tried(&self) -> Tried {
        match self {
            Self::Held => Tried::Held,
            Self::Failed { .. } => Tried::Failed,
            Self::Limited { .. } => Tried::Limited,
        }
    }

    /// Why the rate was not sustained.
    pub fn why(&self) -> &[String] {
        match self {
            Self::Held => &[],
            Self::Failed { why } | Self::Limited { why } => why,
        }
    }
}

/// Judges a load at one rate. `resolution` is the width of the bisections, as a share: the rate fails if the mean
/// latency rises by half of that or more, in seconds per second.
///
/// # Errors
/// If the load's histogram cannot be read.
pub fn judge(
    load: &LoadResult,
    objectives: &Objectives,
    resolution: f64,
) -> Result<Judgement, HistogramError> {
    let figures = LoadFigures::of(load)?;
    let open = load.open.clone().unwrap_or_default();
    let broken = broken_by(objectives, &figures);
    let mut why: Vec<String> = broken.iter().map(Broken::to_string).collect();
    if figures.latency.count() == 0 && broken.is_empty() {
        why.push("no response came during the trial; make it longer (-d)".into());
    }
    why.extend(waited(load, &open));
    why.extend(grown(load, resolution));
    if why.is_empty() {
        return Ok(Judgement::Held);
    }
    let by_generator =
        by_generator(&figures, &broken).or_else(|| all_connections_pause(load, &open));
    Ok(match by_generator {
        Some(by) => Judgement::Limited { why: vec![by] },
        None => Judgement::Failed { why },
    })
}

/// The evidence that the generator may have broken every bound that was broken.
fn by_generator(figures: &LoadFigures, broken: &[Broken]) -> Option<String> {
    if let Some(limited) = figures.client_limited_by() {
        return Some(limited.to_owned());
    }
    let because = broken
        .iter()
        .map(|one| figures.missed_because(&one.objective));
    let because: Option<Vec<String>> = because.collect();
    because?.into_iter().next()
}

/// How many requests or flows were not sent, or had to wait for a connection. Every connection was busy or being set up: if the
/// generator could not send them, it shows in the generator itself.
fn waited(load: &LoadResult, open: &OpenLoop) -> Option<String> {
    let (unit, most) = (Unit::of(&load.load), open.most_connections);
    if unit == Unit::Flows
        && let Some(share) = share_that_waited(load, open)
    {
        return Some(format!(
            "{:.1} % of the flows had to wait: all {most} connections were in a flow",
            share * 100.0
        ));
    }
    (open.due > 0 && open.rate_ratio < SENT).then(|| {
        format!(
            "only {:.1} % of the due {} could be sent: no connection was free, and at most {most} were open",
            open.rate_ratio * 100.0,
            unit.plural()
        )
    })
}

/// The share (0 to 1) of flows that were due when every connection was in a flow, if it is too large. Their wait is part
/// of the latency of their first requests alone, so most percentiles may not show it. While connections may be added, flows
/// wait only for a moment, each time that one is.
fn share_that_waited(load: &LoadResult, open: &OpenLoop) -> Option<f64> {
    if open.most_connections < load.load.most_connections() as u64 {
        return None;
    }
    let share = open.bound_hits as f64 / open.due as f64;
    (share > 1.0 - SENT).then_some(share.min(1.0))
}

/// The evidence against the number of connections, if flows had to wait for users who mostly pause: with more of them
/// they could have begun, whatever the server does.
fn all_connections_pause(load: &LoadResult, open: &OpenLoop) -> Option<String> {
    let flows = load.flows.as_ref()?;
    let share = share_that_waited(load, open)?;
    let in_flows = flows.duration_ns.as_ref()?.mean * flows.ok as f64;
    let in_requests = load.latency_ns.as_ref()?.mean * load.outcomes[Outcome::Ok] as f64;
    // The wait for a connection is part of both.
    let pauses_s = (in_flows - in_requests) / 1e9;
    let paused = pauses_s / (open.most_connections as f64 * load.duration_s);
    (paused >= PAUSED).then(|| {
        format!(
            "{:.1} % of the flows had to wait: all {} connections were in a flow, and {:.0} % of the time in a pause of it",
            share * 100.0,
            open.most_connections,
            paused.min(1.0) * 100.0
        )
    })
}

fn grown(load: &LoadResult, resolution: f64) -> Option<String> {
    let rise = growth(load.timeline.as_ref()?, resolution / 2.0)?;
    Some(format!(
        "the queue grew: mean latency rose by {:.0} ms per second",
        rise * 1e3
    ))
}

/// A trend needs at least this many intervals.
const LEAST_INTERVALS: usize = 6;

/// By how many seconds the mean latency rose per second of the measured part, if it rose throughout, and by `least` or
/// more.
///
/// If requests arrive faster than they are served, the queue grows by the difference: if the latency rises by 10 ms per
/// second, the server serves 1 % less than arrives. Such a rate is not sustained, however low the latency still is at
/// the end of the trial.
fn growth(timeline: &Timeline, least: f64) -> Option<f64> {
    let (at_s, latency_s): (Vec<f64>, Vec<f64>) = timeline
        .measured()
        .filter(|&interval| timeline.ok.get(interval).is_some_and(|&ok| ok > 0))
        .filter_map(|interval| Some((interval, timeline.latency_mean_ns.get(interval)? / 1e9)))
        .map(|(interval, latency_s)| (interval as f64 * timeline.interval_s, latency_s))
        .unzip();
    if latency_s.len() < LEAST_INTERVALS {
        return None;
    }
    // Intervals without responses are missing, so their number does not show how much time passed.
    let rise = rise(&latency_s) / rise(&at_s);
    (rise >= least && grows(&latency_s)).then_some(rise)
}

/// The rise of the mean from the first half to the second; of an odd number of values the middle one is left out.
fn rise(values: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let half = values.len() / 2;
    mean(&values[values.len() - half..]) - mean(&values[..half])
}

#[cfg(test)]
mod tests {
    use prony_model::LatencyHistogram;

    use super::*;
    use crate::capacity::tests::{load, of_flows};

    const MS: u64 = 1_000_000;

    fn judged(objectives: &str, load: &LoadResult) -> Judgement {
        judge(load, &objectives.parse().unwrap(), 0.02).unwrap()
    }

    fn verdict(load: &LoadResult) -> Judgement {
        judged("p99<10ms,errors<1%", load)
    }

    fn failed(why: &[&str]) -> Judgement {
        let why = why.iter().map(|&why| why.to_owned()).collect();
        Judgement::Failed { why }
    }

    fn limited(why: &str) -> Judgement {
        Judgement::Limited {
            why: vec![why.to_owned()],
        }
    }

    fn fast() -> LoadResult {
        load([MS; 1000], 0)
    }

    fn slow() -> LoadResult {
        load([20 * MS; 1000], 0)
    }

    fn with_open(mut load: LoadResult, change: impl FnOnce(&mut OpenLoop)) -> LoadResult {
        change(load.open.as_mut().unwrap());
        load
    }

    #[test]
    fn a_rate_holds_if_every_bound_is_kept_and_fails_with_the_reason() {
        assert_eq!(verdict(&fast()), Judgement::Held);
        let slow_p99 = "p99 was 20.0 ms, not below 10ms";
        assert_eq!(verdict(&slow()), failed(&[slow_p99]));
        let wrong = "errors were 10 %, not below 1 %";
        assert_eq!(verdict(&load([MS; 900], 100)), failed(&[wrong]));
        let silent = "no response came during the trial; make it longer (-d)";
        assert_eq!(verdict(&load([], 0)), failed(&[silent]));
    }

    #[test]
    fn a_rate_that_was_not_reached_fails_unless_it_shows_in_the_generator() {
        // Connections that are being set up are as little free as those that wait for responses.
        for bound_hits in [0, 7] {
            let unsent = with_open(fast(), |open| {
                (open.rate_ratio, open.bound_hits, open.most_connections) = (0.5, bound_hits, 15);
            });
            let waited = "only 50.0 % of the due requests could be sent: no connection was free, and at most 15 were open";
            assert_eq!(verdict(&unsent), failed(&[waited]));
            let ports = "connections waited 1152 times for a free local port";
            for evidence in ["a thread was 99 % busy", ports] {
                assert_eq!(
                    verdict(&limited_load(unsent.clone(), evidence)),
                    limited(evidence)
                );
            }
        }
    }

    fn limited_load(mut load: LoadResult, evidence: &str) -> LoadResult {
        load.generator.limited_by(evidence);
        load
    }

    /// A load of 1000 requests of that latency, in flows of five, whose pauses take this long; half of them found all
    /// connections busy.
    fn full_of_flows(latency_ms: u64, paused_ms: u64) -> LoadResult {
        let flow = (5 * latency_ms + paused_ms) * MS;
        with_open(
            of_flows(load([latency_ms * MS; 1000], 0), 200, flow),
            |open| {
                (open.bound_hits, open.most_connections) = (open.due / 2, 40);
            },
        )
    }

    const IN_FLOWS: &str = "50.0 % of the flows had to wait: all 40 connections were in a flow";

    /// The same load, but a connection was free for nearly every flow.
    fn with_free(load: LoadResult) -> LoadResult {
        with_open(load, |open| open.bound_hits = 9)
    }

    #[test]
    fn if_all_users_are_in_a_flow_it_depends_on_their_pauses() {
        let too_slow = "p99 was 20.0 ms, not below 10ms";
        let mostly_waits = full_of_flows(20, 90);
        assert_eq!(verdict(&mostly_waits), failed(&[too_slow, IN_FLOWS]));
        let mostly_pauses = full_of_flows(20, 150);
        let too_few = format!("{IN_FLOWS}, and 75 % of the time in a pause of it");
        assert_eq!(verdict(&mostly_pauses), limited(&too_few));
        assert_eq!(verdict(&with_free(mostly_pauses)), failed(&[too_slow]));
    }

    #[test]
    fn flows_that_wait_fail_a_rate_whose_requests_are_fast() {
        assert_eq!(verdict(&full_of_flows(1, 4)), failed(&[IN_FLOWS]));
        let free = with_free(full_of_flows(1, 4));
        assert_eq!(verdict(&free), Judgement::Held);
        let mut may_grow = full_of_flows(1, 4);
        may_grow.load.max_connections = Some(100);
        assert_eq!(verdict(&may_grow), Judgement::Held);
    }

    #[test]
    fn a_rate_of_flows_that_was_not_reached_fails_even_if_hardly_any_waited() {
        let few = with_open(of_flows(fast(), 200, MS), |open| {
            open.rate_ratio = 0.95;
            (open.bound_hits, open.most_connections) = (open.due / 200, 40);
        });
        assert!(few.open.as_ref().unwrap().bound_hits > 0);
        let unsent = "only 95.0 % of the due flows could be sent: no connection was free, and at most 40 were open";
        assert_eq!(verdict(&few), failed(&[unsent]));
    }

    #[test]
    fn schedule_lag_explains_only_as_many_slow_requests_as_have_a_due_time() {
        // One request in five begins a flow, 8 ms late.
        let slow = |late: usize| {
            let latency = move |request| if request < late { 12 * MS } else { MS };
            of_flows(load((0..1000).map(latency), 0), 200, 50 * MS)
        };
        let tried = |objectives, load| judged(objectives, &late(load, [8 * MS; 200])).tried();
        assert_eq!(tried("p90<10ms", slow(150)), Tried::Limited);
        assert_eq!(tried("p50<10ms", slow(600)), Tried::Failed);
    }

    #[test]
    fn a_busy_generator_makes_a_failure_inconclusive_but_not_a_success() {
        let busy = |load| limited_load(load, "a thread was 99 % busy");
        assert_eq!(verdict(&busy(fast())), Judgement::Held);
        assert_eq!(verdict(&busy(slow())).tried(), Tried::Limited);
    }

    #[test]
    fn a_bound_that_schedule_lag_may_have_broken_is_inconclusive() {
        let late_by = |ms| late(load([12 * MS; 1000], 0), [ms * MS; 1000]);
        for objectives in [
            "p99<10ms",
            "mean<10ms",
            "max<10ms",
            "p50<9ms,mean<10ms,max<10ms",
        ] {
            let tried = |ms| judged(objectives, &late_by(ms)).tried();
            assert_eq!(tried(0), Tried::Failed, "{objectives}");
            assert_eq!(tried(3), Tried::Failed, "{objectives}: negligible");
            assert_eq!(tried(6), Tried::Limited, "{objectives}");
        }
        let lag = "the generator's own schedule lag (p99 6.0 ms) is too large to judge p99<10ms";
        assert_eq!(verdict(&late_by(6)), limited(lag));
        // The lag does not cause errors.
        let wrong = late(load([12 * MS; 900], 100), [6 * MS; 1000]);
        assert_eq!(verdict(&wrong).tried(), Tried::Failed);
    }

    #[test]
    fn each_bound_is_compared_with_the_same_statistic_of_the_lag() {
        // One request in a thousand is 60 ms late, which explains the maximum but hardly affects the mean.
        let one_of_1000 = |ms: u64, others: u64| {
            (0..1000).map(move |request| if request == 0 { ms * MS } else { others * MS })
        };
        let stalled = late(load(one_of_1000(70, 12), 0), one_of_1000(60, 0));
        for (objectives, expected) in [
            ("max<50ms", Tried::Limited),
            ("mean<10ms", Tried::Failed),
            // The lag does not explain the mean.
            ("max<50ms,mean<10ms", Tried::Failed),
        ] {
            assert_eq!(
                judged(objectives, &stalled).tried(),
                expected,
                "{objectives}"
            );
        }
    }

    fn late(load: LoadResult, by_ns: impl IntoIterator<Item = u64>) -> LoadResult {
        let mut lag = LatencyHistogram::new();
        by_ns.into_iter().for_each(|ns| lag.record(ns));
        with_open(load, |open| open.schedule_lag_histogram = lag.to_base64())
    }

    #[test]
    fn a_growing_queue_fails_even_if_it_is_still_short() {
        let mut growing = fast();
        let latency = (0..50).map(|interval| 1.0 + 1.5 * f64::from(interval));
        growing.timeline = Some(timeline(latency));
        let grew = "the queue grew: mean latency rose by 15 ms per second";
        assert_eq!(verdict(&growing), failed(&[grew]));
    }

    fn timeline(latency_ms: impl Iterator<Item = f64>) -> Timeline {
        let latency_mean_ns: Vec<f64> = latency_ms.map(|ms| ms * 1e6).collect();
        Timeline {
            interval_s: 0.1,
            measured_from_s: 1.0,
            ok: vec![100; latency_mean_ns.len()],
            latency_mean_ns,
            ..Timeline::default()
        }
    }

    #[test]
    fn a_queue_with_2_percent_overload_grows_by_2_percent_of_the_time() {
        // 1 s of warm-up, and then 2 ms more in every 100 ms.
        let mut growing = timeline((0..60).map(|interval| 5.0 + 2.0 * f64::from(interval)));
        assert_eq!(growth(&growing, 0.03), None, "it grows by 2 %, not 3 %");
        let has_grown = |timeline: &Timeline| {
            let rise = growth(timeline, 0.01).unwrap();
            assert!((rise - 0.02).abs() < 1e-9, "{rise}");
        };
        has_grown(&growing);
        // Intervals without responses count as time.
        growing.ok[25..45].fill(0);
        has_grown(&growing);
    }

    #[test]
    fn growth_in_the_warm_up_and_swings_are_not_a_trend() {
        let warm_up = timeline((0..60).map(|interval| f64::from(interval.min(10)) * 5.0));
        assert_eq!(growth(&warm_up, 0.001), None);
        let swings = timeline((0..60).map(|interval| 20.0 + f64::from(interval % 7) * 5.0));
        assert_eq!(growth(&swings, 0.01), None);
        let short = timeline((0..14).map(|interval| f64::from(interval) * 100.0));
        assert_eq!(growth(&short, 0.01), None, "4 intervals show no trend");
    }

    #[test]
    fn intervals_without_responses_are_ignored() {
        let mut stalls = timeline((0..60).map(|_| 5.0));
        for interval in 11..35 {
            (stalls.ok[interval], stalls.latency_mean_ns[interval]) = (0, 0.0);
        }
        assert_eq!(growth(&stalls, 0.001), None);
    }
}
