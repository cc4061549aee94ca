use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;

use prony_model::{LatencyHistogram, LoadResult, LoadShape, Outcome, Schedule, Throttled};
use prony_traffic::RequestParts;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::assemble;
use super::super::cost::{ThreadCpu, WorkerCost};
use super::super::silence::SilenceRecorder;
use super::super::timeline::TimelineRecorder;
use super::super::worker::Figures;
use super::*;
use crate::plan::tests::places;

const SECOND: Nanoseconds = 1_000_000_000;
const SLOW_FROM: [Nanoseconds; 2] = [1_000_000, 100_000_000];

fn plan(agents: usize) -> LoadPlan {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 80));
    let request = RequestParts::new("GET", &"http://a/".parse().unwrap(), &[], b"").unwrap();
    LoadPlan::new(address.into(), "http://a/", request).with(|plan| {
        plan.agents = agents;
        plan.load.connections = 100;
        plan.load.shape = LoadShape::Rate(Schedule::constant(prony_model::Arrivals::Even, 1000.0));
        plan.slow_from_ns = SLOW_FROM.into();
    })
}

/// A worker that saw responses with these latencies, evenly over `seconds`, with an error after every hundredth.
fn worker(latencies: &[Nanoseconds], seconds: u64, busy: f64) -> WorkerResult {
    let mut tally = Tally::default();
    let mut recorder = TimelineRecorder::begin(0);
    for (at, &latency) in latencies.iter().enumerate() {
        let now = seconds * SECOND * at as u64 / latencies.len() as u64;
        if recorder.is_over(now) {
            recorder.take(now, &tally);
        }
        tally.ok(latency, true, &SLOW_FROM);
        tally.status(200);
        tally.connect.record(latency / 2);
        tally
            .schedule
            .begun(latency / 1000, at > latencies.len() / 2);
        if at % 100 == 99 {
            tally.not_ok(Outcome::TimedOut, "too late");
        }
    }
    let end = seconds * SECOND + 5;
    let timeline = recorder.end(end, &tally);
    let cpu = ThreadCpu {
        total_s: busy * seconds as f64,
        user_s: busy * seconds as f64,
        system_s: 0.0,
    };
    WorkerResult {
        figures: Figures {
            warmup: None,
            measured: PhaseResult {
                tally,
                duration: end,
                due: DueTime::until(end),
                cost: WorkerCost {
                    cpu,
                    ..WorkerCost::default()
                },
            },
            timeline,
            silences: SilenceRecorder::begin(0, 0).end(),
            records: None,
        },
        ended: Ended::Duration,
        connections: ConnectionCounts::default(),
        agreement: None,
        event_loop: EventLoopName::Epoll,
        start_lag: 7,
    }
}

fn part(plan: &LoadPlan, agent: usize, workers: Vec<WorkerResult>) -> PartResult {
    let part = PartResult::of(plan, agent, workers, None);
    serde_json::from_str(&serde_json::to_string(&part).unwrap()).unwrap()
}

fn random_latencies(seed: u64, count: usize, range: Range<f64>) -> Vec<Nanoseconds> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut one = || 10_f64.powf(range.start + random.f64() * (range.end - range.start));
    (0..count).map(|_| one() as Nanoseconds).collect()
}

fn buckets(histogram: &str) -> Vec<(u64, u64)> {
    let histogram = LatencyHistogram::from_base64(histogram).unwrap();
    histogram.counted().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn parts_have_bucket_by_bucket_the_histogram_of_all_samples(
        samples in prop::collection::vec(
            (0usize..5, 0usize..3, prop_oneof![1u64..2000, 1_000u64..10_000_000_000, any::<u64>()]),
            0..400,
        ),
    ) {
        let plan = plan(5).with(|plan| plan.load.threads = 3);
        let mut pooled = LatencyHistogram::new();
        let mut of_workers = vec![vec![Vec::new(); 3]; 5];
        for &(agent, thread, latency) in &samples {
            pooled.record(latency);
            of_workers[agent][thread].push(latency);
        }
        let parts: Vec<PartResult> = (0..5)
            .map(|agent| {
                let workers = of_workers[agent].iter().map(|it| worker(it, 1, 0.1));
                part(&plan, agent, workers.collect())
            })
            .collect();
        let result = assemble(&plan, &parts);
        prop_assert_eq!(buckets(&result.histogram), pooled.counted().collect::<Vec<_>>());
        prop_assert_eq!(&result.histogram, &pooled.to_base64());
        prop_assert_eq!(result.latency_ns, pooled.summary());
        prop_assert_eq!(result.outcomes[Outcome::Ok], samples.len() as u64);
        prop_assert_eq!(result.statuses.get(&200).copied().unwrap_or(0), samples.len() as u64);
    }
}

