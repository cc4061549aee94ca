//! Servers that stall handshakes or break connections in the middle of a response, in loads by both event loops.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use prony_load::tls::Offer;
use prony_load::{LoadPlan, negotiate};
use prony_model::{LoadResult, Outcome, Seconds};
use prony_traffic::HttpVersion;
use rustls::version::{TLS12, TLS13};
use rustls::{ContentType, ServerConfig};

use super::loads::{BOUNDED, TlsStream, anonymous, by_each_loop, serve};
use super::peer::{Certificate, client, response, server, trusted};
use super::sealer::{INTERNAL_ERROR, Sealer};
use crate::plans::{assert_outcome, even};

/// Shakes hands over its first connection only, and reads nothing from the others until they are closed.
fn serve_one_handshake(certificate: &Certificate) -> SocketAddr {
    let connections = Arc::new(AtomicU64::new(0));
    serve(server(certificate), move |mut stream| {
        if connections.fetch_add(1, SeqCst) == 0 {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        stream.sock.read_to_end(&mut Vec::new()).map(drop)
    })
}

/// A load of a server that has finished the handshake of the negotiation, and finishes no other.
fn stalled(certificate: &Certificate) -> LoadPlan {
    let address = serve_one_handshake(certificate);
    let client = trusted(certificate).client("localhost", Offer::Both);
    let chosen = negotiate(&address.into(), &client.unwrap(), BOUNDED).unwrap();
    assert_eq!(chosen, HttpVersion::Http1);
    anonymous(certificate, address).with(|plan| {
        plan.load.connections = 2;
        plan.load.max_connections = Some(2);
        plan.load.timeout = Seconds::from_millis(200);
    })
}

#[test]
fn requests_whose_handshake_stalls_time_out() {
    let certificate = Certificate::new();
    let results = by_each_loop(|| stalled(&certificate).with(|plan| plan.load.requests = Some(6)));
    for result in results {
        assert_outcome(&result, Outcome::TimedOut, 6);
        assert_eq!(result.outcomes.total(), 6);
        let detail = result.first_wrong.unwrap().detail;
        assert_eq!(detail, "no finished handshake within 200ms");
        let tls = result.tls.unwrap();
        assert_eq!((tls.full.count, tls.resumed.count), (0, 0));
    }
}

#[test]
fn a_rate_whose_handshakes_stall_ends_in_time() {
    let certificate = Certificate::new();
    let results = by_each_loop(|| {
        stalled(&certificate).with(|plan| {
            plan.load.shape = even(100.0);
            plan.load.duration = Some(Seconds::from_millis(500));
            plan.load.timeout = Seconds::from_millis(50);
        })
    });
    for LoadResult {
        outcomes,
        first_wrong,
        ..
    } in results
    {
        let lost = outcomes[Outcome::TimedOut] + outcomes[Outcome::Unfinished];
        let all_are_lost = outcomes[Outcome::TimedOut] > 0 && lost == outcomes.total();
        assert!(all_are_lost, "{outcomes:?}");
        let detail = first_wrong.unwrap().detail;
        assert!(detail.ends_with(" within 50ms"), "{detail}");
    }
}

/// Sends half a response, and then a fatal alert.
fn serve_half(config: ServerConfig) -> SocketAddr {
    serve(config, |mut stream: TlsStream| -> io::Result<()> {
        // One request is one record.
        let _ = stream.read(&mut [0; 1024])?;
        let response = response(b"hello");
        stream.write_all(&response[..response.len() - 3])?;
        stream.flush()?;
        let (tls, mut socket) = stream.into_parts();
        socket.write_all(&Sealer::of(tls).seal(ContentType::Alert, INTERNAL_ERROR))?;
        socket.read_to_end(&mut Vec::new()).map(drop)
    })
}

#[test]
fn an_alert_in_the_middle_of_a_response_is_a_failure() {
    let certificate = Certificate::new();
    for version in [&TLS12, &TLS13] {
        let address = serve_half(Sealer::server(&certificate, version));
        let results = by_each_loop(|| {
            anonymous(&certificate, address).with(|plan| {
                plan.tls = Some(client(&Sealer::client(&certificate)));
                plan.load.requests = Some(3);
                plan.load.requests_per_connection = Some(1);
            })
        });
        for result in results {
            assert_outcome(&result, Outcome::TlsFailure, 3);
            assert_eq!(result.outcomes.total(), 3);
            let reason = "the server ended the TLS connection with the alert internal_error";
            assert_eq!(result.first_wrong.unwrap().detail, reason);
        }
    }
}
