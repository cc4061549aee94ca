//! Real processes whose system calls are known by construction, traced by the kernel of this machine.
//!
//! Tests skip themselves, with a message, if the kernel does not let this user trace. With
//! `PRONY_REQUIRE_PERF_EVENTS` set that fails them.

mod server;
mod unprivileged;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};

use prony_insight::trace::{Activity, SystemCalls, Traced};
use prony_model::Unavailable;
use prony_testkit::processes::{Killed, threads_of};
use prony_testkit::until;

use server::{Connection, Server};

/// Another run of this program, for one ignored test of this module, whose output is not captured.
fn again(program: &Path, test: &str) -> Command {
    let (_, module) = module_path!().split_once("::").unwrap();
    let mut command = Command::new(program);
    command.args(["--ignored", "--exact", "--nocapture"]);
    command.arg(format!("{module}::{test}"));
    command
}

/// `None`, with a message, if the kernel does not let this user trace.
fn unless_forbidden(started: Result<SystemCalls, Unavailable>) -> Option<SystemCalls> {
    let unavailable = match started {
        Ok(calls) => return Some(calls),
        Err(unavailable) => unavailable,
    };
    let is_required = std::env::var_os("PRONY_REQUIRE_PERF_EVENTS").is_some();
    let is_forbidden = unavailable.remedy.is_some();
    assert!(!is_required && is_forbidden, "{unavailable:?}");
    let test = std::thread::current();
    let name = test.name().unwrap_or_default();
    // Directly, because the test harness captures `eprintln!`.
    let _ = writeln!(io::stderr(), "skipped {name}: {}", unavailable.why);
    None
}

fn trace(pid: u32) -> Option<SystemCalls> {
    unless_forbidden(SystemCalls::start(|| threads_of(pid), &[]))
}

/// A server that has responded to a request, the connection, and the trace of it.
fn traced_server() -> Option<(Server, Connection, SystemCalls)> {
    let server = Server::start();
    let mut connection = server.connect();
    connection.request();
    until_all_wait(server.pid());
    let calls = trace(server.pid())?;
    Some((server, connection, calls))
}

/// The fields of a thread of a process, from its state on.
fn stat(pid: u32, thread: i32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat")).ok()?;
    let fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some(fields.map(str::to_owned).collect())
}

/// Waits until all threads of a process wait: after its last byte, the server may not wait for the next request yet.
fn until_all_wait(pid: u32) {
    until("the wait of all threads", || {
        let threads = threads_of(pid).unwrap();
        let waits = |&thread: &i32| stat(pid, thread).is_some_and(|stat| stat[0] == "S");
        threads.iter().all(waits).then_some(())
    });
}

/// What was traced of a process until all its threads waited, which must be complete.
fn complete(calls: SystemCalls, pid: u32) -> Traced {
    until_all_wait(pid);
    let traced = calls.finish();
    assert_eq!((traced.lost, &traced.unavailable), (0, &vec![]));
    traced
}

fn named<const N: usize>(traced: &Traced, names: [&str; N]) -> [u64; N] {
    names.map(|name| traced.by_name.get(name).copied().unwrap_or_default())
}

/// Each request is 3 recvfrom, 3 sendto and a getppid, and nothing else. The recvfrom that waits for the first request was made
/// before, and the one after the last request is counted.
#[test]
fn seven_calls_of_three_kinds_a_request_are_counted_to_the_call() {
    let Some((server, mut connection, calls)) = traced_server() else {
        return;
    };
    let requests = 2000;
    for _ in 0..requests {
        connection.request();
    }
    let traced = complete(calls, server.pid());
    let counts = named(&traced, ["recvfrom", "sendto", "getppid"]);
    assert_eq!(counts, [3, 3, 1].map(|each| each * requests));
    assert_eq!(traced.by_name.values().sum::<u64>(), 7 * requests);
}

/// A request that comes while the server waits wakes it once. The kernel leaves out a wake-up now and then.
#[test]
fn each_request_wakes_a_waiting_thread_once() {
    let Some((server, mut connection, calls)) = traced_server() else {
        return;
    };
    let requests = 100;
    for _ in 0..requests {
        until_all_wait(server.pid());
        connection.request();
    }
    let wake_ups = complete(calls, server.pid()).wake_ups.unwrap();
    // It may wake the server for something else, too.
    let about = requests - 10..requests + 10;
    assert!(about.contains(&wake_ups), "{wake_ups}");
}

/// Two threads of a server wake each other. Whenever one waits, something must wake it.
#[test]
fn threads_that_wake_each_other_are_woken_as_often_as_they_wait() {
    let Some((server, mut connection, calls)) = traced_server() else {
        return;
    };
    let pids = [i32::try_from(server.pid()).unwrap()];
    let before = Activity::read(&pids).unwrap();
    connection.ping_pong();
    until_all_wait(server.pid());
    let used = Activity::read(&pids).unwrap().since(&before);
    let waits = used.voluntary_switches;
    let wake_ups = complete(calls, server.pid()).wake_ups.unwrap();
    let both = format!("{wake_ups} wake-ups, {waits} waits");
    assert!(waits >= 20, "{both}");
    // The other thread waited too, but it has ended, so /proc no longer has that.
    assert!(wake_ups * 20 >= waits * 19, "{both}");
    assert!(wake_ups < 2 * server::ROUNDS + 100, "{both}");
}

