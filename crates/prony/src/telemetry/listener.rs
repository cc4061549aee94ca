//! Serves the figures to Prometheus, and to whatever else connects. However many clients there are, and however slow they
//! are, a thread with bounded memory serves them, and the load does not notice.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use http::header::ACCEPT;
use http::request::Parts;
use prony_live::telemetry::{Format, text};
use prony_site::{HttpLimits, HttpServer, Reply};

use super::Shared;

const PATH: &str = "/metrics";
/// How long a client may take, from its connection to the end of its response.
const PATIENCE: Duration = Duration::from_secs(5);
const LIMITS: HttpLimits = HttpLimits {
    connections: 16,
    head_bytes: 8 << 10,
    head_timeout: PATIENCE,
    connection_timeout: PATIENCE,
    grace: Duration::ZERO,
};

/// The addresses to listen on: of `HOST:PORT`, or of this machine alone if there is no host.
pub(super) fn addresses(text: &str) -> Result<Vec<SocketAddr>, String> {
    let wrong = || {
        format!(
            "`{text}` is not an address with a port; write for instance :9464 for this machine alone, or 0.0.0.0:9464 \
             for others too"
        )
    };
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let port: u16 = port.parse().map_err(|_| wrong())?;
    // Neither a URL nor a wildcard has an address.
    if host.contains(['/', '*']) {
        return Err(wrong());
    }
    if port == 0 {
        return Err(format!(
            "`{text}` leaves the port to the system, and nobody would know it; write for instance :9464"
        ));
    }
    let host = match host {
        "" => "127.0.0.1",
        host => host.trim_matches(['[', ']']),
    };
    let addresses = (host, port).to_socket_addrs();
    let addresses = addresses.map_err(|error| format!("`{host}` cannot be resolved: {error}"))?;
    Ok(addresses.collect())
}

