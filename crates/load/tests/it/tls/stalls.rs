//! Servers that stall handshakes or break connections in the middle of a response, in loads by both event loops.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use prony_load::tls::{HttpVersion, Offer};
use prony_load::{LoadPlan, negotiate, run};
use prony_model::{Arrivals, LoadResult, LoadShape, Outcome, Schedule};
use rustls::ContentType;
use rustls::version::{TLS12, TLS13};

use super::loads::{LOOPS, TlsStream, anonymous, serve};
use super::peer::{Certificate, response};
use super::sealer::{HELLO_REQUEST, INTERNAL_ERROR, Sealer};

const TIMEOUT: Duration = Duration::from_millis(200);
/// Far more than these loads need.
const BOUNDED: Duration = Duration::from_secs(60);

/// Runs a load that must end by itself.
fn load(mut plan: LoadPlan) -> LoadResult {
    plan.duration = plan.duration.or(Some(BOUNDED));
    run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

/// Shakes hands over its first connection only, and reads nothing from the others until they are closed.
fn serve_one_handshake(certificate: &Certificate) -> SocketAddr {
    let connections = Arc::new(AtomicU64::new(0));
    serve(certificate.server(), move |mut stream| {
        if connections.fetch_add(1, SeqCst) == 0 {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        stream.sock.read_to_end(&mut Vec::new()).map(drop)
    })
}

/// A load of a server that has finished the handshake of the negotiation, and finishes no other.
fn stalled(certificate: &Certificate) -> LoadPlan {
    let address = serve_one_handshake(certificate);
    let client = certificate.trusted().client("localhost", Offer::Both);
    let chosen = negotiate(&address.into(), &client.unwrap(), BOUNDED).unwrap();
    assert_eq!(chosen, HttpVersion::Http1);
    LoadPlan {
        connections: 2,
        max_connections: 2,
        timeout: TIMEOUT,
        ..anonymous(certificate, address)
    }
}

#[test]
fn requests_whose_handshake_stalls_time_out() {
    let certificate = Certificate::new();
    for event_loop in LOOPS {
        let result = load(LoadPlan {
            requests: Some(6),
            event_loop,
            ..stalled(&certificate)
        });
        assert_eq!(
            result.outcomes[Outcome::TimedOut],
            6,
            "{:?}",
            result.outcomes
        );
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
    for event_loop in LOOPS {
        let result = load(LoadPlan {
            shape: LoadShape::Rate(Schedule::constant(Arrivals::Even, 100.0)),
            duration: Some(Duration::from_millis(500)),
            timeout: Duration::from_millis(50),
            event_loop,
            ..stalled(&certificate)
        });
        let outcomes = &result.outcomes;
        assert!(outcomes[Outcome::TimedOut] > 0, "{outcomes:?}");
        assert_eq!(outcomes[Outcome::Ok], 0, "{outcomes:?}");
        let lost = outcomes[Outcome::TimedOut] + outcomes[Outcome::Unfinished];
        assert_eq!(outcomes.total(), lost, "{outcomes:?}");
        let detail = result.first_wrong.unwrap().detail;
        assert!(detail.ends_with(" within 50ms"), "{detail}");
    }
}

const HELLO: &[u8] = b"hello";

/// Sends half a response, and then does something else.
fn serve_half(config: rustls::ServerConfig, then: fn(&mut Sealer, &[u8]) -> Vec<u8>) -> SocketAddr {
    serve(config, move |mut stream: TlsStream| -> io::Result<()> {
        // One request is one record.
        let _ = stream.read(&mut [0; 1024])?;
        let response = response(HELLO);
        let (first, rest) = response.split_at(response.len() - 3);
        stream.write_all(first)?;
        stream.flush()?;
        let (tls, mut socket) = stream.into_parts();
        socket.write_all(&then(&mut Sealer::of(tls), rest))?;
        socket.read_to_end(&mut Vec::new()).map(drop)
    })
}

/// Three requests to that server, each over a connection of its own.
fn load_half(
    version: &'static rustls::SupportedProtocolVersion,
    then: fn(&mut Sealer, &[u8]) -> Vec<u8>,
    check: impl Fn(LoadResult),
) {
    let certificate = Certificate::new();
    let client = Sealer::client(&certificate).client("localhost", Offer::Only(HttpVersion::Http1));
    let address = serve_half(Sealer::server(&certificate, version), then);
    for event_loop in LOOPS {
        let result = load(LoadPlan {
            tls: Some(client.as_ref().unwrap().clone()),
            requests: Some(3),
            requests_per_connection: NonZeroU64::new(1),
            event_loop,
            ..anonymous(&certificate, address)
        });
        assert_eq!(result.outcomes.total(), 3, "{:?}", result.outcomes);
        check(result);
    }
}

fn fails(result: LoadResult, reason: &str) {
    let failures = result.outcomes[Outcome::TlsFailure];
    assert_eq!(failures, 3, "{:?}", result.outcomes);
    assert_eq!(result.first_wrong.unwrap().detail, reason);
}

#[test]
fn an_alert_in_the_middle_of_a_response_is_a_failure() {
    for version in [&TLS12, &TLS13] {
        load_half(
            version,
            |sealer, _| sealer.seal(ContentType::Alert, INTERNAL_ERROR),
            |result| {
                fails(
                    result,
                    "the server ended the TLS connection with the alert internal_error",
                )
            },
        );
    }
}

#[test]
fn a_renegotiation_in_the_middle_of_a_response_is_refused() {
    load_half(
        &TLS12,
        |sealer, rest| {
            let hello = sealer.seal(ContentType::Handshake, HELLO_REQUEST);
            [hello, sealer.seal(ContentType::ApplicationData, rest)].concat()
        },
        |result| assert_eq!(result.outcomes[Outcome::Ok], 3, "{:?}", result.first_wrong),
    );
}

#[test]
fn a_second_renegotiation_is_a_failure() {
    load_half(
        &TLS12,
        |sealer, _| {
            [(); 2]
                .map(|()| sealer.seal(ContentType::Handshake, HELLO_REQUEST))
                .concat()
        },
        |result| {
            let reason = "the server requested another renegotiation after Prony had refused one";
            fails(result, reason);
        },
    );
}
