//! The timeline of a load, against its totals.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use prony_load::{EventLoopChoice, LoadPlan};
use prony_model::{Ended, LoadResult, Outcome, Seconds, Timeline};

use crate::plans::{self, assert_outcomes, get_from};
use crate::scripted::{After, HELLO, ScriptedServer};

over_each_loop!(
    the_intervals_add_up_to_the_outcomes,
    slow_responses_are_counted_in_the_interval_of_their_arrival,
    the_mean_latency_of_the_intervals_is_that_of_the_load,
    a_server_that_becomes_slow_shows,
    the_generators_scheduling_is_that_of_its_workers
);

/// A timed load, with a warm-up.
fn timed(
    event_loop: EventLoopChoice,
    server: &ScriptedServer,
    warmup_ms: u64,
    duration_ms: u64,
) -> LoadPlan {
    get_from(event_loop, server.address(), 1).with(|plan| {
        plan.load.warmup = Seconds::from_millis(warmup_ms);
        plan.load.duration = Some(Seconds::from_millis(duration_ms));
        plan.load.requests = None;
    })
}

fn load(plan: &LoadPlan) -> (LoadResult, Timeline) {
    let result = plans::load(plan);
    let timeline = result.timeline.clone().unwrap();
    assert_eq!(timeline.ok.len(), timeline.latency_mean_ns.len());
    (result, timeline)
}

/// A server that pauses before each response.
fn pausing_server() -> ScriptedServer {
    ScriptedServer::slow(Duration::from_micros(200))
}

fn the_intervals_add_up_to_the_outcomes(event_loop: EventLoopChoice) {
    let server = pausing_server();
    // The warm-up ends in the middle of an interval.
    let (result, timeline) = load(&timed(event_loop, &server, 105, 200));
    assert_eq!(result.ended, Ended::Duration);
    assert_eq!(timeline.interval_s, 0.01);
    // Later only if the machine stood still just then, perhaps for one of the threads.
    let measured_from_s = timeline.measured_from_s;
    let stood_still = measured_from_s > 0.15;
    assert!(stood_still || measured_from_s == 0.105);
    let whole_s = measured_from_s + result.duration_s;
    assert!(stood_still || timeline.ok.len() == (whole_s / 0.01) as usize);
    let first = (measured_from_s / 0.01).ceil() as usize;
    assert_eq!(timeline.measured(), first..timeline.ok.len());
    let warmed_up = result.warmup.as_ref().unwrap().outcomes[Outcome::Ok];
    let all = warmed_up + result.outcomes[Outcome::Ok];
    let in_intervals: u64 = timeline.ok.iter().sum();
    // The unfinished last interval is left out: with three connections and 0.2 ms per response, it has at most 150.
    let expected = all.saturating_sub(150).max(1)..=all;
    assert!(expected.contains(&in_intervals), "{in_intervals} of {all}");
    let before: u64 = timeline.ok[..10].iter().sum();
    assert!(before <= warmed_up, "{before} of {warmed_up}");
    for (&ok, &mean) in timeline.ok.iter().zip(&timeline.latency_mean_ns) {
        let least = if ok == 0 { 0.0 } else { 200_000.0 };
        assert!(mean >= least, "{mean} of {ok}");
    }
}

fn slow_responses_are_counted_in_the_interval_of_their_arrival(event_loop: EventLoopChoice) {
    let server = pausing_server();
    let plan = timed(event_loop, &server, 55, 200).with(|plan| {
        // Each response takes 0.2 ms or longer, and none an hour.
        plan.slow_from_ns = vec![200_000, 3_600_000_000_000];
    });
    let (_, timeline) = load(&plan);
    let counts: Vec<&[u64]> = timeline.slow.iter().map(|slow| &slow.count[..]).collect();
    assert_eq!(counts, [&timeline.ok[..], &vec![0; timeline.ok.len()]]);
    assert!(timeline.errors.is_empty());
}

fn the_mean_latency_of_the_intervals_is_that_of_the_load(event_loop: EventLoopChoice) {
    let server = pausing_server();
    let (result, timeline) = load(&timed(event_loop, &server, 0, 200));
    let start = (timeline.measured_from_s, timeline.measured().start);
    assert_eq!(start, (0.0, 0));
    let count: u64 = timeline.ok.iter().sum();
    let means = timeline.ok.iter().zip(&timeline.latency_mean_ns);
    let sum: f64 = means.map(|(&ok, mean)| ok as f64 * mean).sum();
    let all = result.outcomes[Outcome::Ok];
    let latency = result.latency_ns.unwrap();
    // The few responses after the last whole interval had latencies between the least and the most of all; the
    // histogram has three digits.
    let missing = (all - count) as f64;
    let whole = latency.mean * all as f64;
    let without = |each: u64| whole - missing * each as f64;
    let expected = 0.999 * without(latency.max)..=1.001 * without(latency.min);
    assert!(expected.contains(&sum), "{sum} of {whole}");
}

fn a_server_that_becomes_slow_shows(event_loop: EventLoopChoice) {
    let responded = AtomicU64::new(0);
    let server = ScriptedServer::start(move |stream, _| {
        // The first 100 at once, the others late.
        if responded.fetch_add(1, SeqCst) >= 100 {
            thread::sleep(Duration::from_millis(30));
        }
        let _ = stream.write_all(HELLO);
        After::Keep
    });
    let (result, timeline) =
        load(&get_from(event_loop, server.address(), 130).with(|plan| plan.load.threads = 1));
    assert_outcomes(&result, "130 ok");
    assert_eq!(result.ended, Ended::Requests);
    let means = timeline.latency_mean_ns.iter();
    let last = means.rev().find(|&&mean| mean > 0.0);
    assert!(*last.unwrap() >= 30e6, "{timeline:?}");
    // Thirty late responses over three connections take 300 ms.
    assert!(timeline.ok.len() >= 29, "{timeline:?}");
}

fn the_generators_scheduling_is_that_of_its_workers(event_loop: EventLoopChoice) {
    let server = pausing_server();
    let (result, _) = load(&timed(event_loop, &server, 20, 100));
    let Some(scheduling) = result.generator.scheduling else {
        assert!(!std::path::Path::new("/proc/self/schedstat").exists());
        return;
    };
    // Workers that wait for slow responses sleep.
    assert!(scheduling.voluntary_switches > 0, "{scheduling:?}");
    assert!(scheduling.run_queue_wait_s >= 0.0, "{scheduling:?}");
}
