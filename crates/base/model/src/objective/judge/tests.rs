use crate::{Ended, LatencyHistogram, OpenLoop, Outage, Outcome, Outcomes, SlowResponses, sample};

use super::*;

const MS: u64 = 1_000_000;

/// What a load does in an interval of 100 ms.
#[derive(Clone, Copy)]
struct Interval {
    ok: u64,
    /// How many of them take 100 ms; the rest take 10 ms.
    slow: u64,
    errors: u64,
}

const QUICK: Interval = Interval {
    ok: 100,
    slow: 0,
    errors: 0,
};

/// A closed loop of these intervals, which counted what `objectives` need.
fn load(intervals: &[Interval], objectives: &Objectives) -> LoadResult {
    let mut latency = LatencyHistogram::new();
    let mut outcomes = Outcomes::default();
    for interval in intervals {
        (0..interval.ok - interval.slow).for_each(|_| latency.record(10 * MS));
        (0..interval.slow).for_each(|_| latency.record(100 * MS));
        outcomes[Outcome::Ok] += interval.ok;
        outcomes[Outcome::TimedOut] += interval.errors;
    }
    let mean = |one: &Interval| {
        let (quick, slow) = ((one.ok - one.slow) as f64, one.slow as f64);
        (quick * 10e6 + slow * 100e6) / one.ok.max(1) as f64
    };
    let slow_from = |from_ns| {
        let count = intervals.iter().map(|one| match from_ns {
            from if from <= 10 * MS => one.ok,
            from if from <= 100 * MS => one.slow,
            _ => 0,
        });
        SlowResponses {
            from_ns,
            count: count.collect(),
        }
    };
    let slow = objectives.slow_from_ns().into_iter().map(slow_from);
    LoadResult {
        ended: Ended::Duration,
        duration_s: intervals.len() as f64 * 0.1,
        outcomes,
        open: None,
        histogram: latency.to_base64(),
        ack_waits: 0,
        server_throttled: None,
        fleet: None,
        timeline: Some(Timeline {
            interval_s: 0.1,
            measured_from_s: 0.0,
            ok: intervals.iter().map(|one| one.ok).collect(),
            latency_mean_ns: intervals.iter().map(mean).collect(),
            errors: intervals.iter().map(|one| one.errors).collect(),
            slow: slow.collect(),
            seconds: Vec::new(),
        }),
        outages: Vec::new(),
        ..sample::load_result()
    }
}

/// The verdict on a single objective, and whether it counts as missed.
fn verdict(text: &str, intervals: &[Interval]) -> (Verdict, bool) {
    let objectives: Objectives = text.parse().unwrap();
    let judged = judge(&objectives, &load(intervals, &objectives)).unwrap();
    (judged[0].verdict, judged[0].is_missed())
}

#[test]
fn a_steady_load_is_clear() {
    let mut steady = vec![QUICK; 100];
    steady.iter_mut().step_by(2).for_each(|one| one.ok = 104);
    for (text, expected) in [
        ("p99<50ms", Verdict::Met),
        ("p50<5ms", Verdict::Missed),
        ("mean<11ms", Verdict::Met),
        ("mean<9ms", Verdict::Missed),
        ("max<11ms", Verdict::Met),
        ("max<9ms", Verdict::Missed),
        ("rate>900/s", Verdict::Met),
        ("rate>1100/s", Verdict::Missed),
        ("errors<0.1%", Verdict::Met),
        ("errors<0%", Verdict::Met),
    ] {
        assert_eq!(
            verdict(text, &steady),
            (expected, expected == Verdict::Missed),
            "{text}"
        );
    }
}

#[test]
fn one_stall_is_not_clear_and_counts_by_the_figure() {
    // 90 of 10,000 responses are slow, all of them in one interval.
    let mut stall = vec![QUICK; 100];
    stall[60].slow = 90;
    assert_eq!(verdict("p99<50ms", &stall), (Verdict::NotClear, false));
    stall[61].slow = 90;
    assert_eq!(verdict("p99<50ms", &stall), (Verdict::NotClear, true));
    // Spread over the load, twice the allowed share is clear.
    let spread = [Interval { slow: 2, ..QUICK }; 100];
    assert_eq!(verdict("p99<50ms", &spread), (Verdict::Missed, true));
}

