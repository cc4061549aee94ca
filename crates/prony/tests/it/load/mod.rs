//! `prony load`, as its users run it, on servers that run.

mod capacity;
mod command_line;
mod connections;
mod curl;
mod objectives;
mod protocols;
mod records;
mod redirects;
mod requests;
mod responses;
mod scenarios;
mod shapes;
mod slow_accept;
mod streams;
mod telemetry;
mod tls;
mod wrk;

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;

use crate::common::{Ended, Running, Words, prony, repository, run, schema, until};
use prony_testkit::certificate::Certificate;
use prony_testkit::table::rows;
use serde_json::Value;
use socket2::{Domain, Socket, Type};
use tempfile::TempDir;

/// Nothing listens at this URL.
const NOWHERE: &str = "http://127.0.0.1:1/";

/// A folder in which `prony load` runs.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// `prony load` with these words.
    fn prony(&self, words: impl Words) -> Command {
        let mut command = prony(["load"]);
        command.args(words.words()).current_dir(self.0.path());
        command
    }

    /// Starts a load that writes its result.
    fn start(&self, words: impl Words) -> Running {
        let mut command = self.prony(words);
        command.args(["--json", "result.json"]);
        Running::start(command)
    }

    fn load(&self, words: impl Words) -> Ended {
        self.start(words).end()
    }

    fn result(&self) -> Value {
        schema::valid("load", &self.read("result.json"))
    }

    /// The result must hold these values.
    #[track_caller]
    fn holds(&self, values: &str) {
        self.result().holds(values);
    }

    /// Each row is a command line that ends with this exit status before there is a load, and what it says; `URL` is the URL
    /// of no server.
    #[track_caller]
    fn refuses(&self, status: i32, table: &str) {
        for [line, said] in rows(table) {
            let ended = run(self.prony(line.replace("URL", NOWHERE))).with(status);
            assert_eq!(ended.stdout, "", "{}", ended.report());
            in_order(&ended, &ended.stderr, said);
        }
    }
}

/// A load that must succeed, and its result.
#[track_caller]
fn loaded(words: impl Words) -> (Ended, Value) {
    let folder = Folder::new();
    (folder.load(words).with(0), folder.result())
}

/// A load that must fail.
#[track_caller]
fn failed(words: impl Words) -> Ended {
    Folder::new().load(words).with(1)
}

/// Each row has the flags of a load of this URL, what it shows, and what its result holds.
#[track_caller]
fn loads(url: &str, table: &str) {
    for [flags, shown, held] in rows(table) {
        let (ended, result) = loaded(format!("{flags} {url}"));
        ended.shows(shown);
        result.holds(held);
    }
}

/// A text must hold these parts in this order, with ` … ` between them.
#[track_caller]
fn in_order(ended: &Ended, mut text: &str, parts: &str) {
    for part in parts.split(" … ") {
        let Some((_, rest)) = text.split_once(part) else {
            panic!("no `{part}` (in its place) in {}", ended.report());
        };
        text = rest;
    }
}

trait Shows {
    /// Standard output must hold these parts in this order.
    fn shows(&self, parts: &str);
}

impl Shows for Ended {
    #[track_caller]
    fn shows(&self, parts: &str) {
        in_order(self, &self.stdout, parts);
    }
}

trait Holds {
    /// A result must hold these values, such as `load.threads=2 ended=duration`.
    fn holds(&self, values: &str);
}

impl Holds for Value {
    #[track_caller]
    fn holds(&self, values: &str) {
        for expected in values.split(' ') {
            let (place, expected) = expected.split_once('=').unwrap();
            let value = at(self, place);
            let value = value.as_str().map_or(value.to_string(), str::to_owned);
            assert_eq!(value, expected, "{place} in {self}");
        }
    }
}

/// The value at a place of a result, such as `load.threads`.
fn at<'a>(result: &'a Value, place: &str) -> &'a Value {
    let found = result.pointer(&format!("/{}", place.replace('.', "/")));
    found.unwrap_or(&Value::Null)
}

fn outcome(result: &Value, name: &str) -> u64 {
    result["outcomes"][name].as_u64().unwrap()
}

/// A port of one's own.
pub(crate) struct OwnPort {
    pub(crate) port: u16,
    _socket: Socket,
}

impl OwnPort {
    /// This port, or any free one if it is 0. Nobody else is given it while this is there; connections to it are refused until
    /// a server of the test listens on it.
    pub(crate) fn of(port: u16) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        // Servers of tests reuse addresses, too, so they may bind it once more.
        socket.set_reuse_address(true).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        socket.bind(&address.into()).unwrap();
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        Self {
            port: address.port(),
            _socket: socket,
        }
    }
}

/// A server whose kernel accepts connections, while nobody reads from them, and its URL.
fn silent_server() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    (listener, url)
}

/// The reference server, on a port of its own.
struct Ceiling {
    port: u16,
    _running: Running,
    own: OwnPort,
}

impl Ceiling {
    fn start() -> Self {
        Self::of("", None)
    }

    /// With a script, for instance.
    fn with(flags: &str) -> Self {
        Self::of(flags, None)
    }

    fn over_tls(certificate: &Certificate) -> Self {
        Self::of("", Some(certificate))
    }

    fn of(flags: &str, certificate: Option<&Certificate>) -> Self {
        let own = OwnPort::of(0);
        let port = own.port;
        let mut ceiling = prony(["reference"]);
        ceiling
            .args(flags.words())
            .env("HOST", "127.0.0.1")
            .env("PORT", port.to_string())
            .env("CPUS", "1")
            .env("ASSETS", repository().join("workloads/assets"));
        if let Some(certificate) = certificate {
            ceiling
                .env("TLS_CERT", certificate.path("cert.pem"))
                .env("TLS_KEY", certificate.path("key.pem"));
        }
        let running = Running::start(ceiling);
        until("the server", || {
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        Self {
            port,
            _running: running,
            own,
        }
    }

    /// Ends it; nobody gets its port while that is kept.
    fn stop(self) -> OwnPort {
        self.own
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Its certificate is for this host.
    fn https_url(&self, path: &str) -> String {
        format!("https://localhost:{}/{path}", self.port)
    }
}
