//! Loads over TLS and sockets, by both event loops.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use prony_load::tls::{HttpVersion, Offer, TlsSettings};
use prony_load::{EventLoopChoice, HttpUrl, LoadPlan, Request, exchange, run};
use prony_model::{LoadResult, Outcome};
use rustls::StreamOwned;
use rustls::server::{ServerConfig, ServerConnection};

use super::peer::{Certificate, response};
use crate::plans::{assert_outcome, even};

pub const LOOPS: [EventLoopChoice; 2] = [EventLoopChoice::Epoll, EventLoopChoice::IoUring];

pub type TlsStream = StreamOwned<ServerConnection, TcpStream>;

/// Converses over each connection in a thread of its own until the test ends. An error is the end of a connection.
pub fn serve(
    config: ServerConfig,
    converse: impl Fn(TlsStream) -> io::Result<()> + Clone + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let config = Arc::new(config);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (config, converse) = (config.clone(), converse.clone());
            thread::spawn(move || {
                let tls = ServerConnection::new(config).map_err(io::Error::other)?;
                converse(StreamOwned::new(tls, stream?))
            });
        }
    });
    address
}

/// Responds with `body` when as many bytes as `request` has have arrived.
fn serve_at_once(config: ServerConfig, request: usize, body: &[u8]) -> SocketAddr {
    let response = response(body);
    serve(config, move |mut stream| {
        stream.sock.set_nodelay(true)?;
        let mut bytes = vec![0; request];
        loop {
            stream.read_exact(&mut bytes)?;
            stream.write_all(&response)?;
            stream.flush()?;
        }
    })
}

fn request(address: SocketAddr, body: &[u8]) -> (HttpUrl, Request) {
    let url: HttpUrl = format!("http://{address}/").parse().unwrap();
    let request = Request::new("POST", &url, &[], body).unwrap();
    (url, request)
}

/// Three connections that send 30 requests with the body `sent`, and receive `received`.
fn load(
    certificate: &Certificate,
    settings: &TlsSettings,
    (sent, received): (&[u8], &[u8]),
    change: impl Fn(&mut LoadPlan),
) -> Vec<LoadResult> {
    // Every port has five digits, and so all requests one length.
    let any = SocketAddr::from(([127, 0, 0, 1], 10_000));
    let length = request(any, sent).1.bytes().len();
    let address = serve_at_once(certificate.server(), length, received);
    let offer = Offer::Only(HttpVersion::Http1);
    let client = settings.client("localhost", offer).unwrap();
    let loads = LOOPS.map(|event_loop| {
        let (url, request) = request(address, sent);
        let mut plan = LoadPlan {
            connections: 3,
            max_connections: 3,
            threads: 2,
            requests: Some(30),
            timeout: Duration::from_secs(20),
            tls: Some(client.clone()),
            event_loop,
            ..LoadPlan::new(address.into(), url.as_str(), request)
        };
        change(&mut plan);
        run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap()
    });
    loads.into()
}

fn all_ok(result: &LoadResult) {
    assert_eq!(result.outcomes[Outcome::Ok], 30, "{:?}", result.outcomes);
}

#[test]
fn a_load_counts_its_handshakes() {
    let certificate = Certificate::new();
    for result in load(&certificate, &certificate.trusted(), (b"", b"ok"), |_| {}) {
        all_ok(&result);
        let tls = result.tls.unwrap();
        assert_eq!(tls.version.as_deref(), Some("1.3"));
        assert_eq!((tls.full.count, tls.resumed.count), (3, 0));
    }
}

#[test]
fn long_bodies_pass_both_ways() {
    let certificate = Certificate::new();
    let long = vec![b'x'; 300_000];
    for result in load(&certificate, &certificate.trusted(), (&long, &long), |_| {}) {
        all_ok(&result);
    }
}

#[test]
fn connections_that_follow_one_another_resume() {
    let certificate = Certificate::new();
    for resumes in [false, true] {
        let settings = TlsSettings {
            resumes,
            ..certificate.trusted()
        };
        let results = load(&certificate, &settings, (b"", b"ok"), |plan| {
            (plan.connections, plan.max_connections, plan.threads) = (1, 1, 1);
            plan.requests_per_connection = NonZeroU64::new(1);
        });
        for result in results {
            all_ok(&result);
            let tls = result.tls.unwrap();
            let expected = if resumes { (1, 29) } else { (30, 0) };
            assert_eq!((tls.full.count, tls.resumed.count), expected);
        }
    }
}

