//! Checks a server's responses to every workload, before any load.

use std::panic::resume_unwind;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use prony_load::{Conversation, EncodedTraffic, Endpoint, ExchangeError, FlowFault};
use prony_model::{VerifyResult, VerifyVerdict};
use prony_server::{Logs, Next, Patience, Probe, Server, with_short_lines};
use prony_traffic::Expected;
use prony_traffic::expected::LineOf;
use prony_traffic::{Mismatch, Response};

use super::bench::{Task, Testbed};
use super::process::{Access, AccessError, Process, Target};
use crate::prepared_traffic::PreparedTraffic;
use crate::response::{CONNECTIONS, DRAWS_PER_CONNECTION, Draws};

/// How long one response may take while there is no load.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the first one may take, before it is known whether there is a server.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a server may take from SIGTERM to its end.
pub(super) const STOP_GRACE: Duration = Duration::from_secs(2);
/// How long after a response Prony waits for its log lines.
const LOG_SETTLE: Duration = Duration::from_secs(2);
/// How long Prony waits for the end of a server that closed or refused a connection.
pub(super) const END_TIME: Duration = Duration::from_secs(1);
/// How often a workload is requested: often enough to see that a connection stays open.
const REQUESTS: usize = 2;
/// The statuses of a server or a proxy that is not available, for instance because it still starts.
const UNAVAILABLE: [u16; 3] = [502, 503, 504];
/// The same of a gRPC call.
const UNAVAILABLE_CALL: &str = "14";
/// A log that does not grow for this long counts as complete.
const LOG_QUIET: Duration = Duration::from_millis(50);
/// How often a logged workload is requested, to see that every request has its line.
const LOGGED_REQUESTS: usize = 3;
/// How long a flow may take while there is no load.
const LONGEST_FLOW: Duration = Duration::from_secs(60);
/// How long Prony requests lines that should be drawn at random, before it judges those it has.
const LONGEST_DRAWING: Duration = Duration::from_secs(10);

/// The result of verifying one server.
#[derive(Default)]
pub struct Verification {
    /// The result for each workload that it was requested.
    pub verified: Vec<VerifyResult>,
    /// The logs of its processes with wrong responses, which are kept.
    pub logs: Vec<Logs>,
    /// Why it did not start, or how it ended, with what it wrote; `None` if it responded to every request, correctly or
    /// not.
    pub failed: Option<String>,
}

/// Why a server was not requested all of its workloads.
enum Unverified {
    Interrupted,
    Failed(String),
}

/// Starts the server, unless it already runs, and requests every workload that it serves, one after the other. Its port is
/// encrypted or not, so it starts again for the workloads over TLS. `None` if the user stopped it.
pub fn verify_server(
    testbed: &Testbed,
    server: &Server,
    access: &Access,
    tasks: &[Task],
) -> Option<Verification> {
    // Only workloads that the manifest lists must be served.
    let serves = |task: &&Task| server.manifest.workloads.contains(&task.workload.id);
    let tasks = tasks.iter().filter(serves);
    let (over_tls, plain): (Vec<&Task>, Vec<&Task>) = tasks.partition(|task| task.tls.is_some());
    let mut all = Verification::default();
    for tasks in [plain, over_tls] {
        match verify_tasks(testbed, server, access, &tasks, &mut all) {
            Ok(()) => {}
            Err(Unverified::Interrupted) => return None,
            Err(Unverified::Failed(reason)) => {
                all.failed = Some(reason);
                break;
            }
        }
    }
    Some(all)
}

