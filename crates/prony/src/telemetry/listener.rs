//! Serves the figures to Prometheus, and to whatever else connects. However many clients there are, and however slow they
//! are, one thread with bounded memory serves them, and the load does not notice.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use prony_telemetry::{Format, scrape, text};

use super::Shared;

/// How many clients are served at a time. Others wait until one of them is gone.
const MOST_CLIENTS: usize = 16;
/// How long a client may take, from its connection to the end of its response.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait if a connection cannot be accepted, because too many files are open.
const PAUSE: Duration = Duration::from_millis(100);

/// The addresses to listen on: of `HOST:PORT`, or of this machine alone if there is no host.
///
/// # Errors
///
/// If that is no address, or the host has none.
pub fn addresses(text: &str) -> Result<Vec<SocketAddr>, String> {
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

/// The thread that serves the figures, until it is dropped.
pub struct Listener {
    /// The thread ends when this is closed.
    running: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    pub fn start(socket: TcpListener, shared: Shared, cpus: Vec<usize>) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let (running, ended) = UnixStream::pair()?;
        let service = Service {
            socket,
            ended,
            clients: Vec::new(),
        };
        let thread = Builder::new().name("metrics".into()).spawn(move || {
            // Where it cannot be pinned, it runs where the system puts it.
            let _ = prony_system::pin_current_thread(&cpus);
            service.run(&|format| text(&shared.resource, &shared.copied(), format));
        })?;
        Ok(Self {
            running: Some(running),
            thread: Some(thread),
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        drop(self.running.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Service {
    socket: TcpListener,
    /// Closed by the other side when the load has ended.
    ended: UnixStream,
    clients: Vec<Client>,
}

impl Service {
    fn run(mut self, text: &dyn Fn(Format) -> String) {
        while self.wait() {
            if self.has_room() {
                self.accept();
            }
            let now = Instant::now();
            self.clients
                .retain_mut(|client| client.until > now && client.advance(text));
        }
    }

    fn has_room(&self) -> bool {
        self.clients.len() < MOST_CLIENTS
    }

    /// Waits until there is something to do; false when the load has ended.
    fn wait(&self) -> bool {
        let mut sockets = vec![PollFd::new(self.ended.as_fd(), PollFlags::POLLIN)];
        if self.has_room() {
            sockets.push(PollFd::new(self.socket.as_fd(), PollFlags::POLLIN));
        }
        let clients = self.clients.iter();
        sockets.extend(clients.map(|client| PollFd::new(client.socket.as_fd(), client.awaits())));
        let until = self.clients.iter().map(|client| client.until).min();
        let timeout = until.map_or(PollTimeout::NONE, |until| {
            let left = until.saturating_duration_since(Instant::now());
            // Rounded up, because it counts in milliseconds.
            let left = left + Duration::from_millis(1);
            PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
        });
        // Interrupted or not: whatever is ready is looked at.
        let _ = poll(&mut sockets, timeout);
        !sockets[0].any().unwrap_or(false)
    }

    fn accept(&mut self) {
        let accepted = self.socket.accept();
        let accepted = accepted.and_then(|(socket, _)| Client::new(socket));
        match accepted {
            Ok(client) => self.clients.push(client),
            Err(error) if is_transient(&error) => {}
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn is_transient(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | Interrupted | WouldBlock)
}

/// A connection, which ends with its first response.
struct Client {
    socket: TcpStream,
    until: Instant,
    stage: Stage,
}

enum Stage {
    /// What has arrived of the request.
    Request(Vec<u8>),
    Response {
        bytes: Vec<u8>,
        sent: usize,
    },
    /// Everything is sent. The client closes first: otherwise a byte that nobody reads could make the system discard the
    /// response.
    Farewell,
}

impl Client {
    fn new(socket: TcpStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            until: Instant::now() + PATIENCE,
            stage: Stage::Request(Vec::new()),
        })
    }

    /// What to wait for.
    fn awaits(&self) -> PollFlags {
        match self.stage {
            Stage::Response { .. } => PollFlags::POLLOUT,
            Stage::Request(_) | Stage::Farewell => PollFlags::POLLIN,
        }
    }

    /// Does what is possible without waiting; false if the connection is over.
    fn advance(&mut self, text: &dyn Fn(Format) -> String) -> bool {
        match self.step(text) {
            Ok(goes_on) => goes_on,
            Err(error) => is_transient(&error),
        }
    }

    fn step(&mut self, text: &dyn Fn(Format) -> String) -> io::Result<bool> {
        if let Stage::Request(request) = &mut self.stage {
            let mut buffer = [0; 1024];
            let length = self.socket.read(&mut buffer)?;
            request.extend_from_slice(&buffer[..length]);
            match scrape::respond(request, text) {
                Some(bytes) => self.stage = Stage::Response { bytes, sent: 0 },
                None => return Ok(length > 0),
            }
        }
        while let Stage::Response { bytes, sent } = &mut self.stage {
            *sent += self.socket.write(&bytes[*sent..])?;
            if *sent == bytes.len() {
                self.socket.shutdown(Shutdown::Write)?;
                self.stage = Stage::Farewell;
                return Ok(true);
            }
        }
        Ok(self.socket.read(&mut [0; 1024])? > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::instance;
    use prony_load::{HttpUrl, LoadPlan, Request};
    use prony_telemetry::{Figures, LoadResource};
    use std::sync::{Arc, Mutex};

    fn listener() -> (SocketAddr, Listener) {
        let url: HttpUrl = "http://h/".parse().unwrap();
        let request = Request::new("GET", &url, &[], &[]).unwrap();
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
        for index in 0..MOST_CLIENTS - 1 {
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
        let silent = [(); MOST_CLIENTS].map(|()| TcpStream::connect(address).unwrap());
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
