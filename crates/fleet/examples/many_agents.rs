//! How a fleet of many local agents behaves: the time of its launch, its clocks, its start and its results.
//!
//!     cargo build --release -p prony-fleet --bin prony-agent
//!     cargo run --release -p prony-fleet --example many_agents -- target/release/prony-agent 50 100 200 400

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use prony_fleet::{Fleet, Limits, Local};
use prony_load::{LoadPlan, LoadRunner, PartResult, Start, assemble, run_part};
use prony_model::{Arrivals, LoadShape, Outcome, Schedule, Seconds};
use prony_reference::{Config, Server, Work};
use prony_traffic::{HttpUrl, RequestParts};

/// Requests per second of each agent.
const RATE: f64 = 5.0;
/// How long to measure.
const DURATION: Duration = Duration::from_secs(5);

fn main() {
    let mut words = std::env::args().skip(1);
    let program = PathBuf::from(words.next().expect("the path of prony-agent"));
    let counts: Vec<usize> = words
        .map(|word| word.parse().expect("a number of agents"))
        .collect();
    let plan = plan();
    println!(
        "| agents | launch ms | round trip µs: best, worst | whole load beyond {} s, ms | requests (due) | start lag µs: median, worst | memory of the fleet MiB | result of a busy agent KiB | reading as many ms | merging them ms |",
        DURATION.as_secs()
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for agents in counts {
        measure(&program, agents, &plan);
    }
}

/// A reference server in this process, and a load of it.
fn plan() -> LoadPlan {
    let config = Config {
        host: "127.0.0.1".into(),
        port: 0,
        cpus: NonZeroUsize::MIN,
        assets: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/assets"),
        work: Work::default(),
        tls: None,
    };
    let server = Server::bind(&config).expect("a server");
    let address = server.address();
    let log = File::create("/dev/null").expect("a log");
    thread::spawn(move || server.run(&log));
    let url: HttpUrl = format!("http://{address}/hello").parse().expect("a URL");
    let request = RequestParts::new("GET", &url, &[], b"").expect("a request");
    LoadPlan::new(address.into(), url.as_str(), request)
        .with(|plan| plan.load.duration = Some(Seconds(DURATION)))
}

fn measure(program: &Path, agents: usize, plan: &LoadPlan) {
    let plan = plan.clone().with(|plan| {
        plan.load.shape = LoadShape::Rate(Schedule::constant(Arrivals::Even, RATE * agents as f64));
        plan.load.connections = agents;
        plan.load.max_connections = Some(4 * agents);
        plan.agents = agents;
    });
    let limits = Limits {
        start_lag: Duration::from_secs(5),
        ..Limits::default()
    };
    let never = AtomicBool::new(false);
    let began = Instant::now();
    let local = Local::of(program);
    let fleet = Fleet::launch(&local, agents, limits, &never, &mut |_, _| {});
    let fleet = fleet.expect("a fleet");
    let launch = began.elapsed();
    let began = Instant::now();
    let result = fleet.run(&plan, &never, &mut |_| {}).expect("a result");
    let beyond = began.elapsed().saturating_sub(DURATION);
    let memory = resident_mib();
    let rows = result.fleet.expect("agents").agents;
    let sorted = |of: fn(&prony_model::AgentResult) -> u64| {
        let mut all: Vec<u64> = rows.iter().map(|agent| of(agent) / 1000).collect();
        all.sort_unstable();
        all
    };
    let (trips, lags) = (sorted(|it| it.round_trip_ns), sorted(|it| it.start_lag_ns));
    let (size, reading, merging) = merge(&plan);
    println!(
        "| {agents} | {} | {}, {} | {} | {} ({}) | {}, {} | {memory} | {} | {} | {} |",
        launch.as_millis(),
        trips[0],
        trips[agents - 1],
        beyond.as_millis(),
        result.outcomes[Outcome::Ok],
        RATE * agents as f64 * DURATION.as_secs_f64(),
        lags[agents / 2],
        lags[agents - 1],
        size / 1024,
        reading.as_millis(),
        merging.as_millis(),
    );
}

struct AtOnce;

impl Start for AtOnce {
    fn at(&self, _interrupt: &AtomicBool) -> Option<Instant> {
        Some(Instant::now())
    }
}

/// The size as JSON of the result of an agent that sends as fast as it can, and how long it takes to read and to merge as many as there are agents.
fn merge(plan: &LoadPlan) -> (usize, Duration, Duration) {
    let plan = &plan.clone().with(|plan| {
        plan.load.shape = LoadShape::Closed;
        plan.load.connections = 8 * plan.agents;
    });
    let never = AtomicBool::new(false);
    let part = run_part(plan, 0, &AtOnce, &never, &mut |_| {}).expect("a part");
    let text = serde_json::to_string(&part).expect("JSON");
    let began = Instant::now();
    let parts: Vec<PartResult> = (0..plan.agents)
        .map(|_| serde_json::from_str(&text).expect("a part"))
        .collect();
    let reading = began.elapsed();
    let began = Instant::now();
    assert!(assemble(plan, &parts).requests > 0);
    (text.len(), reading, began.elapsed())
}

/// The resident memory of this process.
fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}
