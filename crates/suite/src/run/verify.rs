//! Checks that a server answers every workload right, before any load.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use prony_load::wire::grpc::Call;
use prony_load::{Answer, AnswerCheck, HttpUrl, Mismatch, Request, WireRequest, exchange};
use prony_record::{VerifyResult, VerifyVerdict};
use prony_subject::{
    BringUpError, Built, Launch, NotReady, PortSource, Probe, Ready, Server, Subject, bring_up,
};

use super::{Bench, Task};
use crate::answer::{DRAWS, draws_vary};
use crate::workload;

/// How long one answer may take while there is no load.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a server may take from SIGTERM to its end.
pub(super) const STOP_GRACE: Duration = Duration::from_secs(2);
/// How long log lines may take from the answer to the log.
const LOG_SETTLE: Duration = Duration::from_secs(2);
/// A log that does not grow for so long is taken to be done.
const LOG_QUIET: Duration = Duration::from_millis(50);
/// How often a logged workload is asked for, to see that every request has its line.
const LOGGED_REQUESTS: usize = 3;

/// What came of verifying one subject.
pub enum Verification {
    /// It answered, right or wrong.
    Answered(Vec<VerifyResult>),
    /// It never answered anything.
    NotStarted(String),
    /// The user stopped it.
    Interrupted,
}

/// Starts the server and asks for every workload that it serves in turn.
pub fn verify_subject(
    bench: &Bench,
    subject: &Subject,
    built: &Built,
    tasks: &[Task],
    ports: &mut dyn PortSource,
    interrupt: &AtomicBool,
) -> Verification {
    // A workload that a subject does not claim to serve is not held against it.
    let serves = |task: &&Task| subject.manifest.workloads.contains(&task.workload.id);
    let tasks: Vec<&Task> = tasks.iter().filter(serves).collect();
    let Some(&first) = tasks.first() else {
        return Verification::Answered(Vec::new());
    };
    // Here any answer will do to begin with: the wrong ones are to be shown workload by workload.
    let mut probe = |address| match ask(address, first, Duration::from_secs(1)) {
        Ok(_) => Probe::Right,
        Err(_) => Probe::NotYet,
    };
    let started = start(
        bench,
        &format!("{}-verify", subject.id),
        built,
        ports,
        &mut probe,
        interrupt,
    );
    let (mut server, _) = match started {
        Ok(started) => started,
        Err(BringUpError::NotReady(NotReady::Interrupted)) => return Verification::Interrupted,
        Err(error) => return Verification::NotStarted(error.to_string()),
    };
    let mut verified = Vec::with_capacity(tasks.len());
    for task in tasks {
        if interrupt.load(Relaxed) {
            return Verification::Interrupted;
        }
        verified.push(VerifyResult {
            workload: task.workload.id.clone(),
            verdict: match verify_task(&mut server, task) {
                Ok(()) => VerifyVerdict::Right,
                Err(Mismatch { expected, came }) => VerifyVerdict::Wrong { expected, came },
            },
        });
    }
    server.stop(STOP_GRACE);
    if verified
        .iter()
        .all(|result| result.verdict == VerifyVerdict::Right)
    {
        discard_log(&server);
    }
    Verification::Answered(verified)
}

/// The log of a server that did well says nothing that the record does not.
pub(super) fn discard_log(server: &Server) {
    // Nothing depends on it: a log that stays only takes room.
    let _ = fs::remove_file(server.log_path());
}

/// Starts a server on the bench and waits until `probe` finds it ready.
pub(super) fn start(
    bench: &Bench,
    name: &str,
    built: &Built,
    ports: &mut dyn PortSource,
    probe: &mut dyn FnMut(SocketAddr) -> Probe,
    interrupt: &AtomicBool,
) -> Result<(Server, Ready), BringUpError> {
    let launch = Launch {
        guard: bench.guard.clone(),
        cpus: bench.cpus.server.clone(),
        host: IpAddr::V4(Ipv4Addr::LOCALHOST),
        assets: bench.layout.assets(),
        log: bench.logs.join(format!("{name}.log")),
    };
    bring_up(built, &launch, ports, probe, bench.ready_timeout, interrupt)
}

