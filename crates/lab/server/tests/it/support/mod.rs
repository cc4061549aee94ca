//! Shared by the tests of real processes.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub(crate) use prony_testkit::processes::{ids_in, is_alive};
use prony_testkit::server::{Change, Response, command, serve_if_asked};
pub(crate) use prony_testkit::until;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prony_server::{
    BringUpError, Built, Launch, Placeholder, Probe, RunningServer, SupervisorProgram, Word,
    bring_up, free_port,
};

/// Far longer than anything here takes unless there is a fault.
pub(crate) const LONG: Duration = prony_testkit::PATIENCE;

pub(crate) static GO_ON: AtomicBool = AtomicBool::new(false);

pub(crate) fn supervisor() -> SupervisorProgram {
    SupervisorProgram::new(env!("CARGO_BIN_EXE_prony-supervisor"))
}

pub(crate) fn built(folder: &Path, run: &[&str]) -> Built {
    let word = |word: &&str| Word::new(word, &Placeholder::ALL).unwrap();
    Built::ready_made(run.iter().map(word).collect(), folder)
}

pub(crate) fn launch(folder: &Path) -> Launch {
    Launch {
        supervisor: supervisor(),
        cpus: Vec::new(),
        host: IpAddr::V4(Ipv4Addr::LOCALHOST),
        assets: folder.to_owned(),
        certificate: None,
        log: folder.join("server.log"),
        wrapper: None,
    }
}

/// Accepts the response `right`.
pub(crate) fn probe(address: SocketAddr) -> Probe {
    let Ok(mut stream) = TcpStream::connect(address) else {
        return Probe::NotYet("refused".to_owned());
    };
    let mut response = String::new();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let request = b"GET /byte HTTP/1.1\r\nConnection: close\r\n\r\n";
    if stream.write_all(request).is_err() || stream.read_to_string(&mut response).is_err() {
        return Probe::NotYet("cut short".to_owned());
    }
    match response.rsplit("\r\n\r\n").next() {
        Some("right") => Probe::Right,
        other => Probe::Wrong(format!("expected `right`, came `{}`", other.unwrap())),
    }
}

/// A server whose responses are `right` or `wrong`. It writes a line for each, and what it got from its environment into
/// the file `env`.
pub(crate) fn server_with(folder: &Path, response: &str) -> Built {
    let words = command(response, "server");
    built(
        folder,
        &words.iter().map(|word| &**word).collect::<Vec<_>>(),
    )
}

fn note(response: &mut Response, body: &str) {
    let env = ["HOST", "PORT", "CPUS", "ASSETS"].map(|name| std::env::var(name).unwrap());
    std::fs::write("env", env.join(" ")).unwrap();
    std::fs::write("asked", "").unwrap();
    response.output = "a line\n".to_owned();
    response.body = body.into();
}

/// Serves if this process is such a server.
pub(crate) fn serve() {
    let right: Change = |_, response| note(response, "right");
    let wrong: Change = |_, response| note(response, "wrong");
    serve_if_asked(&[("right", right), ("wrong", wrong)]);
}

/// The same in Python, after additional lines of the test: it can fork.
pub(crate) fn python_server(folder: &Path, more: &str) -> Built {
    let code = format!(
        r#"
import os, socket, sys
{more}
listener = socket.create_server((os.environ["HOST"], int(os.environ["PORT"])))
while True:
    connection, _ = listener.accept()
    connection.recv(100)
    connection.sendall(b"right")
    connection.close()
"#
    );
    std::fs::write(folder.join("server.py"), code).unwrap();
    built(folder, &["python3", "server.py"])
}

/// Starts a server that responds with `right`.
pub(crate) fn ready(built: &Built, folder: &Path) -> RunningServer {
    try_ready(built, folder).unwrap()
}

pub(crate) fn try_ready(built: &Built, folder: &Path) -> Result<RunningServer, BringUpError> {
    let launch = launch(folder);
    let ready = bring_up(built, &launch, &mut free_port, &mut probe, LONG, &GO_ON);
    ready.map(|(server, _)| server)
}

pub(crate) fn send(signal: Signal, pid: i32) {
    kill(Pid::from_raw(pid), signal).unwrap();
}

/// A script whose processes do all they can to escape: they ignore SIGTERM, fork twice and leave the session. The file
/// `pids` gets four process ids.
pub(crate) fn stubborn(folder: &Path) {
    let code = r#"
import os, signal, sys, time

signal.signal(signal.SIGTERM, signal.SIG_IGN)

def note():
    with open("pids", "a") as pids:
        pids.write(f"{os.getpid()}\n")

def child(work):
    if os.fork() == 0:
        work()
        note()
        time.sleep(600)
        os._exit(0)

def grandchild():
    child(lambda: None)

def daemon():
    os.setsid()
    if os.fork() != 0:
        os._exit(0)

child(grandchild)
child(daemon)
note()
time.sleep(600)
"#;
    std::fs::write(folder.join("stubborn.py"), code).unwrap();
}
