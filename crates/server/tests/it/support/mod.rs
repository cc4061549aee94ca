//! Shared by the tests of real processes.

mod served;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use prony_testkit::until;

use prony_server::{
    Built, FreePorts, Launch, Place, Probe, RunningServer, SupervisorProgram, Word, bring_up,
};

/// Far longer than anything here takes unless there is a fault.
pub const LONG: Duration = prony_testkit::PATIENCE;

pub static GO_ON: AtomicBool = AtomicBool::new(false);

pub fn supervisor() -> SupervisorProgram {
    SupervisorProgram::new(env!("CARGO_BIN_EXE_prony-supervisor"))
}

pub fn built(folder: &Path, run: &[&str]) -> Built {
    let word = |word: &&str| Word::new(word, &Place::ALL).unwrap();
    Built::ready_made(run.iter().map(word).collect(), folder)
}

pub fn launch(folder: &Path) -> Launch {
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
pub fn probe(address: SocketAddr) -> Probe {
    let Ok(mut stream) = TcpStream::connect(address) else {
        return Probe::NotYet("refused".to_owned());
    };
    let mut response = String::new();
    stream.set_read_timeout(Some(LONG)).unwrap();
    if stream.write_all(b"?").is_err() || stream.read_to_string(&mut response).is_err() {
        return Probe::NotYet("cut short".to_owned());
    }
    match response.as_str() {
        "right" => Probe::Right,
        other => Probe::Wrong(format!("expected `right`, came `{other}`")),
    }
}

/// A server that responds to every connection with this, which is this test program again. It writes a line for each, and
/// what it got from its environment into the file `env`.
pub fn server_with(folder: &Path, response: &str) -> Built {
    let words = served::command(response);
    built(
        folder,
        &words.iter().map(String::as_str).collect::<Vec<_>>(),
    )
}

/// The same in Python, after additional lines of the test: it can fork.
pub fn python_server(folder: &Path, more: &str) -> Built {
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

pub fn bring_up_right(folder: &Path) -> RunningServer {
    ready(&server_with(folder, "right"), folder)
}

/// Starts a server that responds with `right`.
pub fn ready(built: &Built, folder: &Path) -> RunningServer {
    let launch = launch(folder);
    let (server, _) = bring_up(built, &launch, &mut FreePorts, &mut probe, LONG, &GO_ON).unwrap();
    server
}

/// Whether a process runs; a zombie does not.
pub fn alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| Some(stat.rsplit_once(')')?.1.trim_start().starts_with('Z')))
        .is_some_and(|zombie| !zombie)
}

/// Waits for `count` process ids that a test's processes append to a file.
pub fn pids(file: &Path, count: usize) -> Vec<i32> {
    until("the process ids", || {
        let text = std::fs::read_to_string(file).ok()?;
        let pids: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        (pids.len() >= count).then_some(pids)
    })
}

/// A script whose processes do all they can to escape: they ignore SIGTERM, fork twice and leave the session. The file
/// `pids` gets four process ids.
pub fn stubborn(folder: &Path) -> PathBuf {
    let script = folder.join("stubborn.py");
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
    std::fs::write(&script, code).unwrap();
    script
}
