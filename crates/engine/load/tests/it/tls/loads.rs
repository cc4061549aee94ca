//! Loads over TLS and sockets, by both event loops.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use prony_load::tls::TlsSettings;
use prony_load::{EventLoopChoice, LoadPlan, Request, exchange};
use prony_model::{LoadResult, Outcome, Seconds};
use prony_testkit::{connections, contains};
use prony_traffic::RequestParts;
use rustls::StreamOwned;
use rustls::server::{ServerConfig, ServerConnection};
use rustls::version::{TLS12, TLS13};

use super::peer::{Certificate, client, response, server, server_of, trusted};
use crate::plans::{assert_outcome, even, load};

/// Far more than these loads need.
pub(super) const BOUNDED: Duration = Duration::from_secs(60);

pub(super) type TlsStream = StreamOwned<ServerConnection, std::net::TcpStream>;

/// Converses over each connection in a thread of its own until the test ends. An error is the end of a connection.
pub(super) fn serve(
    config: ServerConfig,
    converse: impl Fn(TlsStream) -> io::Result<()> + Clone + Send + 'static,
) -> SocketAddr {
    let config = Arc::new(config);
    connections::serve(move |stream| {
        let tls = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        converse(StreamOwned::new(tls, stream))
    })
}

/// Runs a load by each event loop, which must end by itself.
pub(super) fn by_each_loop(plan: impl Fn() -> LoadPlan) -> [LoadResult; 2] {
    [EventLoopChoice::Epoll, EventLoopChoice::IoUring].map(|event_loop| {
        let mut plan = plan().with(|plan| plan.here.event_loop = event_loop);
        plan.load.duration = plan.load.duration.or(Some(Seconds(BOUNDED)));
        load(&plan)
    })
}

fn request(method: &str, body: &[u8]) -> RequestParts {
    let url = "http://localhost/".parse().unwrap();
    RequestParts::new(method, &url, &[], body).unwrap()
}

#[test]
fn long_bodies_pass_both_ways() {
    let (certificate, long) = (Certificate::new(), vec![b'x'; 300_000]);
    let (request, response) = (request("POST", &long), response(&long));
    let received = Request::of(&request).bytes().to_vec();
    let address = serve(server(&certificate), move |mut stream| {
        let mut received = received.clone();
        loop {
            stream.read_exact(&mut received)?;
            stream.write_all(&response)?;
            stream.flush()?;
        }
    });
    let results = by_each_loop(|| {
        anonymous(&certificate, address).with(|plan| {
            plan.load.connections = 3;
            plan.load.max_connections = Some(3);
            plan.load.threads = 2;
            plan.load.requests = Some(30);
            plan.request = request.clone().into();
        })
    });
    for result in results {
        assert_outcome(&result, Outcome::Ok, 30);
    }
}

/// A load of a server that responds at once, by a client with these settings.
fn with_settings(certificate: &Certificate, settings: &TlsSettings) -> LoadPlan {
    let address = serve_late(server(certificate), Duration::ZERO, Duration::ZERO);
    anonymous(certificate, address).with(|plan| {
        plan.tls = Some(client(settings));
        plan.load.requests = Some(30);
    })
}

#[test]
fn connections_that_follow_one_another_resume() {
    let certificate = Certificate::new();
    for resumes in [false, true] {
        let settings = TlsSettings {
            resumes,
            ..trusted(&certificate)
        };
        let results = by_each_loop(|| {
            with_settings(&certificate, &settings)
                .with(|plan| plan.load.requests_per_connection = Some(1))
        });
        for result in results {
            assert_outcome(&result, Outcome::Ok, 30);
            let tls = result.tls.unwrap();
            let expected = if resumes { (1, 29) } else { (30, 0) };
            assert_eq!((tls.full.count, tls.resumed.count), expected);
            assert_eq!(tls.version.as_deref(), Some("1.3"));
        }
    }
}

#[test]
fn a_server_that_is_not_trusted_gets_no_request() {
    let (certificate, other) = (Certificate::new(), Certificate::new());
    // After each failure the connection pauses.
    let results = by_each_loop(|| {
        with_settings(&certificate, &trusted(&other)).with(|plan| plan.load.requests = Some(3))
    });
    for result in results {
        assert_outcome(&result, Outcome::TlsFailure, 3);
        let detail = result.first_wrong.unwrap().detail;
        contains(&detail, "self-signed or from an unknown issuer");
    }
}

/// Shakes hands after `handshake`, and responds to each request after `each`.
fn serve_late(config: ServerConfig, handshake: Duration, each: Duration) -> SocketAddr {
    serve(config, move |mut stream| {
        thread::sleep(handshake);
        // One request is one record.
        while stream.read(&mut [0; 1024]).is_ok_and(|length| length > 0) {
            thread::sleep(each);
            stream.write_all(&response(b"ok"))?;
            stream.flush()?;
        }
        // The client reads the alert, if there is one, before the end.
        stream.sock.read_to_end(&mut Vec::new()).map(drop)
    })
}

