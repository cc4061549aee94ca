//! Loads for tests: three connections, a number of requests, no end by time.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use http::Method;
use prony_load::{EventLoopChoice, LoadPlan, run};
use prony_model::{Arrivals, LoadResult, LoadShape, Outcome, Outcomes, Schedule, Seconds};
use prony_traffic::{HttpUrl, HttpVersion, RequestParts, Traffic};

/// A load of `requests` requests to the server at that address.
pub(crate) fn plan_to(
    event_loop: EventLoopChoice,
    address: SocketAddr,
    method: &str,
    headers: &[&str],
    body: &[u8],
    requests: u64,
) -> LoadPlan {
    let url: HttpUrl = format!("http://{address}/path").parse().unwrap();
    let headers: Vec<String> = headers.iter().map(|&line| line.into()).collect();
    let request = RequestParts::new(method, &url, &headers, body).unwrap();
    LoadPlan::new(address.into(), url.as_str(), request).with(|plan| {
        plan.load.connections = 3;
        plan.load.max_connections = Some(3);
        plan.load.threads = 2;
        plan.load.requests = Some(requests);
        plan.load.timeout = Seconds::from_secs(20);
        plan.here.event_loop = event_loop;
    })
}

/// The same with GET, without a body.
pub(crate) fn get_from(
    event_loop: EventLoopChoice,
    address: SocketAddr,
    requests: u64,
) -> LoadPlan {
    plan_to(event_loop, address, "GET", &[], b"", requests)
}

/// The same over HTTP/2 in the clear.
pub(crate) fn http2_plan_to(
    event_loop: EventLoopChoice,
    address: SocketAddr,
    method: Method,
    body: &[u8],
    requests: u64,
) -> LoadPlan {
    let url = format!("http://{address}/path").parse().unwrap();
    let request = RequestParts::new(method.as_str(), &url, &[], body).unwrap();
    get_from(event_loop, address, requests)
        .with(|plan| plan.request = Traffic::requests(request, HttpVersion::Http2).unwrap())
}

/// The same over one connection.
pub(crate) fn over_one_connection(plan: LoadPlan) -> LoadPlan {
    plan.with(|plan| {
        plan.load.connections = 1;
        plan.load.max_connections = Some(1);
        plan.load.threads = 1;
    })
}

/// A rate, at even intervals.
pub(crate) fn even(per_s: f64) -> LoadShape {
    LoadShape::Rate(Schedule::constant(Arrivals::Even, per_s))
}

/// One load of each kind; the last three have arrivals or think times of that many seconds on average.
pub(crate) fn shapes(mean_s: f64) -> [LoadShape; 4] {
    let think_time = Seconds::try_from(mean_s).unwrap();
    [
        LoadShape::Closed,
        even(1.0 / mean_s),
        LoadShape::UsersClosed { think_time },
        LoadShape::UsersOpen { think_time },
    ]
}

/// Runs a load, and checks what holds for each.
pub(crate) fn load(plan: &LoadPlan) -> LoadResult {
    let result = run(plan, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert_eq!(result.requests, result.outcomes.total());
    assert!(result.reconnects <= result.connections_opened, "{result:?}");
    result
}

/// That many requests had this outcome.
#[track_caller]
pub(crate) fn assert_outcome(result: &LoadResult, outcome: Outcome, count: u64) {
    let (outcomes, wrong) = (&result.outcomes, &result.first_wrong);
    assert_eq!(outcomes[outcome], count, "{outcomes:?}, {wrong:?}");
}

/// The outcomes that some requests had: `3 ok and 1 reset`.
pub(crate) fn summary(outcomes: &Outcomes) -> String {
    let counts = outcomes.iter().filter(|(_, count)| *count > 0);
    let counts = counts.map(|(outcome, count)| format!("{count} {}", outcome.name()));
    counts.collect::<Vec<_>>().join(" and ")
}

/// These are the outcomes of all requests.
#[track_caller]
pub(crate) fn assert_outcomes(result: &LoadResult, expected: &str) {
    let wrong = &result.first_wrong;
    assert_eq!(summary(&result.outcomes), expected, "{wrong:?}");
}