#[test]
fn few_responses_support_no_high_percentile() {
    let few = [Interval { ok: 5, ..QUICK }; 100];
    assert_eq!(verdict("p99.9<50ms", &few), (Verdict::NotClear, false));
    assert_eq!(verdict("p90<50ms", &few), (Verdict::Met, false));
    assert_eq!(verdict("errors<0.1%", &few), (Verdict::NotClear, false));
}

#[test]
fn a_rate_that_falls_is_not_clear() {
    let falling: Vec<Interval> = (0..100)
        .map(|i| Interval {
            ok: 200 - i,
            ..QUICK
        })
        .collect();
    assert_eq!(verdict("rate>1400/s", &falling), (Verdict::NotClear, false));
    assert_eq!(verdict("rate>1600/s", &falling), (Verdict::NotClear, true));
    assert_eq!(verdict("rate>2k/s", &falling), (Verdict::Missed, true));
}

#[test]
fn a_short_load_has_no_interval() {
    let short = [QUICK; 2];
    assert_eq!(verdict("rate>900/s", &short), (Verdict::NotClear, false));
    assert_eq!(verdict("rate>1100/s", &short), (Verdict::NotClear, true));
    assert_eq!(verdict("max<50ms", &short), (Verdict::Met, false));
}

#[test]
fn without_an_ok_response_a_latency_is_missed() {
    let failed = [Interval {
        ok: 0,
        slow: 0,
        errors: 9,
    }; 50];
    let silent = [Interval {
        errors: 0,
        ..failed[0]
    }; 50];
    for text in ["p99<50ms", "mean<1s", "max<1s", "rate>1/s", "errors<99%"] {
        assert_eq!(verdict(text, &failed), (Verdict::Missed, true), "{text}");
        assert_eq!(verdict(text, &silent), (Verdict::Missed, true), "{text}");
    }
}

#[test]
fn an_outage_misses_errors_and_rate_however_few_requests_it_cost() {
    let outage = |length_s| Outage {
        from_s: 3.0,
        length_s,
    };
    for (text, expected) in [
        ("p99<50ms", None),
        ("max<50ms", None),
        ("errors<0%", Some(7.0)),
        ("errors<50%", Some(7.0)),
        ("errors<=100%", None),
        ("rate>1/s", Some(7.0)),
    ] {
        let objectives: Objectives = text.parse().unwrap();
        let steady = load(&[QUICK; 100], &objectives);
        let dead = LoadResult {
            outages: vec![outage(2.0), outage(7.0), outage(1.0)],
            ..steady.clone()
        };
        let alone = judge(&objectives, &dead).unwrap();
        let with_others = judge_rounds(&objectives, &[&steady, &dead, &steady]).unwrap();
        for judged in [&alone[0], &with_others[0]] {
            let found = judged.outage.map(|it| it.length_s);
            assert_eq!(
                (found, judged.is_missed()),
                (expected, expected.is_some()),
                "{text}"
            );
        }
    }
}

#[test]
fn only_in_an_open_loop_is_a_request_without_a_response_an_error() {
    let objectives: Objectives = "errors<1%".parse().unwrap();
    let mut load = load(&[QUICK; 50], &objectives);
    load.outcomes[Outcome::Unfinished] = 5000;
    assert!(!is_missed(&judge(&objectives, &load).unwrap()));
    load.open = Some(crate::OpenLoop::default());
    let judged = judge(&objectives, &load).unwrap();
    assert_eq!(judged[0].figure, Some(0.5));
    assert!(is_missed(&judged));
    load.ended = Ended::Interrupted;
    assert!(!is_missed(&judge(&objectives, &load).unwrap()));
}

#[test]
fn each_round_is_a_batch() {
    let objectives: Objectives = "p99<50ms,rate>900/s".parse().unwrap();
    let round = load(&[QUICK; 10], &objectives);
    let judged = judge_rounds(&objectives, &[&round; 6]).unwrap();
    assert_eq!(judged[0].evidence.unwrap().batches, 6);
    let verdicts: Vec<Verdict> = judged.iter().map(|one| one.verdict).collect();
    assert_eq!(verdicts, [Verdict::Met; 3]);
    let few = judge_rounds(&objectives, &[&round; 3]).unwrap();
    assert!(few[1].holds && few[1].evidence.is_none());
}

