//! Waiting for a server's first expected response.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::build::Built;
use crate::port::{Listener, PortSource, addresses_of, listener_of, says_address_in_use};
use crate::running::{Launch, RunningServer, StartError};
use crate::supervisor::Exit;
use prony_system::monotonic_ns;

/// Prony pauses for one part in this many of the time so far, which bounds the error of a startup time.
const PAUSE_DIVISOR: u32 = 20;

/// The shortest and the longest pause.
const SHORTEST_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(4);

/// A server may respond wrongly while it starts, but no longer than this.
const WRONG_GRACE: Duration = Duration::from_secs(2);

/// How long a server that did not respond may take to flush its output.
const FLUSH_GRACE: Duration = Duration::from_secs(1);

/// How long a server that is about to end may take to stop its whole tree.
const EXIT_WAIT: Duration = Duration::from_millis(500);

/// Prony looks for a message about a taken port in this many last lines of the logs.
const PORT_TAIL_LINES: usize = 100;

/// How many ports are tried.
const MOST_PORTS: u32 = 3;

/// The result of one try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The expected response.
    Right,
    /// No complete response, for this reason: refused, closed or not in time.
    NotYet(String),
    /// Another response; the text says what was expected and what was received.
    Wrong(String),
}

/// A server's first expected response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// From the execution of its command to that response, in nanoseconds.
    pub startup_ns: u64,
}

/// Why a running server did not become ready.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// It ended before it sent one.
    #[error("the server {exit} before it sent the expected response; {output}")]
    ExitedEarly {
        /// How it ended.
        exit: Exit,
        /// What it wrote, and the paths of its logs.
        output: String,
    },
    /// No complete response.
    #[error("the server sent no complete response within {timeout:?}: {why}; {output}")]
    NeverResponded {
        /// How long Prony waited.
        timeout: Duration,
        /// Where it listens instead, or the error of the last try.
        why: String,
        /// What it wrote, and the paths of its logs.
        output: String,
    },
    /// Only wrong responses.
    #[error("the server sends a wrong response: {mismatch}; {output}")]
    WrongResponse {
        /// What was expected, and what was received last.
        mismatch: String,
        /// What it wrote, and the paths of its logs.
        output: String,
    },
    /// The responses come from another program.
    #[error("another program listens on port {port}")]
    PortTaken {
        /// The port.
        port: u16,
    },
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl NotReady {
    /// Whether another port may help.
    fn is_taken_port(&self, server: &RunningServer) -> bool {
        match self {
            NotReady::PortTaken { .. } => true,
            // Some programs print a long stack trace after the reason.
            NotReady::ExitedEarly { .. } => {
                says_address_in_use(&server.logs().last(PORT_TAIL_LINES))
            }
            _ => false,
        }
    }
}

/// Why a server could not be brought up.
#[derive(Debug, thiserror::Error)]
pub enum BringUpError {
    /// It could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It did not become ready.
    #[error(transparent)]
    NotReady(#[from] NotReady),
    /// Every port that was tried was taken before the server could use it.
    #[error(
        "{tries} free ports in a row were taken before the server could use them; is another program taking ports? Last: {last}"
    )]
    PortsTaken {
        /// How many were tried.
        tries: u32,
        /// What happened with the last port.
        last: NotReady,
    },
}

/// Probes a server until it sends its first expected response.
///
/// A probe must limit its own time. Prony checks that an expected response came from the server itself.
///
/// # Errors
/// If the server ends, does not respond within `timeout` or responds wrongly, or `interrupt` is set.
pub fn wait_ready(
    server: &mut RunningServer,
    probe: &mut dyn FnMut(SocketAddr) -> Probe,
    timeout: Duration,
    interrupt: &AtomicBool,
) -> Result<Ready, NotReady> {
    let begin = Instant::now();
    let mut wait = Wait::new(timeout);
    loop {
        match probe(server.address()) {
            Probe::Right => {
                let now = monotonic_ns();
                confirm(server)?;
                let startup_ns = now.saturating_sub(server.started_at_ns());
                return Ok(Ready { startup_ns });
            }
            Probe::NotYet(reason) => wait.not_yet(reason),
            Probe::Wrong(mismatch) => wait.wrong(mismatch, begin.elapsed()),
        }
        fail_if_exited(server)?;
        if interrupt.load(Ordering::Relaxed) {
            return Err(NotReady::Interrupted);
        }
        match wait.after(begin.elapsed()) {
            Next::Pause(pause) => std::thread::sleep(pause),
            Next::Silent(last) => return Err(never_responded(server, timeout, last)),
            Next::Wrong(mismatch) => return Err(responded_wrongly(server, mismatch)),
        }
    }
}

/// Decides how long a server is probed. Times are those since the first probe.
struct Wait {
    timeout: Duration,
    /// When the first wrong response came, and what was wrong with the last one.
    wrong: Option<(Duration, String)>,
    /// Why there was no response to the last probe without one.
    last: String,
}

/// What follows a probe without the expected response.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Another one, after this time.
    Pause(Duration),
    /// None: the server does not respond.
    Silent(String),
    /// None: the server responds wrongly.
    Wrong(String),
}

impl Wait {
    fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            wrong: None,
            last: String::new(),
        }
    }

    fn not_yet(&mut self, reason: String) {
        self.last = reason;
    }

    fn wrong(&mut self, mismatch: String, now: Duration) {
        let since = self.wrong.as_ref().map_or(now, |(since, _)| *since);
        self.wrong = Some((since, mismatch));
    }

    fn after(&self, now: Duration) -> Next {
        let late = now >= self.timeout;
        match &self.wrong {
            Some((since, mismatch)) if late || now - *since >= WRONG_GRACE => {
                Next::Wrong(mismatch.clone())
            }
            None if late => Next::Silent(self.last.clone()),
            _ => Next::Pause((now / PAUSE_DIVISOR).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)),
        }
    }
}