/// Everything that does not depend on where a worker ran.
fn figures(result: &LoadResult) -> Value {
    let mut figures = serde_json::to_value(result).unwrap();
    for of_plan in ["load", "target"] {
        figures.as_object_mut().unwrap().remove(of_plan);
    }
    figures
}

#[test]
fn agents_have_the_result_of_one_process_with_all_their_threads() {
    let latencies = |number: usize| random_latencies(number as u64, 5000, 4.0..9.0);
    // Not equally long: then the timelines have different intervals.
    let lasts = |number: usize| [3, 8][number % 2];
    let worker = |number: usize| worker(&latencies(number), lasts(number), 0.125);
    let plan = |agents, threads| plan(agents).with(|plan| plan.load.threads = threads);
    let (all, plan) = (plan(1, 6), plan(3, 2));
    let one = assemble(&all, &[part(&all, 0, (0..6).map(worker).collect())]);
    let of_agent = |agent| part(&plan, agent, vec![worker(agent), worker(agent + 3)]);
    let several = assemble(&plan, &[0, 1, 2].map(of_agent));
    let (several_figures, one_figures) = (figures(&several), figures(&one));
    for (name, figure) in one_figures.as_object().unwrap() {
        assert!(several_figures[name] == *figure, "{name} differs");
    }
    assert_eq!(several.load.threads, 6);
    let timeline = several.timeline.unwrap();
    assert_eq!(timeline.ok.len(), 400, "intervals of 20 ms");
    assert!(timeline.errors.iter().sum::<u64>() > 0);
    for slow in timeline.slow {
        assert!(slow.count.iter().any(|&it| it > 0));
    }
}

#[test]
fn the_limited_agent_is_named() {
    let plan = plan(3);
    let with = |busy: [f64; 3]| {
        let parts = [0, 1, 2].map(|at| part(&plan, at, vec![worker(&[1000], 1, busy[at])]));
        let all = assemble(&plan, &parts).generator;
        assert_eq!(all.client_limited, all.client_limited_by.is_some());
        let alone = |part| assemble(&plan, &[part]).generator.client_limited;
        (all.client_limited_by, parts.map(alone))
    };
    assert_eq!(with([0.5; 3]), (None, [false; 3]));
    let one = Some("agent 1 of 3: a thread was 95 % busy".to_owned());
    assert_eq!(with([0.5, 0.95, 0.5]), (one, [false, true, false]));
    let two = Some("agent 0 and 1 more of 3: a thread was 93 % busy".to_owned());
    assert_eq!(with([0.93, 0.5, 0.99]), (two, [true, false, true]));
}

#[test]
fn an_agent_that_its_cpu_quota_stopped_is_named() {
    let plan = plan(2);
    let mut parts = [0, 1].map(|at| part(&plan, at, vec![worker(&[1000], 1, 0.15)]));
    let mut stop_for = |throttled_s| {
        parts[1].throttled = Some(Throttled {
            quota_cpus: 0.15,
            periods: 10,
            throttled_periods: 9,
            throttled_s,
        });
        assemble(&plan, &parts).generator
    };
    let limited = stop_for(0.6);
    let evidence =
        "agent 1 of 2: a CPU quota of 0.15 CPUs stopped it in 9 of 10 periods, for 600 ms";
    assert_eq!(limited.client_limited_by.as_deref(), Some(evidence));
    assert_eq!(limited.throttled.unwrap().throttled_periods, 9);
    // Too short a time to show in the figures.
    let free = stop_for(0.005);
    assert_eq!(free.client_limited_by, None);
    assert!(free.throttled.is_some());
}