/// Requests workloads of the same kind, all or none over TLS, and adds their results to those of `all` others.
fn verify_tasks(
    testbed: &Testbed,
    server: &Server,
    access: &Access,
    tasks: &[&Task],
    all: &mut Verification,
) -> Result<(), Unverified> {
    let Some(&first) = tasks.first() else {
        return Ok(());
    };
    // Any response shows that it started. Each workload then waits for its own first expected response.
    let mut ready = |target: &Target| match access {
        Access::Outside(_) => Probe::Right,
        Access::Start(_) => match probe(target, first, PROBE_TIMEOUT, &testbed.interrupt) {
            Probe::NotYet(reason) => Probe::NotYet(reason),
            Probe::Right | Probe::Unavailable(_) | Probe::Wrong(_) => Probe::Right,
        },
    };
    let earlier = all.verified.len();
    let not_started = |reason: String| {
        Unverified::Failed(if earlier > 0 {
            format!("over TLS: {reason}")
        } else {
            reason
        })
    };
    let mut start = matches!(access, Access::Start(_)).then(|| Start::of(testbed));
    let kind = first.tls.as_ref().map_or("", |_| "-tls");
    let name = format!("{}-verify{kind}", server.id);
    let started = Process::bring_up(testbed, &name, first, access, None, &mut ready);
    let (mut running, _) = started.map_err(|error| {
        if error.is_interrupted() {
            return Unverified::Interrupted;
        }
        // What the server wrote may contain a secret of any request.
        let hide = |text: String, task: &&Task| task.hide_secrets(&text);
        let reason = tasks.iter().fold(error.to_string(), hide);
        not_started(with_short_lines(&reason))
    })?;
    for &task in tasks {
        if testbed.is_interrupted() {
            return Err(Unverified::Interrupted);
        }
        let ready = match &mut start {
            Some(start) => start.wait(testbed, &mut running, task),
            None => Ok(()),
        };
        let keep_alive = server.manifest.keep_alive;
        let verdict = ready.and_then(|()| verify_task(testbed, &mut running, task, keep_alive));
        let verdict = match verdict {
            Ok(()) => VerifyVerdict::Right,
            // It had no time to respond.
            Err(_) if testbed.is_interrupted() => return Err(Unverified::Interrupted),
            Err(fault) => {
                if all.verified.len() == earlier
                    && let Some(wrong) = running.wrong_scheme()
                {
                    return Err(not_started(wrong.in_project_file()));
                }
                verdict_on(fault, &mut running, task).map_err(Unverified::Failed)?
            }
        };
        all.verified.push(VerifyResult {
            workload: task.workload.id.clone(),
            verdict,
        });
    }
    running.stop(STOP_GRACE);
    let is_right = |result: &VerifyResult| result.verdict == VerifyVerdict::Right;
    if all.verified[earlier..].iter().all(is_right) {
        running.discard_logs();
    } else {
        all.logs.extend(running.logs().cloned());
    }
    Ok(())
}

/// The verdict on a task with a fault; `Err` with how the server ended, if it did.
fn verdict_on(fault: Fault, server: &mut Process, task: &Task) -> Result<VerifyVerdict, String> {
    let time = match fault {
        Fault::NoResponse(_) => END_TIME,
        Fault::Unavailable(_) | Fault::Wrong(_) => Duration::ZERO,
    };
    let during = format!("while Prony requested `{}`", task.workload.id);
    if let Some(reason) = ended(server, task, &during, time) {
        return Err(reason);
    }
    let Mismatch { expected, received } = fault.into();
    let received = match task.placeholder_without_values() {
        None => received,
        Some(placeholder) => format!(
            "{received}; the request has {placeholder} as text: for a value, add the table `values`"
        ),
    };
    Ok(VerifyVerdict::Wrong { expected, received })
}

/// The start of a server: the time that it has until it responds as expected, shared by all workloads.
struct Start {
    begin: Instant,
    patience: Patience,
    /// Whether it has sent an expected response.
    is_ready: bool,
}

impl Start {
    fn of(testbed: &Testbed) -> Self {
        Self {
            begin: Instant::now(),
            patience: Patience::new(testbed.ready_timeout),
            is_ready: false,
        }
    }

    /// Waits until the server sends the first expected response to this task. `Err` with the last fault, if it does not in
    /// time.
    fn wait(&mut self, testbed: &Testbed, running: &mut Process, task: &Task) -> Result<(), Fault> {
        loop {
            let target = running.target(task);
            let target = target.map_err(|error| Fault::NoResponse(error.to_string()))?;
            let Err(fault) = request_task(&target, task, RESPONSE_TIMEOUT, &testbed.interrupt)
            else {
                break;
            };
            let probed = match fault.as_probe() {
                Probe::NotYet(_) | Probe::Wrong(_) if self.is_ready => return Err(fault),
                // It has responded before, so this is not the silence of a server that does not listen yet.
                Probe::NotYet(reason) => Probe::Wrong(reason),
                probed => probed,
            };
            match self.patience.after(probed, self.begin.elapsed()) {
                Next::Pause(pause) if !testbed.is_interrupted() && running.exited().is_none() => {
                    thread::sleep(pause);
                }
                _ => return Err(fault),
            }
        }
        self.is_ready = true;
        if task.workload.log_lines() > 0 {
            settle_quiet(running);
        }
        Ok(())
    }
}

