//! `prony load`, as its users run it, on servers that run.

/// The words of a command line, and those that are not literals.
macro_rules! words {
    ($text:literal $(, $more:expr)*) => {
        [&$text.split(' ').collect::<Vec<&str>>()[..], &[$($more as &str),*]].concat()
    };
}

mod bounds;
mod capacity;
mod command_line;
mod connections;
mod curl;
mod hurl_options;
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
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use crate::common::{Running, prony, repository, run, schema, until};
use prony_testkit::certificate::Certificate;
use serde_json::Value;

/// `prony load` in a folder of its own.
fn load(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = prony(["load"]);
    command.args(arguments).current_dir(folder);
    command
}

fn result(folder: &Path, name: &str) -> Value {
    schema::load(&fs::read_to_string(folder.join(name)).unwrap())
}

fn outcome(result: &Value, name: &str) -> u64 {
    result["outcomes"][name].as_u64().unwrap()
}

/// The summary and the result of a load that must succeed.
fn loaded(arguments: &[&str]) -> (String, Value) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = load(folder.path(), arguments);
    command.args(["--json", "result.json"]);
    let ended = run(command).with(0);
    (ended.stdout, result(folder.path(), "result.json"))
}

/// The reference server, on a port of its own.
struct Ceiling {
    port: u16,
    _running: Running,
}

impl Ceiling {
    fn start() -> Self {
        Self::with(&[])
    }

    /// With a script, for instance.
    fn with(arguments: &[&str]) -> Self {
        Self::of(arguments, None)
    }

    /// Over TLS.
    fn over_tls(certificate: &Certificate) -> Self {
        Self::of(&[], Some(certificate))
    }

    fn of(arguments: &[&str], certificate: Option<&Certificate>) -> Self {
        let port = {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().port()
        };
        let mut ceiling = prony(["reference"]);
        ceiling
            .args(arguments)
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
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Its certificate is for this host.
    fn https_url(&self, path: &str) -> String {
        format!("https://localhost:{}/{path}", self.port)
    }
}
