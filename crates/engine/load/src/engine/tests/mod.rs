//! What the engine decides by time, in simulated time: no test takes any, and all figures are exact.

mod deadlines;
mod events;
mod flows;
mod outages;
mod parts;
mod phases;
mod rates;
#[path = "../../../tests/it/scenarios.rs"]
mod scenarios;
pub(super) mod simulated;
mod users;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use prony_model::{
    Arrivals, LatencyHistogram, LoadResult, LoadShape, OpenLoop, Outcome, Schedule, Seconds,
};
use prony_traffic::RequestParts;

use self::simulated::{Arrival, ResponsePart, SimulatedServer};
use super::clock::Clock;
use super::event_loop::EventLoop;
use super::pacer::SharedBudget;
use super::part::PartResult;
use super::progress::WorkerProgress;
use super::records::Recording;
use super::result::assemble;
use super::start_line::StartLine;
use super::tcp_events::HostEvents;
use super::worker::Shared;
use super::worker_number::WorkerNumber;
use super::{FirstEventLoop, Unwired};
use crate::plan::LoadPlan;
use crate::request::EncodedTraffic;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const MS: u64 = 1_000_000;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Up to `connections` connections for a duration.
fn plan(shape: LoadShape, connections: usize, duration: Duration) -> LoadPlan {
    let address = SocketAddr::from(([127, 0, 0, 1], 80));
    let request = RequestParts::new("GET", &"http://a/".parse().unwrap(), &[], b"").unwrap();
    LoadPlan::new(address.into(), "http://a/", request).with(|plan| {
        plan.load.shape = shape;
        plan.load.connections = connections;
        plan.load.max_connections = Some(connections);
        plan.load.duration = Some(Seconds(duration));
    })
}

fn even(per_s: f64) -> LoadShape {
    LoadShape::Rate(Schedule::constant(Arrivals::Even, per_s))
}

fn users_closed(think_time: Seconds) -> LoadShape {
    LoadShape::UsersClosed { think_time }
}

/// A load of every shape, with that rate and that mean think time.
fn every_shape(per_s: f64, think_time: Seconds) -> [LoadShape; 4] {
    [
        LoadShape::Closed,
        even(per_s),
        LoadShape::UsersClosed { think_time },
        LoadShape::UsersOpen { think_time },
    ]
}

/// A server that responds after this number of milliseconds; `None` never does.
fn responding(
    after_ms: impl Fn(&Arrival<'_>) -> Option<u64> + 'static,
) -> (SimulatedServer, Clock) {
    SimulatedServer::new(Box::new(move |arrival| {
        let whole = |after| ResponsePart {
            after: after * MS,
            bytes: OK,
        };
        after_ms(arrival).map(whole).into_iter().collect()
    }))
}

/// Responds to every request after this number of milliseconds.
fn load(plan: &LoadPlan, after_ms: u64) -> LoadResult {
    let (server, clock) = responding(move |_| Some(after_ms));
    let arrived = server.requests();
    let result = run(plan, (server, clock));
    let warmup = result.warmup.as_ref();
    let warmup = warmup.map_or(0, |warmup| warmup.outcomes.total());
    let unsent = result.open.as_ref().map_or(0, |open| open.due - open.sent);
    let sent = result.requests - unsent + result.resent;
    assert_eq!(
        arrived.load(Relaxed),
        sent + warmup,
        "{:?}",
        result.outcomes
    );
    result
}

fn run(plan: &LoadPlan, (server, clock): (SimulatedServer, Clock)) -> LoadResult {
    plan.validate().unwrap();
    let (interrupt, progress) = (AtomicBool::new(false), WorkerProgress::default());
    let sent = EncodedTraffic::of(&plan.request).unwrap();
    let shared = Shared {
        plan,
        sent: &sent,
        clock,
        interrupt: &interrupt,
        progress: &progress,
        recording: Recording::default(),
    };
    let budget = SharedBudget::new(plan.load.requests);
    let line = StartLine::new(clock, 1, false);
    let number = WorkerNumber::of(plan, 0, 0);
    let worker = Unwired::new(shared, 0, number, &budget, line.place());
    let io = FirstEventLoop {
        io: EventLoop::Simulated(server),
        chooses_after: None,
    };
    let result = worker.run(io).unwrap();
    let part = PartResult::of(plan, 0, vec![result], HostEvents::since(None));
    let result = assemble(plan, &[part]);
    assert_eq!(result.requests, result.outcomes.total());
    let latencies = LatencyHistogram::from_base64(&result.histogram).unwrap();
    assert_eq!(latencies.count(), result.outcomes[Outcome::Ok]);
    result
}

/// The counts that are not zero.
fn outcomes(result: &LoadResult) -> Vec<(Outcome, u64)> {
    result.outcomes.iter().filter(|it| it.1 > 0).collect()
}

fn open(result: &LoadResult) -> &OpenLoop {
    result.open.as_ref().unwrap()
}

/// The shortest and the longest latency, within the 0.1 % of a histogram.
#[track_caller]
fn assert_latencies(result: &LoadResult, shortest_ms: u64, longest_ms: u64) {
    let latency = result.latency_ns.as_ref().unwrap();
    for (found, expected) in [(latency.min, shortest_ms), (latency.max, longest_ms)] {
        let (found, expected) = (found as f64, (expected * MS) as f64);
        assert!((found / expected - 1.0).abs() < 0.001, "{latency:?}");
    }
}