/// How a server ended, if it does within `time`: it would refuse every further request.
pub(super) fn ended(
    server: &mut Process,
    task: &Task,
    during: &str,
    time: Duration,
) -> Option<String> {
    let exit = server.exits_within(time)?;
    let output = task.hide_in_error(&server.output());
    Some(format!("the server {exit} {during}; {output}"))
}

/// Starts a server on the testbed and waits until it sends the expected response; if it already runs, it must send it at
/// once.
///
/// # Errors
/// If it ends, does not respond in time or responds wrongly, or the testbed is interrupted.
pub fn start_ready(
    testbed: &Testbed,
    name: &str,
    access: &Access,
    task: &Task,
) -> Result<Process, AccessError> {
    let mut ready = |target: &Target| probe(target, task, RESPONSE_TIMEOUT, &testbed.interrupt);
    let (running, _) = Process::bring_up(testbed, name, task, access, None, &mut ready)?;
    Ok(running)
}

/// Sends one request over its own connection, or goes through the scenario once, and looks at the response.
pub(super) fn probe(
    target: &Target,
    task: &Task,
    timeout: Duration,
    interrupt: &AtomicBool,
) -> Probe {
    match request_task(target, task, timeout, interrupt) {
        Ok(()) => Probe::Right,
        Err(fault) => fault.as_probe(),
    }
}

fn request_task(
    target: &Target,
    task: &Task,
    timeout: Duration,
    interrupt: &AtomicBool,
) -> Result<(), Fault> {
    let sent = Sent::new(target, task, timeout, interrupt)?;
    sent.once(&mut sent.converse()).map(drop)
}

/// What verifying a workload took: all requests had the expected response.
pub(super) struct Verified {
    pub(crate) requests: usize,
    /// Whether every connection stayed open from response to response.
    pub(crate) kept_open: bool,
}

/// Why a workload is not verified.
pub(super) enum Fault {
    /// No complete response was received; what was received instead.
    NoResponse(String),
    /// The server says that it is not available.
    Unavailable(Mismatch),
    Wrong(Mismatch),
}

impl Fault {
    /// What is wrong with this response.
    fn of(mismatch: Mismatch, response: &Response) -> Self {
        let is_unavailable = is_unavailable(response.status)
            || response.header("grpc-status") == Some(UNAVAILABLE_CALL);
        if is_unavailable {
            Self::Unavailable(mismatch)
        } else {
            Self::Wrong(mismatch)
        }
    }

    fn as_probe(&self) -> Probe {
        match self {
            Self::NoResponse(reason) => Probe::NotYet(reason.clone()),
            Self::Unavailable(mismatch) => Probe::Unavailable(mismatch.to_string()),
            Self::Wrong(mismatch) => Probe::Wrong(mismatch.to_string()),
        }
    }
}

/// Whether a response with this status says that the server is not available, perhaps because it still starts.
pub fn is_unavailable(status: u16) -> bool {
    UNAVAILABLE.contains(&status)
}

impl From<Mismatch> for Fault {
    fn from(mismatch: Mismatch) -> Self {
        Self::Wrong(mismatch)
    }
}

impl From<Fault> for Mismatch {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::NoResponse(received) => Self {
                expected: "a response".to_owned(),
                received,
            },
            Fault::Unavailable(mismatch) | Fault::Wrong(mismatch) => mismatch,
        }
    }
}