/// Starts a server and waits for its first expected response. If another program took its port meanwhile, tries again
/// with another port, three times in all.
///
/// # Errors
/// As [`RunningServer::start`] and [`wait_ready`]; a server that is not ready has been killed.
pub fn bring_up(
    built: &Built,
    launch: &Launch,
    ports: &mut dyn PortSource,
    probe: &mut dyn FnMut(SocketAddr) -> Probe,
    timeout: Duration,
    interrupt: &AtomicBool,
) -> Result<(RunningServer, Ready), BringUpError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let mut server = RunningServer::start(built, launch, ports)?;
        match wait_ready(&mut server, probe, timeout, interrupt) {
            Ok(ready) => return Ok((server, ready)),
            Err(error) if !error.is_taken_port(&server) => return Err(error.into()),
            Err(last) if tries == MOST_PORTS => {
                return Err(BringUpError::PortsTaken { tries, last });
            }
            Err(_) => {}
        }
    }
}

/// Checks that the response came from the server, not from another program that already had the port.
fn confirm(server: &mut RunningServer) -> Result<(), NotReady> {
    fail_if_exited(server)?;
    let port = server.address().port();
    let pids = server.tree().pids().unwrap_or_default();
    match listener_of(port, &pids) {
        Listener::Foreign => {
            // A server that is about to end has already closed its port.
            fail_if_exits_within(server, EXIT_WAIT)?;
            Err(NotReady::PortTaken { port })
        }
        Listener::Ours | Listener::Unknown => Ok(()),
    }
}

fn fail_if_exited(server: &mut RunningServer) -> Result<(), NotReady> {
    fail_if_exits_within(server, Duration::ZERO)
}

fn fail_if_exits_within(server: &mut RunningServer, time: Duration) -> Result<(), NotReady> {
    match server.exits_within(time) {
        None => Ok(()),
        Some(exit) => Err(NotReady::ExitedEarly {
            exit,
            output: server.logs().shown(),
        }),
    }
}

/// Stops the server, so that it flushes its output before Prony reads it.
fn never_responded(server: &mut RunningServer, timeout: Duration, last: String) -> NotReady {
    let pids = server.tree().pids().unwrap_or_default();
    let why = why_silent(server.address(), &addresses_of(&pids), &last);
    server.stop(FLUSH_GRACE);
    NotReady::NeverResponded {
        timeout,
        why,
        output: server.logs().shown(),
    }
}

/// Stops the server, so that its last line is complete.
fn responded_wrongly(server: &mut RunningServer, mismatch: String) -> NotReady {
    server.stop(FLUSH_GRACE);
    NotReady::WrongResponse {
        mismatch,
        output: server.logs().shown(),
    }
}

/// Why a server sent no complete response: it listens elsewhere, or else the error of the last try.
fn why_silent(address: SocketAddr, listens_on: &[SocketAddr], last: &str) -> String {
    let any = |ip: IpAddr| ip.is_unspecified() && (ip.is_ipv6() || address.is_ipv4());
    let reached = |other: &SocketAddr| {
        other.port() == address.port() && (other.ip() == address.ip() || any(other.ip()))
    };
    if listens_on.is_empty() {
        return format!("it does not listen on a TCP port ({last})");
    }
    if listens_on.iter().any(reached) {
        return last.to_owned();
    }
    let others: Vec<String> = listens_on.iter().map(SocketAddr::to_string).collect();
    let same_port = listens_on
        .iter()
        .any(|other| other.port() == address.port());
    let variable = if same_port { "HOST" } else { "PORT" };
    format!(
        "it listens on {} instead of {address}: does it read {variable}?",
        others.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn a_pause_is_a_twentieth_of_the_time_so_far_within_bounds() {
        let wait = Wait::new(ms(1000));
        let pauses = [(0, 100), (2, 100), (20, 1000), (60, 3000), (900, 4000)];
        for (after_ms, pause_us) in pauses {
            let pause = Next::Pause(Duration::from_micros(pause_us));
            assert_eq!(wait.after(ms(after_ms)), pause, "after {after_ms} ms");
        }
    }

    #[test]
    fn a_silent_server_is_probed_until_the_timeout() {
        let mut wait = Wait::new(ms(1000));
        wait.not_yet("refused".into());
        assert!(matches!(wait.after(ms(999)), Next::Pause(_)));
        wait.not_yet("closed".into());
        assert_eq!(wait.after(ms(1000)), Next::Silent("closed".into()));
    }

    #[test]
    fn wrong_responses_are_endured_for_two_seconds_but_not_beyond_the_timeout() {
        let mut wait = Wait::new(ms(60_000));
        wait.not_yet("refused".into());
        wait.wrong("starting".into(), ms(500));
        assert!(matches!(wait.after(ms(500)), Next::Pause(_)));
        // The grace counts from the first wrong response, and silence in between does not extend it.
        wait.not_yet("closed".into());
        wait.wrong("wrong".into(), ms(2400));
        assert!(matches!(wait.after(ms(2499)), Next::Pause(_)));
        assert_eq!(wait.after(ms(2500)), Next::Wrong("wrong".into()));

        let mut short = Wait::new(ms(1000));
        short.wrong("wrong".into(), ms(900));
        assert!(matches!(short.after(ms(999)), Next::Pause(_)));
        assert_eq!(short.after(ms(1000)), Next::Wrong("wrong".into()));
    }
}