#[test]
fn a_server_that_is_not_trusted_gets_no_request() {
    let (certificate, other) = (Certificate::new(), Certificate::new());
    // After each failure a connection pauses.
    let few = |plan: &mut LoadPlan| plan.requests = Some(6);
    for result in load(&certificate, &other.trusted(), (b"", b"ok"), few) {
        assert_eq!(result.outcomes[Outcome::TlsFailure], 6);
        let detail = result.first_wrong.unwrap().detail;
        assert!(
            detail.contains("self-signed or from an unknown issuer"),
            "{detail}"
        );
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
pub fn anonymous(certificate: &Certificate, address: SocketAddr) -> LoadPlan {
    let url: HttpUrl = format!("http://{address}/").parse().unwrap();
    let request = Request::new("GET", &url, &[], b"").unwrap();
    let offer = Offer::Only(HttpVersion::Http1);
    LoadPlan {
        connections: 1,
        max_connections: 1,
        threads: 1,
        timeout: Duration::from_secs(20),
        tls: Some(certificate.trusted().client("localhost", offer).unwrap()),
        ..LoadPlan::new(address.into(), url.as_str(), request)
    }
}

#[test]
fn a_client_that_is_refused_after_its_handshake_pauses() {
    let (certificate, own) = (Certificate::new(), Certificate::new());
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let config = certificate.server_of(&[version], Some(&own));
        let address = serve_late(config, Duration::ZERO, Duration::ZERO);
        for event_loop in LOOPS {
            let plan = LoadPlan {
                requests: Some(4),
                event_loop,
                ..anonymous(&certificate, address)
            };
            let result = run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap();
            let wrong = result.first_wrong.as_ref().unwrap();
            assert!(wrong.detail.contains("certificate"), "{wrong:?}");
            assert_outcome(&result, Outcome::TlsFailure, 4);
            // The pauses between them are 10, 20 and 40 ms.
            assert!(result.duration_s >= 0.07, "{}", result.duration_s);
        }
    }
}

#[test]
fn a_handshake_that_the_server_refuses_in_the_end_is_not_measured() {
    let (certificate, own) = (Certificate::new(), Certificate::new());
    let config = certificate.server_of(&[&rustls::version::TLS13], Some(&own));
    let address = serve_late(config, Duration::ZERO, Duration::ZERO);
    for event_loop in LOOPS {
        let plan = LoadPlan {
            requests: Some(3),
            event_loop,
            ..anonymous(&certificate, address)
        };
        let result = run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap();
        let outcomes = result.outcomes;
        assert_eq!(outcomes[Outcome::TlsFailure], 3, "{outcomes:?}");
        let tls = result.tls.unwrap();
        assert_eq!((tls.full.count, tls.resumed.count), (0, 0));
        assert_eq!(tls.version.as_deref(), Some("1.3"));
    }
}

#[test]
fn a_deadline_shorter_than_the_handshake_does_not_prevent_it() {
    let certificate = Certificate::new();
    let (handshake, each) = (Duration::from_millis(100), Duration::from_millis(10));
    let address = serve_late(certificate.server(), handshake, each);
    for event_loop in LOOPS {
        // The first connection is open when the load begins, but too slow for it.
        let plan = LoadPlan {
            shape: even(200.0),
            max_connections: 2,
            deadline: Some(Duration::from_millis(50)),
            requests: Some(150),
            event_loop,
            ..anonymous(&certificate, address)
        };
        let result = run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap();
        assert!(result.outcomes[Outcome::Shed] > 0, "{:?}", result.outcomes);
        assert_eq!((result.connections_opened, result.reconnects), (2, 0));
        assert_eq!(result.tls.unwrap().full.count, 2);
    }
}

#[test]
fn a_connection_whose_first_request_was_shed_carries_another_one() {
    let certificate = Certificate::new();
    let address = serve_late(
        certificate.server(),
        Duration::from_millis(100),
        Duration::ZERO,
    );
    for event_loop in LOOPS {
        // Every connection but the first one opens only after the deadline of the request that it is opened for.
        let plan = LoadPlan {
            shape: even(200.0),
            max_connections: 4,
            requests_per_connection: NonZeroU64::new(1),
            deadline: Some(Duration::from_millis(50)),
            requests: Some(150),
            event_loop,
            ..anonymous(&certificate, address)
        };
        let result = run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap();
        let outcomes = result.outcomes;
        assert!(outcomes[Outcome::Shed] > 0, "{outcomes:?}");
        assert!(outcomes[Outcome::Ok] > 2, "{outcomes:?}");
        assert_eq!(
            outcomes.total(),
            outcomes[Outcome::Shed] + outcomes[Outcome::Ok]
        );
    }
}

#[test]
fn a_close_notify_ends_the_connection_even_if_the_server_keeps_it_open() {
    let certificate = Certificate::new();
    for response in [
        &b"HTTP/1.1 200 OK\r\n\r\nuntil the end"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ] {
        let address = serve_one_each(certificate.server(), response);
        let offer = Offer::Only(HttpVersion::Http1);
        let client = certificate.trusted().client("localhost", offer).unwrap();
        for event_loop in LOOPS {
            let url: HttpUrl = format!("http://{address}/").parse().unwrap();
            let request = Request::new("GET", &url, &[], b"").unwrap();
            let plan = LoadPlan {
                connections: 3,
                max_connections: 3,
                threads: 1,
                requests: Some(9),
                timeout: Duration::from_secs(20),
                tls: Some(client.clone()),
                event_loop,
                ..LoadPlan::new(address.into(), url.as_str(), request.clone())
            };
            let result = run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap();
            assert_outcome(&result, Outcome::Ok, 9);
            let response = exchange(
                &address.into(),
                &request.into(),
                Some(&client),
                plan.timeout,
            );
            assert_eq!(response.unwrap().status, 200);
        }
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