fn verify_task(
    testbed: &Testbed,
    server: &mut Process,
    task: &Task,
    keep_alive: bool,
) -> Result<(), Fault> {
    let log_lines = task.workload.log_lines();
    let before = (log_lines > 0).then(|| Lines::of(server));
    let target = server.target(task);
    let target = target.map_err(|error| Fault::NoResponse(error.to_string()))?;
    let sent = Sent::new(&target, task, RESPONSE_TIMEOUT, &testbed.interrupt)?;
    let expected = task.traffic.expected();
    let drawn = expected.and_then(|expected| Some((expected, expected.drawn_lines()?)));
    let verified = match drawn {
        Some((expected, lines)) => sent.verify_draws(expected, lines)?,
        None => sent.verify_some(log_lines > 0)?,
    };
    if keep_alive && task.workload.protocol().is_http1() && !verified.kept_open {
        return Err(not_kept_open().into());
    }
    match before {
        Some(Ok(before)) => Ok(verify_log(server, before, log_lines, verified.requests)?),
        Some(Err(error)) => Err(log_unreadable(&error).into()),
        None => Ok(()),
    }
}

/// What a task sends to a server.
struct Sent<'a> {
    target: &'a Target,
    task: &'a Task,
    endpoint: Endpoint,
    encoded: EncodedTraffic<'static>,
    /// How long a response may take.
    timeout: Duration,
    interrupt: &'a AtomicBool,
}

impl<'a> Sent<'a> {
    fn new(
        target: &'a Target,
        task: &'a Task,
        timeout: Duration,
        interrupt: &'a AtomicBool,
    ) -> Result<Self, Fault> {
        let traffic = task.traffic.encode(&target.authority);
        let (_, traffic) = traffic.map_err(Fault::NoResponse)?;
        let encoded = EncodedTraffic::owning(traffic);
        Ok(Self {
            target,
            task,
            endpoint: target.address.into(),
            encoded: encoded.map_err(|error| Fault::NoResponse(error.to_string()))?,
            timeout,
            interrupt,
        })
    }

    fn converse(&self) -> Conversation<'_> {
        let client = self.target.client.as_ref();
        Conversation::new(&self.endpoint, &self.encoded, client, self.timeout)
    }

    /// Sends the request, or those of one flow, and returns how many that were.
    fn once(&self, conversation: &mut Conversation<'_>) -> Result<usize, Fault> {
        match &self.task.traffic {
            PreparedTraffic::Request { expected, .. } => {
                self.respond(conversation, expected).map(|_| 1)
            }
            PreparedTraffic::Scenario(_) => {
                let until = Instant::now() + LONGEST_FLOW;
                let went = conversation.flow(until, self.interrupt);
                went.map_err(|fault| self.fault_of(fault))
            }
        }
    }

    /// The expected response.
    fn respond(
        &self,
        conversation: &mut Conversation<'_>,
        expected: &Expected,
    ) -> Result<Response, Fault> {
        let response = conversation.request();
        let response = response.map_err(|error| Fault::NoResponse(self.explained(&error)))?;
        let checked = expected.check(&response);
        checked.map_err(|mismatch| Fault::of(mismatch, &response))?;
        Ok(response)
    }

    fn explained(&self, error: &ExchangeError) -> String {
        self.task.hide_secrets(&self.target.explain(error))
    }

    /// Why a flow did not reach its end, with the name of the request.
    fn fault_of(&self, fault: FlowFault) -> Fault {
        let file = self.task.traffic.file();
        match fault {
            FlowFault::Unfinished => Fault::NoResponse(format!(
                "a flow through {file} did not end within {} s",
                LONGEST_FLOW.as_secs()
            )),
            FlowFault::NoRequest(received) => Fault::Wrong(Mismatch {
                expected: format!(
                    "responses with the values that {file} needs for its next request"
                ),
                received,
            }),
            FlowFault::Exchange { entry, error } => {
                Fault::NoResponse(format!("{entry}: {}", self.explained(&error)))
            }
            FlowFault::Rejected {
                entry,
                status,
                rejection,
            } => {
                let mismatch = Mismatch {
                    expected: format!("a response to {entry} as in {file}"),
                    received: rejection.detail,
                };
                if is_unavailable(status) {
                    Fault::Unavailable(mismatch)
                } else {
                    Fault::Wrong(mismatch)
                }
            }
        }
    }

    /// Sends the request, or a flow, a few times over one connection.
    fn verify_some(&self, is_logged: bool) -> Result<Verified, Fault> {
        let times = if is_logged { LOGGED_REQUESTS } else { REQUESTS };
        let mut conversation = self.converse();
        let mut requests = 0;
        for _ in 0..times {
            requests += self.once(&mut conversation)?;
        }
        Ok(Verified {
            requests,
            kept_open: conversation.connections() == 1,
        })
    }

    /// Sends many requests over several connections, and tests which lines were drawn. If the server keeps the first
    /// connection open, the others run in parallel: some servers take 40 ms per response on a connection (Nagle's
    /// algorithm).
    fn verify_draws(&self, expected: &Expected, lines: &LineOf) -> Result<Verified, Fault> {
        let deadline = Instant::now() + LONGEST_DRAWING;
        let draw = || self.draw(expected, deadline);
        let mut drawn = vec![draw()?];
        let others = CONNECTIONS - 1;
        if drawn[0].kept_open {
            thread::scope(|scope| {
                let threads: Vec<_> = (0..others).map(|_| scope.spawn(draw)).collect();
                for thread in threads {
                    drawn.push(thread.join().unwrap_or_else(|panic| resume_unwind(panic))?);
                }
                Ok::<(), Fault>(())
            })?;
        } else {
            for _ in 0..others {
                drawn.push(draw()?);
            }
        }
        let kept_open = drawn.iter().all(|one| one.kept_open);
        let sequences: Vec<Vec<usize>> = drawn.into_iter().map(|one| one.lines).collect();
        let requests = sequences.iter().map(Vec::len).sum();
        Draws::new(lines, sequences, kept_open).check()?;
        Ok(Verified {
            requests,
            kept_open,
        })
    }

    fn draw(&self, expected: &Expected, deadline: Instant) -> Result<Drawn, Fault> {
        let mut conversation = self.converse();
        let mut drawn = Vec::with_capacity(DRAWS_PER_CONNECTION);
        while drawn.len() < DRAWS_PER_CONNECTION && Instant::now() < deadline {
            let response = self.respond(&mut conversation, expected)?;
            drawn.extend(expected.line(&response));
        }
        Ok(Drawn {
            lines: drawn,
            kept_open: conversation.connections() <= 1,
        })
    }
}

