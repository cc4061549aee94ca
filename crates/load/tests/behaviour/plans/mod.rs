//! Loads for tests: three connections, a number of requests, no end by time.

use std::net::SocketAddr;
use std::time::Duration;

use http::Method;
use prony_load::wire::h2::StreamRequest;
use prony_load::{HttpUrl, LoadPlan, Request, WireRequest};

/// A load of `requests` requests to the server at that address.
pub fn plan_to(
    address: SocketAddr,
    method: &str,
    headers: &[&str],
    body: &[u8],
    requests: u64,
) -> LoadPlan {
    let url: HttpUrl = format!("http://{address}/path").parse().unwrap();
    let headers: Vec<String> = headers.iter().map(|&line| line.into()).collect();
    let request = Request::new(method, &url, &headers, body).unwrap();
    LoadPlan {
        connections: 3,
        max_connections: 3,
        threads: 2,
        requests: Some(requests),
        timeout: Duration::from_secs(20),
        event_loop: crate::EVENT_LOOP,
        ..LoadPlan::new(address.into(), url.as_str(), request)
    }
}

/// The same over HTTP/2 in the clear, with GET.
pub fn http2_plan_to(address: SocketAddr, requests: u64) -> LoadPlan {
    let authority = address.to_string();
    let request = StreamRequest::http(&Method::GET, "http", &authority, "/path", &[], b"");
    LoadPlan {
        request: WireRequest::from(request.unwrap()).into(),
        ..plan_to(address, "GET", &[], b"", requests)
    }
}
