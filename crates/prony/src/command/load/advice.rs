//! What helps if every request of a load failed for a reason that Prony can find.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use prony_load::{LoadPlan, exchange};
use prony_model::{Ended, LoadResult, LoadSpec, Outcome, Protocol, Seconds};
use prony_run::run::other_scheme;
use prony_traffic::{HttpUrl, HttpVersion, RequestParts, Response, Scheme, Traffic};

use crate::tls::{Offered, SPEAKS_TLS};

/// What helps, if every request failed for a reason that Prony can find. It asks the server if it speaks TLS or HTTP/2, or
/// streams events.
pub(super) fn advice(
    plan: &LoadPlan,
    result: &LoadResult,
    offered: Option<Offered>,
) -> Option<&'static str> {
    if result.ended == Ended::Interrupted || result.outcomes[Outcome::Ok] > 0 {
        return None;
    }
    let of_connection = match offered {
        // With TLS 1.3 the server refuses a client without a certificate when the handshake is over, so during the load.
        Some(offered) => {
            let first = result.first_wrong.as_ref();
            first.and_then(|first| offered.certificate_advice_on(&first.detail))
        }
        None => of_protocol(plan, result),
    };
    of_connection.or_else(|| of_event_stream(plan, result))
}

/// Over plain HTTP, a server that speaks TLS, or HTTP/2 alone, closes the connection, sends something else, or responds
/// with 400.
fn of_protocol(plan: &LoadPlan, result: &LoadResult) -> Option<&'static str> {
    let are_bad_requests = result.statuses.keys().eq([&400]);
    let broke = [Outcome::Malformed, Outcome::Reset, Outcome::Truncated];
    let did_break = broke
        .into_iter()
        .any(|outcome| result.outcomes[outcome] > 0);
    if !are_bad_requests && !did_break {
        return None;
    }
    if other_scheme(&plan.endpoint, Scheme::Http, *plan.load.timeout).is_some() {
        return Some(SPEAKS_TLS);
    }
    // A server that responded over HTTP/1.1 understands it, even if it refused every request.
    let may_lack_http1 = result.target.protocol == Protocol::Http11 && result.statuses.is_empty();
    let response = may_lack_http1.then(|| response_over_http2(plan)).flatten();
    response.map(|_| "the server speaks HTTP/2: use --http2")
}

/// A stream of events that never ends is no response: each request for it runs into its timeout, or the end of the load.
fn of_event_stream(plan: &LoadPlan, result: &LoadResult) -> Option<&'static str> {
    let endless = result.outcomes[Outcome::TimedOut] + result.outcomes[Outcome::Unfinished];
    let is_one_request = result.flows.is_none() && !result.target.protocol.is_grpc();
    if plan.load.events || !is_one_request || endless == 0 || endless < result.outcomes.total() {
        return None;
    }
    streams_events(plan)
        .then_some("the server streams events: use --streams, or --sse if the streams end")
}

/// How long an event stream may take to its first events.
const EVENTS_WITHIN: Duration = Duration::from_secs(1);

fn streams_events(plan: &LoadPlan) -> bool {
    let one = LoadPlan {
        load: LoadSpec {
            duration: Some(Seconds(EVENTS_WITHIN)),
            requests: Some(1),
            timeout: Seconds(EVENTS_WITHIN),
            seed: plan.load.seed,
            events: true,
            ..LoadSpec::default()
        },
        agents: 1,
        overtime: false,
        sampling: None,
        ..plan.clone()
    };
    let found = prony_load::run(&one, &AtomicBool::new(false), &mut |_| ());
    let events = found.ok().and_then(|found| found.events);
    events.is_some_and(|events| events.count > 0)
}

/// How long a server may take to respond over HTTP/2.
const MOST_WAIT: Duration = Duration::from_secs(5);

/// Any response to a request that changes nothing shows that the server speaks HTTP/2.
fn response_over_http2(plan: &LoadPlan) -> Option<Response> {
    let url: HttpUrl = plan.url.parse().ok()?;
    let head = RequestParts::new("HEAD", &url, &[], b"").ok()?;
    let head = Traffic::requests(head, HttpVersion::Http2).ok()?;
    let longest = MOST_WAIT.min(*plan.load.timeout);
    exchange(&plan.endpoint, &head, None, longest).ok()
}
