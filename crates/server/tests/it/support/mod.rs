//! Shared by the tests of real processes.
#![allow(dead_code)] // Each test program uses a part of it.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use prony_server::{
    Built, FreePorts, Launch, Place, Probe, RunningServer, SupervisorProgram, Word, bring_up,
};

/// Far longer than anything here takes unless there is a fault.
pub const LONG: Duration = Duration::from_secs(20);

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

/// A Python server that responds to every connection, after additional lines of the test.
pub fn python_server(folder: &Path, response: &str, more: &str) -> Built {
    let code = format!(
        r#"
import os, socket, sys
{more}
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind((os.environ["HOST"], int(os.environ["PORT"])))
listener.listen(64)
while True:
    connection, _ = listener.accept()
    connection.recv(100)
    print("a line", flush=True)
    connection.sendall(b"{response}")
    connection.close()
"#
    );
    std::fs::write(folder.join("server.py"), code).unwrap();
    built(folder, &["python3", "server.py"])
}

pub fn bring_up_python(folder: &Path, more: &str) -> RunningServer {
    let built = python_server(folder, "right", more);
    let launch = launch(folder);
    let (server, _) = bring_up(&built, &launch, &mut FreePorts, &mut probe, LONG, &GO_ON).unwrap();
    server
}

/// Whether a process runs; a zombie does not.
pub fn alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| Some(stat.rsplit_once(')')?.1.trim_start().starts_with('Z')))
        .is_some_and(|zombie| !zombie)
}

/// Waits for something that comes unless there is a fault.
pub fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let give_up = Instant::now() + LONG;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < give_up, "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
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