/// The responses of one connection.
struct Drawn {
    lines: Vec<usize>,
    kept_open: bool,
}

fn not_kept_open() -> Mismatch {
    Mismatch {
        expected: "a connection kept open for the next request, as in HTTP/1.1"
            .to_owned(),
        received: "the server closed it after a response; if that is intended, add `keep_alive = false` to its manifest"
            .to_owned(),
    }
}

/// Requires exactly the expected number of log lines.
fn verify_log(
    server: &mut Process,
    before: Lines,
    each: u32,
    times: usize,
) -> Result<(), Mismatch> {
    let expected = u64::from(each) * times as u64;
    settle_log(server, before.output + expected);
    // Waits for extra lines, which follow the expected ones almost at once.
    thread::sleep(Duration::from_millis(5));
    let now = Lines::of(server).map_err(|error| log_unreadable(&error))?;
    let (written, errors) = (now.output - before.output, now.errors - before.errors);
    if written == expected {
        return Ok(());
    }
    Err(Mismatch {
        expected: format!("{expected} lines on standard output for {times} requests"),
        received: match errors {
            0 => format!("{written} lines"),
            _ => format!("{written} lines, and {errors} on standard error, which are not counted"),
        },
    })
}

/// How many lines a server has written.
struct Lines {
    output: u64,
    errors: u64,
}

impl Lines {
    fn of(server: &mut Process) -> std::io::Result<Self> {
        Ok(Self {
            output: server.log_lines()?,
            errors: server.error_lines()?,
        })
    }
}

/// Waits until the log has `lines` lines, or the time is up.
pub(super) fn settle_log(server: &mut Process, lines: u64) {
    let until = Instant::now() + LOG_SETTLE;
    while server.log_lines().is_ok_and(|count| count < lines) && Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until the log has stopped growing for a moment, or the time is up.
pub(super) fn settle_quiet(server: &mut Process) {
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
        received: error.to_string(),
    }
}