/// A thread for each connection, and a connection for each request.
#[test]
fn threads_that_come_and_go_are_counted() {
    let Some((server, _connection, calls)) = traced_server() else {
        return;
    };
    let connections = 200;
    for _ in 0..connections {
        server.connect().request();
    }
    let traced = complete(calls, server.pid());
    // The last recvfrom finds that the client has closed the connection.
    let counts = named(&traced, ["getppid", "sendto", "recvfrom", "accept4"]);
    assert_eq!(counts, [1, 3, 4, 1].map(|each| each * connections));
    assert!(traced.wake_ups >= Some(connections - 10), "{traced:?}");
}

/// Starts children at a line on standard input, each of which makes 50 calls; then it prints a line.
const FORKING: &str = r#"
import os, sys
print(flush=True)
for line in sys.stdin:
    for _ in range(20):
        if (pid := os.fork()) == 0:
            for _ in range(50):
                os.getppid()
            os._exit(0)
        os.waitpid(pid, 0)
    print(flush=True)
"#;

/// A program in Python that writes a line when it is ready. When it reads a line it works, and writes another one.
struct Python {
    process: Killed,
    lines: Lines<BufReader<ChildStdout>>,
    pid: u32,
}

impl Python {
    fn start(program: &str) -> Python {
        let mut command = Command::new("python3");
        command.args(["-c", program]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Killed(command.spawn().unwrap());
        let pid = process.0.id();
        let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
        lines.next().unwrap().unwrap();
        Python {
            process,
            lines,
            pid,
        }
    }

    fn work(&mut self) {
        let stdin = self.process.0.stdin.as_mut().unwrap();
        stdin.write_all(b"go\n").unwrap();
        self.lines.next().unwrap().unwrap();
    }
}

#[test]
fn children_are_counted() {
    let mut parent = Python::start(FORKING);
    let Some(calls) = trace(parent.pid) else {
        return;
    };
    parent.work();
    let traced = complete(calls, parent.pid);
    let counts = named(&traced, ["getppid", "wait4", "exit_group"]);
    assert_eq!(counts, [20 * 50, 20, 20]);
}

#[test]
fn a_process_that_is_killed_leaves_its_calls() {
    let mut busy = Python::start("import os\nprint(flush=True)\nwhile True: os.getppid()");
    let pid = busy.pid;
    let Some(calls) = trace(pid) else {
        return;
    };
    // User and system time, in hundredths of a second.
    let used = || -> u64 {
        let stat = stat(pid, pid.cast_signed()).unwrap();
        let ticks = stat[11..13]
            .iter()
            .map(|ticks| ticks.parse::<u64>().unwrap());
        ticks.sum()
    };
    let before = used();
    until("5 hundredths of a second", || {
        (used() >= before + 5).then_some(())
    });
    busy.process.0.kill().unwrap();
    busy.process.0.wait().unwrap();
    let traced = calls.finish();
    assert!(traced.by_name["getppid"] > 1000, "{traced:?}");
    assert_eq!(traced.by_name.len(), 1, "{traced:?}");
    let ended = SystemCalls::start(|| Ok(BTreeSet::from([pid.cast_signed()])), &[]);
    let Unavailable { why, remedy, .. } = ended.unwrap_err();
    assert_eq!((&*why, remedy), ("the processes have ended", None));
}

#[test]
fn tracing_ends_when_it_is_dropped() {
    let server = Server::start();
    let Some(calls) = trace(server.pid()) else {
        return;
    };
    drop(calls);
    let name_of = |entry: io::Result<fs::DirEntry>| {
        fs::read_to_string(entry.unwrap().path().join("comm")).unwrap_or_default()
    };
    // Other tests have such threads at the same time, each for a few seconds at most.
    until("the end of all traces", || {
        let mut tasks = fs::read_dir("/proc/self/task").unwrap();
        (!tasks.any(|entry| name_of(entry) == "trace\n")).then_some(())
    });
}

/// Switches, faults and memory of a process that does a known amount of each when it reads a line.
const BUSY: &str = r#"
import mmap, sys, time
print(flush=True)
sys.stdin.readline()
for _ in range(50):
    time.sleep(0.001)
memory = mmap.mmap(-1, 4096 * 3000)
for page in range(3000):
    memory[4096 * page] = 1
print(flush=True)
sys.stdin.readline()
"#;

#[test]
fn proc_has_switches_faults_and_memory() {
    let mut process = Python::start(BUSY);
    let pids = [process.pid.cast_signed()];
    let before = Activity::read(&pids).unwrap();
    process.work();
    let used = Activity::read(&pids).unwrap().since(&before);
    // A thread that was preempted just before a sleep may find it over.
    assert!((40..70).contains(&used.voluntary_switches), "{used:?}");
    // Huge pages would need fewer; the mapping is shared memory, which is not anonymous.
    assert!(used.minor_faults > 0, "{used:?}");
    assert_eq!(used.busy_threads, 1, "{used:?}");
    assert_eq!(used.unavailable, []);
    assert!(Activity::read(&[i32::MAX]).is_err());
}
