//! Loads for tests: three connections, a number of requests, no end by time.

use std::net::SocketAddr;
use std::time::Duration;

use prony_load::{HttpUrl, LoadPlan, Request};
use prony_record::LoadShape;

/// A load of `requests` requests on the server at that address.
pub fn plan_to(
    address: SocketAddr,
    method: &str,
    headers: &[&str],
    body: &[u8],
    requests: u64,
) -> LoadPlan {
    let url: HttpUrl = format!("http://{address}/path").parse().unwrap();
    let headers: Vec<String> = headers.iter().map(|&line| line.into()).collect();
    LoadPlan {
        address,
        url: url.as_str().into(),
        request: Request::new(method, &url, &headers, body).unwrap().into(),
        shape: LoadShape::Closed,
        connections: 3,
        threads: 2,
        duration: None,
        requests: Some(requests),
        warmup: Duration::ZERO,
        timeout: Duration::from_secs(20),
        cpus: Vec::new(),
        sampling: None,
    }
}
