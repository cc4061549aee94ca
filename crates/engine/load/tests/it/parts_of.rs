//! Runs a load as its agents do, each in a thread of its own, and sends their results through JSON.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Barrier, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use prony_load::{LoadPlan, PartResult, Progress, Start, assemble, run, run_part};
use prony_model::{LatencyHistogram, LoadResult, Outcomes};

/// Between the arrival of the last agent and the start.
const NOTICE: Duration = Duration::from_millis(30);
/// The result of a plain load must fit into a few lines of an agent's output.
const LONGEST_RESULT: usize = 60_000;

/// All agents start together, once all are there.
pub(crate) struct Together {
    barrier: Barrier,
    notice: Duration,
    start: OnceLock<Instant>,
}

impl Together {
    pub(crate) fn of(agents: usize, notice: Duration) -> Self {
        Self {
            barrier: Barrier::new(agents),
            notice,
            start: OnceLock::new(),
        }
    }

    /// The instant, once it is known.
    pub(crate) fn instant(&self) -> Option<Instant> {
        self.start.get().copied()
    }
}

impl Start for Together {
    fn at(&self, _: &AtomicBool) -> Option<Instant> {
        self.barrier.wait();
        Some(*self.start.get_or_init(|| Instant::now() + self.notice))
    }
}

/// Runs the parts of a load: agent `i` has the `i`th plan, which is another only if agents must not share a scenario.
pub(crate) fn run_parts(plans: &[LoadPlan], start: &dyn Start) -> Vec<PartResult> {
    run_parts_until(plans, start, &AtomicBool::new(false), &|_, _| {})
}

/// Sees the progress of each agent.
type Observe<'a> = &'a (dyn Fn(usize, Progress) + Sync);

fn run_parts_until(
    plans: &[LoadPlan],
    start: &dyn Start,
    interrupt: &AtomicBool,
    observe: Observe<'_>,
) -> Vec<PartResult> {
    thread::scope(|scope| {
        let agents: Vec<_> = plans
            .iter()
            .enumerate()
            .map(|(agent, plan)| {
                let mut observe = move |progress| observe(agent, progress);
                scope.spawn(move || run_part(plan, agent, start, interrupt, &mut observe).unwrap())
            })
            .collect();
        agents
            .into_iter()
            .map(|agent| agent.join().unwrap())
            .collect()
    })
}

/// As the fleet reads it.
pub(crate) fn through_json(part: &PartResult) -> PartResult {
    serde_json::from_str(&serde_json::to_string(part).unwrap()).unwrap()
}

/// Runs a load in one process, or in as many agents as there are plans, and checks that their parts add up to the whole.
pub(crate) fn load(plans: &[LoadPlan], name: &str) -> LoadResult {
    load_until(plans, name, &AtomicBool::new(false), &|_, _| {})
}

/// The same, of one thread per agent, interrupted when `is_enough` has said so and the agents have received what they could
/// at that time: each has published its progress twice since then.
pub(crate) fn interrupted_load(
    plans: &[LoadPlan],
    name: &str,
    is_enough: impl Fn() -> bool + Send,
) -> LoadResult {
    assert!(plans.iter().all(|plan| plan.load.threads == 1));
    let (interrupt, is_over) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let published: Vec<AtomicU64> = plans.iter().map(|_| AtomicU64::new(0)).collect();
    let published = &published;
    let now = move || -> Vec<u64> { published.iter().map(|at| at.load(SeqCst)).collect() };
    let observe = |agent: usize, progress: Progress| {
        published[agent].store(progress.at_s.to_bits(), SeqCst);
    };
    thread::scope(|scope| {
        scope.spawn(move || {
            let give_up = Instant::now() + Duration::from_secs(60);
            let wait_until = |holds: &dyn Fn() -> bool| {
                while !is_over.load(SeqCst) && !holds() && Instant::now() < give_up {
                    thread::sleep(Duration::from_millis(1));
                }
            };
            wait_until(&is_enough);
            for _ in 0..2 {
                let before = now();
                wait_until(&|| before.iter().zip(now()).all(|(before, now)| *before != now));
            }
            interrupt.store(true, SeqCst);
        });
        let result = load_until(plans, name, interrupt, &observe);
        is_over.store(true, SeqCst);
        result
    })
}

fn load_until(
    plans: &[LoadPlan],
    name: &str,
    interrupt: &AtomicBool,
    observe: Observe<'_>,
) -> LoadResult {
    let plan = &plans[0];
    if plan.agents == 1 {
        return run(plan, interrupt, &mut |progress| observe(0, progress)).unwrap();
    }
    assert_eq!(plans.len(), plan.agents, "{name}");
    let start = Together::of(plan.agents, NOTICE);
    let parts = run_parts_until(plans, &start, interrupt, observe);
    let parts: Vec<_> = parts.iter().map(through_json).collect();
    for (agent, part) in parts.iter().enumerate() {
        assert_eq!(part.check(plan, agent), Ok(()), "{name}");
        let length = serde_json::to_string(part).unwrap().len();
        assert!(length < LONGEST_RESULT, "{name}: {length} bytes");
    }
    let whole = assemble(plan, &parts);
    check_sums(plan, &parts, &whole, name);
    whole
}

fn check_sums(plan: &LoadPlan, parts: &[PartResult], whole: &LoadResult, name: &str) {
    let rows: Vec<LoadResult> = parts
        .iter()
        .map(|part| assemble(plan, std::slice::from_ref(part)))
        .collect();
    let sum = |of: &dyn Fn(&LoadResult) -> u64| rows.iter().map(of).sum::<u64>();
    let mut outcomes = Outcomes::default();
    let mut latencies = LatencyHistogram::new();
    for row in &rows {
        outcomes.merge(&row.outcomes);
        latencies.merge(&LatencyHistogram::from_base64(&row.histogram).unwrap());
    }
    assert_eq!(outcomes, whole.outcomes, "{name}");
    assert_eq!(latencies.to_base64(), whole.histogram, "{name}");
    for (what, of) in [
        ("requests", (|it| it.requests) as fn(&LoadResult) -> u64),
        ("bytes read", |it| it.bytes_read),
        ("bytes written", |it| it.bytes_written),
        ("connections", |it| it.connections_opened),
        ("statuses", |it| it.statuses.values().sum()),
        ("system calls", |it| it.generator.system_calls),
        ("due", |it| it.open.as_ref().map_or(0, |open| open.due)),
        ("flows", |it| it.flows.as_ref().map_or(0, |flows| flows.ok)),
    ] {
        assert_eq!(sum(&of), of(whole), "{name}: {what}");
    }
    let longest = rows.iter().map(|row| row.duration_s).fold(0.0, f64::max);
    assert_eq!(whole.duration_s, longest, "{name}");
    let given: u64 = parts.iter().map(PartResult::connections).sum();
    assert_eq!(given, plan.load.connections as u64, "{name}");
    let threads = plan.load.threads * plan.agents;
    assert_eq!(whole.load.threads, threads, "{name}");
}