#[test]
fn a_result_takes_some_kilobytes() {
    let plan = plan(1);
    // The latter has errors, and slow responses of every length.
    for (what, count, range, seconds, most) in [
        ("a plain load", 50_000, 5.0..7.0, 10, 40_000),
        ("a load of all kinds", 200_000, 4.0..10.0, 60, 100_000),
    ] {
        let worker = worker(&random_latencies(1, count, range), seconds, 0.5);
        let part = PartResult::of(&plan, 0, vec![worker], None);
        let text = serde_json::to_string(&part).unwrap();
        assert!(text.len() < most, "{what}: {} bytes", text.len());
    }
}

#[test]
fn nonsense_is_an_error_or_a_number_but_never_a_panic() {
    let plan = plan(2);
    let workers = |agent| vec![worker(&random_latencies(agent, 500, 4.0..9.0), 2, 0.5)];
    let honest = serde_json::to_string(&part(&plan, 1, workers(2))).unwrap();
    let document = serde_json::to_value(part(&plan, 0, workers(1))).unwrap();
    let all = places(&document, 3);
    assert!(all.len() > 80, "{all:?}");
    let lies = [
        json!(u64::MAX),
        json!(-1),
        json!(1e300),
        json!(null),
        json!("9".repeat(1000)),
        json!([u64::MAX, u64::MAX]),
        json!(vec![u64::MAX; 2000]),
        json!([[200, u64::MAX], [65535, 1]]),
        json!({}),
    ];
    let mut read = 0;
    for place in &all {
        for lie in &lies {
            let mut document = document.clone();
            *document.pointer_mut(place).unwrap() = lie.clone();
            let text = document.to_string();
            let Ok(part) = serde_json::from_str::<PartResult>(&text) else {
                continue;
            };
            read += 1;
            let _ = part.check(&plan, 0);
            let again: PartResult = serde_json::from_str(&text).unwrap();
            let honest: PartResult = serde_json::from_str(&honest).unwrap();
            let result = assemble(&plan, &[part, again, honest]);
            let shown = serde_json::to_string(&result).unwrap();
            let again: Result<LoadResult, _> = serde_json::from_str(&shown);
            assert!(again.is_ok(), "{place} = {lie}: {:?}", again.err());
        }
    }
    assert!(read > 50, "{read}");
}

#[test]
fn only_what_shows_in_the_generator_limits_it() {
    let plan = plan(1);
    let busy = "a thread was 95 % busy";
    let ports = "connections waited 1152 times for a free local port";
    let starved =
        "a thread waited for a CPU for 30 % of the time, and was 315 ms behind schedule at the end";
    for (cpu, waited_s, behind_ms, port_waits, evidence) in [
        (0.5, 0.0, 0, 0, None),
        // A saturated server, whatever the schedule says.
        (0.15, 0.05, 315, 0, None),
        (0.95, 0.0, 0, 0, Some(busy)),
        // It kept its schedule.
        (0.15, 0.3, 0, 0, None),
        (0.15, 0.3, 315, 0, Some(starved)),
        (0.15, 0.0, 0, 1152, Some(ports)),
        (0.95, 0.3, 315, 1152, Some(&*format!("{busy}; {ports}"))),
    ] {
        let mut worker = worker(&[1000, 1000], 1, cpu);
        worker.figures.measured.tally.schedule.behind_by = behind_ms * 1_000_000;
        worker.figures.measured.cost.scheduling = Some(Scheduling {
            run_queue_wait_s: waited_s,
            ..Scheduling::default()
        });
        worker.connections.port_waits = port_waits;
        let generator = assemble(&plan, &[part(&plan, 0, vec![worker])]).generator;
        assert_eq!(generator.client_limited_by.as_deref(), evidence);
    }
}