/// The thread that serves the figures, until this is dropped.
pub(super) struct Listener {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    pub(super) fn start(socket: TcpListener, shared: Shared, cpus: Vec<usize>) -> io::Result<Self> {
        let server = HttpServer::new(socket, LIMITS)?;
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        let thread = Builder::new().name("metrics".into()).spawn(move || {
            // Where it cannot be pinned, it runs where the system puts it.
            let _ = prony_kernel::pin_current_thread(&cpus);
            // The load goes on without its listener.
            let _ = server.run(&flag, move |request| reply(request, &shared));
        })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn reply(request: &Parts, shared: &Shared) -> Reply {
    if request.uri.path() != PATH {
        return Reply::text(404, &format!("The figures are at {PATH}.\n"));
    }
    let accepted = request.headers.get_all(ACCEPT).iter();
    let accepted: Vec<&str> = accepted.filter_map(|field| field.to_str().ok()).collect();
    let format = Format::accepted(&accepted.join(","));
    Reply {
        status: 200,
        content_type: format.content_type(),
        body: text(&shared.resource, &shared.copied(), format),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::instance;
    use prony_live::telemetry::{Figures, LoadResource};
    use prony_load::LoadPlan;
    use prony_testkit::table::rows;
    use prony_traffic::{HttpUrl, RequestParts};
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::Mutex;
    use std::thread;

    fn listener() -> (SocketAddr, Listener) {
        let url: HttpUrl = "http://h/".parse().unwrap();
        let request = RequestParts::new("GET", &url, &[], &[]).unwrap();
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
        let plan = LoadPlan::new(nowhere.into(), "http://h/", request);
        let shared = Shared {
            resource: Arc::new(LoadResource::of(&plan, instance())),
            figures: Arc::new(Mutex::new(Figures::of(&plan))),
        };
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let listener = Listener::start(socket, shared, Vec::new()).unwrap();
        (address, listener)
    }

    fn response(address: SocketAddr, request: &str) -> String {
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        client.read_to_string(&mut response).unwrap();
        response
    }

    const SCRAPE: &str = "GET /metrics HTTP/1.1\r\n\r\n";

    #[test]
    fn clients_that_say_nothing_or_never_read_keep_no_scrape_waiting() {
        let (address, _listener) = listener();
        let mut slow = Vec::new();
        for index in 0..LIMITS.connections - 1 {
            let mut client = TcpStream::connect(address).unwrap();
            let words = &SCRAPE[..SCRAPE.len() - index % 3];
            client.write_all(words.as_bytes()).unwrap();
            slow.push(client);
        }
        let response = response(address, SCRAPE);
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        assert!(response.ends_with("\n# EOF\n"), "{response}");
    }

    #[test]
    fn clients_beyond_the_limit_are_served_when_others_are_gone() {
        let (address, _listener) = listener();
        let connect = |_| TcpStream::connect(address).unwrap();
        let silent: Vec<TcpStream> = (0..LIMITS.connections).map(connect).collect();
        let scraping = thread::spawn(move || response(address, SCRAPE));
        drop(silent);
        assert!(scraping.join().unwrap().ends_with("\n# EOF\n"));
    }

    #[test]
    fn what_follows_a_request_does_not_cut_its_response_short() {
        let (address, _listener) = listener();
        let request = SCRAPE.to_owned() + &"x".repeat(500);
        assert!(response(address, &request).ends_with("\n# EOF\n"));
    }

    #[test]
    fn a_client_may_choose_the_format_or_only_look() {
        let (address, _listener) = listener();
        for [request, content_type, end] in rows(
            r"
            GET /metrics?a=b HTTP/1.1\r\n | application/openmetrics-text; version=1.0.0; charset=utf-8 | # EOF\n
            GET /metrics HTTP/1.0\r\nAccept: text/plain\r\n | text/plain; version=0.0.4; charset=utf-8 | \n
            GET /metrics HTTP/1.1\r\nACCEPT: text/plain\r\naccept: application/openmetrics-text\r\n | application/openmetrics-text; version=1.0.0; charset=utf-8 | # EOF\n
            GET http://h:9464/metrics?a=://b HTTP/1.1\r\nHost: h:9464\r\n | application/openmetrics-text; version=1.0.0; charset=utf-8 | # EOF\n
            HEAD /metrics HTTP/1.1\r\n | application/openmetrics-text; version=1.0.0; charset=utf-8 | \r\n\r\n
        ",
        ) {
            let response = response(address, &format!("{request}\r\n"));
            assert!(response.contains(" 200 OK\r\n"), "{response}");
            let field = format!("\r\ncontent-type: {content_type}\r\n");
            assert!(
                response.contains(&field) && response.contains("\r\ncontent-length: "),
                "{response}"
            );
            assert!(response.ends_with(end), "{response}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let (address, _listener) = listener();
        let many = "a: b\r\n".repeat(101);
        let long = "a".repeat(LIMITS.head_bytes);
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), "404"),
            ("GET /metricsx HTTP/1.1\r\n\r\n".to_owned(), "404"),
            ("GET http://h HTTP/1.1\r\n\r\n".to_owned(), "404"),
            ("GET http://metrics/ HTTP/1.1\r\n\r\n".to_owned(), "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n".to_owned(), "405"),
            ("\x16\x03\x01 no HTTP\r\n\r\n".to_owned(), "400"),
            (format!("GET /metrics HTTP/1.1\r\n{many}\r\n"), "431"),
            (format!("GET /metrics HTTP/1.1\r\na: {long}"), "431"),
        ] {
            let response = response(address, &request);
            let start = format!("HTTP/1.1 {status} ");
            assert!(response.starts_with(&start), "{response}");
        }
    }

    #[test]
    fn nobody_listens_after_the_load() {
        let (address, listener) = listener();
        let mut client = TcpStream::connect(address).unwrap();
        drop(listener);
        assert_eq!(client.read(&mut [0; 1]).unwrap_or(0), 0);
        // A child that another test has just started holds the socket until it executes its program.
        prony_testkit::until("the end of the socket", || {
            TcpStream::connect(address).is_err().then_some(())
        });
    }

    #[test]
    fn an_address_has_a_port_and_a_host_or_this_machine() {
        let one = |text: &str| addresses(text).unwrap()[0].to_string();
        assert_eq!(one(":9464"), "127.0.0.1:9464");
        assert_eq!(one("0.0.0.0:1"), "0.0.0.0:1");
        assert_eq!(one("[::1]:9464"), "[::1]:9464");
        let wrong = ",9464,127.0.0.1,:,:65536,h:x,http://h:9464,http://h:9464/metrics,*:9464";
        for wrong in wrong.split(',') {
            let error = addresses(wrong).unwrap_err();
            assert!(
                error.contains("or 0.0.0.0:9464 for others too"),
                "{wrong}: {error}"
            );
        }
        let error = addresses(":0").unwrap_err();
        assert!(error.contains("leaves the port to the system"), "{error}");
    }
}