/// One connection to that server, which proves nothing of itself.
pub(super) fn anonymous(certificate: &Certificate, address: SocketAddr) -> LoadPlan {
    LoadPlan::new(address.into(), "http://localhost/", request("GET", b"")).with(|plan| {
        plan.load.connections = 1;
        plan.load.max_connections = Some(1);
        plan.load.threads = 1;
        plan.load.timeout = Seconds::from_secs(20);
        plan.tls = Some(client(&trusted(certificate)));
    })
}

#[test]
fn a_client_that_is_refused_after_its_handshake_pauses() {
    let (certificate, own) = (Certificate::new(), Certificate::new());
    for version in [&TLS12, &TLS13] {
        let config = server_of(&certificate, &[version], Some(&own));
        let address = serve_late(config, Duration::ZERO, Duration::ZERO);
        let results = by_each_loop(|| {
            anonymous(&certificate, address).with(|plan| plan.load.requests = Some(4))
        });
        for result in results {
            assert_outcome(&result, Outcome::TlsFailure, 4);
            contains(&result.first_wrong.unwrap().detail, "certificate");
            // The pauses between them are 10, 20 and 40 ms.
            assert!(result.duration_s >= 0.07, "{}", result.duration_s);
            // With TLS 1.3 the client is done before the server refuses it: that is no handshake to measure.
            if std::ptr::eq(version, &TLS13) {
                let tls = result.tls.unwrap();
                assert_eq!((tls.full.count, tls.resumed.count), (0, 0));
                assert_eq!(tls.version.as_deref(), Some("1.3"));
            }
        }
    }
}

/// A rate that is too much for one connection to that server: some of its 300 requests are shed.
fn shedding(certificate: &Certificate, address: SocketAddr) -> LoadPlan {
    anonymous(certificate, address).with(|plan| {
        plan.load.shape = even(200.0);
        plan.load.deadline = Some(Seconds::from_millis(50));
        plan.load.requests = Some(300);
    })
}

#[test]
fn a_deadline_shorter_than_the_handshake_does_not_prevent_it() {
    let certificate = Certificate::new();
    let (handshake, each) = (Duration::from_millis(100), Duration::from_millis(10));
    let address = serve_late(server(&certificate), handshake, each);
    // The first connection is open when the load begins, but too slow for it.
    let results = by_each_loop(|| {
        shedding(&certificate, address).with(|plan| plan.load.max_connections = Some(2))
    });
    for result in results {
        assert!(result.outcomes[Outcome::Shed] > 0, "{:?}", result.outcomes);
        assert_eq!((result.connections_opened, result.reconnects), (2, 0));
        assert_eq!(result.tls.unwrap().full.count, 2);
    }
}

#[test]
fn a_connection_whose_first_request_was_shed_carries_another_one() {
    let certificate = Certificate::new();
    let handshake = Duration::from_millis(100);
    let address = serve_late(server(&certificate), handshake, Duration::ZERO);
    // Every connection but the first one opens only after the deadline of the request that it is opened for.
    let results = by_each_loop(|| {
        shedding(&certificate, address).with(|plan| {
            plan.load.max_connections = Some(4);
            plan.load.requests_per_connection = Some(1);
        })
    });
    for LoadResult { outcomes, .. } in results {
        let (shed, ok) = (outcomes[Outcome::Shed], outcomes[Outcome::Ok]);
        assert!(shed > 0 && ok > 2, "{outcomes:?}");
        assert_eq!(outcomes.total(), shed + ok);
    }
}

#[test]
fn a_close_notify_ends_the_connection_even_if_the_server_keeps_it_open() {
    let certificate = Certificate::new();
    for response in [
        &b"HTTP/1.1 200 OK\r\n\r\nuntil the end"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ] {
        let address = serve_one_each(server(&certificate), response);
        let plan = anonymous(&certificate, address).with(|plan| {
            plan.load.connections = 3;
            plan.load.max_connections = Some(3);
            plan.load.requests = Some(9);
        });
        for result in by_each_loop(|| plan.clone()) {
            assert_outcome(&result, Outcome::Ok, 9);
        }
        let (request, tls) = (request("GET", b"").into(), plan.tls.as_ref());
        let response = exchange(&address.into(), &request, tls, *plan.load.timeout);
        assert_eq!(response.unwrap().status, 200);
    }
}

/// Responds to the first request of each connection, says that nothing follows, and waits for the client to close.
fn serve_one_each(config: ServerConfig, response: &'static [u8]) -> SocketAddr {
    serve(config, move |mut stream| {
        // One request is one record.
        let _ = stream.read(&mut [0; 1024])?;
        stream.write_all(response)?;
        stream.flush()?;
        // A segment of its own, that crosses with the next request.
        thread::sleep(Duration::from_millis(1));
        stream.conn.send_close_notify();
        stream.flush()?;
        stream.sock.read_to_end(&mut Vec::new()).map(drop)
    })
}