#[test]
fn a_missed_objective_names_what_shows_in_the_generator() {
    let objectives: Objectives = "p99<50ms,mean<5ms,max<1s".parse().unwrap();
    let slow = Interval { slow: 50, ..QUICK };
    let mut limited = load(&[slow; 50], &objectives);
    limited.generator = crate::GeneratorCost::default();
    let lag = |ms: u64| {
        let mut lag = LatencyHistogram::new();
        (0..5000).for_each(|_| lag.record(ms * MS));
        let schedule_lag_histogram = lag.to_base64();
        Some(crate::OpenLoop {
            schedule_lag_histogram,
            ..crate::OpenLoop::default()
        })
    };
    let because = |load: &LoadResult| {
        let judged = judge(&objectives, load).unwrap();
        judged.into_iter().take(3).map(|one| one.missed_because)
    };
    assert!(because(&limited).all(|because| because.is_none()));
    limited.open = lag(60);
    let p99 = "the generator's own schedule lag (p99 60.0 ms) is too large to judge p99<50ms";
    let mean = "the generator's own schedule lag (mean 60.0 ms) is too large to judge mean<5ms";
    let expected = [Some(p99.to_owned()), Some(mean.to_owned()), None];
    assert!(because(&limited).eq(expected));
    let ports = "connections waited 1152 times for a free local port";
    limited.generator.limited_by(ports);
    let expected = [Some(ports.to_owned()), Some(ports.to_owned()), None];
    assert!(because(&limited).eq(expected));
    let judged = judge_rounds(&objectives, &[&limited; 2]).unwrap();
    assert!(judged[0].client_limited && judged[0].missed_because.as_deref() == Some(ports));
}

/// The share of loads with a verdict other than "not clear" if the true share of slow responses is exactly the allowed
/// one, so that each such verdict is wrong. Slow responses come in bursts of about `burst`.
fn wrong_verdicts(burst: u64) -> f64 {
    let mut random = fastrand::Rng::with_seed(burst);
    let loads = 100;
    let mut wrong = 0;
    for _ in 0..loads {
        let mut interval = || {
            let bursts = (0..60 / burst).filter(|_| random.f64() < 0.1).count() as u64;
            Interval {
                ok: 60,
                slow: bursts * burst,
                errors: 0,
            }
        };
        let intervals: Vec<Interval> = (0..100).map(|_| interval()).collect();
        wrong += u32::from(verdict("p90<50ms", &intervals).0 != Verdict::NotClear);
    }
    f64::from(wrong) / f64::from(loads)
}

#[test]
fn a_load_at_the_limit_rarely_has_a_clear_verdict() {
    for burst in [1, 30] {
        let wrong = wrong_verdicts(burst);
        assert!(wrong <= 0.08, "bursts of {burst}: {wrong}");
    }
}

/// 100 a second of 2 s each for 6 s, whose responses arrive so in each interval.
fn slow_responses(arriving: impl Fn(usize) -> u64, rate: &str) -> (Verdict, bool) {
    let objectives: Objectives = rate.parse().unwrap();
    let interval = |at| Interval {
        ok: arriving(at),
        ..QUICK
    };
    let intervals: Vec<Interval> = (0..80).map(interval).collect();
    let mut load = load(&intervals, &objectives);
    let mut latency = LatencyHistogram::new();
    latency.record(2000 * MS);
    load.latency_ns = latency.summary();
    load.open = Some(OpenLoop {
        due: 600,
        completed: 600,
        due_s: 6.0,
        ..OpenLoop::default()
    });
    let judged = judge(&objectives, &load).unwrap();
    assert_eq!(judged[0].figure, Some(100.0));
    (judged[0].verdict, judged[0].is_missed())
}

#[test]
fn the_rate_of_slow_responses_is_judged_while_they_arrive() {
    let steady = |at| if at < 20 { 0 } else { 10 };
    assert_eq!(slow_responses(steady, "rate>95/s"), (Verdict::Met, false));
    // They all arrive in the end, but never as fast as they are due.
    let late = |at| if at < 2 { 0 } else { 8 };
    assert_eq!(slow_responses(late, "rate>95/s"), (Verdict::Missed, true));
}
