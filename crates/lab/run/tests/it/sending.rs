//! Sends the requests of a workload to a server, and compares the responses.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use prony_load::{Conversation, EncodedTraffic, EventLoopChoice, LoadPlan, SampleChoice, Sampling};
use prony_model::{LoadResult, Seconds};
use prony_run::{Files, PreparedRequest, Workload};
use prony_traffic::{Expected, Response};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Calls `test` for each version of HTTP, as a workload writes it, and each event loop.
pub(crate) fn every_way(mut test: impl FnMut(&str, EventLoopChoice)) {
    for protocol in ["http/1.1", "h2"] {
        for event_loop in [EventLoopChoice::IoUring, EventLoopChoice::Epoll] {
            test(protocol, event_loop);
        }
    }
}

/// The request of a workload whose files are in `folder`, and the response that it expects.
pub(crate) fn prepared(
    workload: &Workload,
    folder: &Path,
) -> Result<(PreparedRequest, Expected), String> {
    let files = Files::new(folder, folder);
    let exchange = workload.exchange().unwrap();
    let request = PreparedRequest::new(exchange, &files).map_err(|error| error.to_string())?;
    let expected = exchange.expected_of(&request, &files).unwrap();
    Ok((request, expected))
}

/// A load of the workload, some of whose responses are compared; `change` changes its plan.
pub(crate) fn load(
    (workload, folder): (&Workload, &Path),
    server: SocketAddr,
    choice: SampleChoice,
    change: impl FnOnce(LoadPlan) -> LoadPlan,
) -> LoadResult {
    let (request, check) = prepared(workload, folder).unwrap();
    let (url, request) = request.encode(&server.to_string()).unwrap();
    let plan = change(LoadPlan::new(server.into(), url, request).with(|plan| {
        plan.load.timeout = Seconds(TIMEOUT);
        plan.sampling = Some(Sampling {
            check: Arc::new(check),
            choice,
        });
    }));
    prony_load::run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

/// The responses to a number of requests, one after the other, and the number of connections that they took.
pub(crate) fn converse(
    request: &PreparedRequest,
    server: SocketAddr,
    requests: usize,
) -> (Vec<Response>, u64) {
    let (_, request) = request.encode(&server.to_string()).unwrap();
    let endpoint = server.into();
    let sent = EncodedTraffic::of(&request).unwrap();
    let mut conversation = Conversation::new(&endpoint, &sent, None, TIMEOUT);
    let responses = (0..requests).map(|_| conversation.request().unwrap());
    let responses = responses.collect();
    (responses, conversation.connections())
}