/// The URL and request of a workload on a server.
pub(super) fn request(address: SocketAddr, task: &Task) -> Result<(String, WireRequest), String> {
    match &task.workload.request {
        workload::Request::Http { method, path } => http_request(address, method, path),
        workload::Request::Grpc { path, message } => {
            let call = Call::new(path, &address.to_string(), &message.encode());
            let call = call.map_err(|error| error.to_string())?;
            Ok((format!("grpc://{address}{path}"), call.into()))
        }
    }
}

fn http_request(
    address: SocketAddr,
    method: &str,
    path: &str,
) -> Result<(String, WireRequest), String> {
    let url: HttpUrl = format!("http://{address}{path}")
        .parse()
        .map_err(|error: prony_load::TargetError| error.to_string())?;
    let request = Request::new(method, &url, &[], b"").map_err(|error| error.to_string())?;
    Ok((url.as_str().to_owned(), request.into()))
}

/// Asks once, over a connection of its own.
pub(super) fn ask(address: SocketAddr, task: &Task, timeout: Duration) -> Result<Answer, String> {
    let (_, request) = request(address, task)?;
    exchange(address, &request, timeout).map_err(|error| error.to_string())
}

fn verify_task(server: &mut Server, task: &Task) -> Result<(), Mismatch> {
    let logged = task.workload.answer.log_lines > 0;
    let before = logged.then(|| server.log_lines());
    let times = match (task.right.is_drawn(), logged) {
        (true, _) => DRAWS,
        (false, true) => LOGGED_REQUESTS,
        (false, false) => 1,
    };
    let mut answers = Vec::with_capacity(times);
    for _ in 0..times {
        let answer = ask(server.address(), task, ANSWER_TIMEOUT).map_err(|came| Mismatch {
            expected: "an answer".to_owned(),
            came,
        })?;
        task.right.check(&answer)?;
        answers.push(answer);
    }
    if task.right.is_drawn() {
        draws_vary(&answers)?;
    }
    match before {
        Some(Ok(before)) => verify_log(server, before, task.workload.answer.log_lines, times),
        Some(Err(error)) => Err(log_unreadable(&error)),
        None => Ok(()),
    }
}

/// Exactly the lines that are owed must come.
fn verify_log(server: &mut Server, before: u64, each: u32, times: usize) -> Result<(), Mismatch> {
    let owed = u64::from(each) * times as u64;
    settle_log(server, before + owed);
    // One line too many would come about as soon as the last one that is owed.
    thread::sleep(Duration::from_millis(5));
    let written = server.log_lines().map_err(|error| log_unreadable(&error))? - before;
    if written == owed {
        return Ok(());
    }
    Err(Mismatch {
        expected: format!("{owed} lines on standard output for {times} requests"),
        came: format!("{written} lines"),
    })
}

/// Waits until the log has `lines` lines, or long enough.
pub(super) fn settle_log(server: &mut Server, lines: u64) {
    let until = Instant::now() + LOG_SETTLE;
    while server.log_lines().is_ok_and(|count| count < lines) && Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until the log has stopped growing for a moment, or long enough.
pub(super) fn settle_quiet(server: &mut Server) {
    let until = Instant::now() + LOG_SETTLE;
    let mut last = None;
    loop {
        let lines = server.log_lines().ok();
        if lines == last || Instant::now() > until {
            return;
        }
        last = lines;
        thread::sleep(LOG_QUIET);
    }
}

fn log_unreadable(error: &std::io::Error) -> Mismatch {
    Mismatch {
        expected: "a log that can be read".to_owned(),
        came: error.to_string(),
    }
}
