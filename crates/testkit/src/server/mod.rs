//! A server as a process of its own: right, or wrong as a test says.
//!
//! The test program runs itself again for it, so that nothing has to be built. Each program that needs one has the test
//!
//! ```ignore
//! #[test]
//! fn test_server() {
//!     prony_testkit::server::serve_if_asked(CHANGES);
//! }
//! ```
//!
//! in its `main.rs`. In a normal run it does nothing. [`command`] starts it as a server, which takes `HOST` and `PORT`
//! from the environment, as every server under Prony does, and speaks TLS if there is `TLS_CERT`.

mod http;
mod pages;

pub use http::{Request, Response};
pub use pages::{patch_of, quotes, right};

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustls::{ServerConnection, StreamOwned};

use crate::tls_server;

/// How a server differs from a right one: it gets the right response to each request and changes it. It runs in a
/// thread for each connection, so it may block.
pub type Change = fn(&Request, &mut Response);

/// The name of the test that serves.
const TEST: &str = "test_server";
/// The start of the word that says what to serve.
const SERVES: &str = "serves:";
/// No change.
pub const RIGHT: &str = "right";

/// The command of a server that is right except for the change of that name. `word` is in the command line too, so that
/// a test can find the process.
pub fn command(change: &str, word: &str) -> Vec<String> {
    let program = env::current_exe().unwrap();
    let words = ["-q", "--nocapture", "--exact", TEST];
    // To the test program, the last two are names of further tests, which it does not have.
    let of_server = [format!("{SERVES}{change}"), word.to_owned()];
    let program = program.to_str().unwrap().to_owned();
    let words = words.map(str::to_owned).into_iter();
    std::iter::once(program)
        .chain(words)
        .chain(of_server)
        .collect()
}

/// Serves until the process is killed, if its command line is that of a server.
///
/// # Panics
///
/// If no change has that name, or the server cannot listen.
pub fn serve_if_asked(changes: &[(&str, Change)]) {
    let asked = env::args().find_map(|word| word.strip_prefix(SERVES).map(str::to_owned));
    let Some(name) = asked else { return };
    let found = changes.iter().find(|(id, _)| *id == name);
    let change = match found {
        Some((_, change)) => *change,
        None if name == RIGHT => |_: &Request, _: &mut Response| {},
        None => panic!("there is no change `{name}`"),
    };
    let text = |name: &str| env::var(name).unwrap_or_default();
    let (host, port) = (text("HOST"), text("PORT").parse().unwrap_or(0));
    let host = if host.is_empty() { "127.0.0.1" } else { &host };
    let listener = TcpListener::bind((host, port)).unwrap();
    if port == 0 {
        println!("listens on {}", listener.local_addr().unwrap().port());
    }
    serve(&listener, change);
}

fn serve(listener: &TcpListener, change: Change) {
    let tls = env::var_os("TLS_CERT").map(|certificate| {
        let key = env::var_os("TLS_KEY").unwrap();
        let certificate = Path::new(&certificate);
        let mut config = tls_server::config_of_files(certificate, Path::new(&key), None);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Arc::new(config)
    });
    for (connection, stream) in listener.incoming().flatten().enumerate() {
        let tls = tls.clone();
        thread::spawn(move || {
            // The segments of a response must not wait for each other.
            let _ = stream.set_nodelay(true);
            let stream = Arc::new(stream);
            let from = (&stream, connection);
            match tls {
                None => converse(&mut &*stream, from, change),
                Some(config) => {
                    let session = ServerConnection::new(config).unwrap();
                    let socket = stream.try_clone().unwrap();
                    let mut encrypted = StreamOwned::new(session, socket);
                    converse(&mut encrypted, from, change);
                    encrypted.conn.send_close_notify();
                    let _ = encrypted.flush();
                }
            }
            close(&stream);
        });
    }
}

/// A close with unread bytes would reset the connection, and the client might not read the last response.
fn close(mut stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.set_read_timeout(Some(Duration::from_secs(30)));
    let _ = io::copy(&mut stream, &mut io::sink());
}

/// Responds to the requests of a connection.
fn converse<S: Read + Write>(
    stream: &mut S,
    (socket, connection): (&Arc<TcpStream>, usize),
    change: Change,
) {
    static REQUESTS: AtomicUsize = AtomicUsize::new(0);
    let mut reader = BufReader::new(stream);
    if is_handshake(&mut reader) {
        let _ = reader
            .get_mut()
            .write_all(&Response::new(400, "text/plain", "").encode());
        return;
    }
    loop {
        let Some(mut request) = Request::read(&mut reader) else {
            return;
        };
        request.connection = connection;
        request.socket = Some(Arc::clone(socket));
        request.number = REQUESTS.fetch_add(1, Ordering::Relaxed) + 1;
        let mut response = right(&request);
        change(&request, &mut response);
        // Each is one write, so that the lines of two threads are not mixed.
        let _ = io::stdout().write_all(response.output.as_bytes());
        let _ = io::stdout().flush();
        let _ = io::stderr().write_all(response.errors.as_bytes());
        let stream = reader.get_mut();
        if stream.write_all(&response.encode()).is_err() || stream.flush().is_err() {
            return;
        }
        if let Some(then) = response.then {
            then();
        }
        if response.closes || request.connection_is("close") {
            return;
        }
    }
}

/// Whether the client speaks TLS to a server that does not.
fn is_handshake(reader: &mut impl BufRead) -> bool {
    const HANDSHAKE: u8 = 22;
    reader
        .fill_buf()
        .is_ok_and(|first| first.first() == Some(&HANDSHAKE))
}

/// Never returns.
pub fn hang() {
    loop {
        thread::park();
    }
}

/// Ends this process as a crash does.
pub fn kill_self() {
    let _ = kill(Pid::this(), Signal::SIGKILL);
    hang();
}

/// A server that a test runs itself.
pub struct Server {
    process: Child,
    pub port: u16,
}

impl Server {
    /// On any free port, with further variables in its environment.
    pub fn start(change: &str, env: &[(&str, &str)]) -> Self {
        let words = command(change, "server");
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(env.iter().copied());
        command.env_remove("PORT");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut ports = output.lines().map_while(Result::ok);
        let port = ports
            .find_map(|line| line.strip_prefix("listens on ")?.parse().ok())
            .unwrap();
        // Whatever it writes later must have a reader.
        thread::spawn(move || ports.for_each(drop));
        Self { process, port }
    }

    pub fn url(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    pub fn is_alive(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    pub fn stop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
