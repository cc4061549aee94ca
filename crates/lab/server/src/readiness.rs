//! Waiting for a server's first expected response.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::build::Built;
use crate::port::{Listener, addresses_of, listener_of, says_address_in_use};
use crate::running::{Launch, RunningServer, StartError};
use crate::supervisor::Exit;
use prony_kernel::monotonic_ns;

/// Prony pauses for one part in this many of the time so far, which bounds the error of a startup time.
const PAUSE_DIVISOR: u32 = 20;

const SHORTEST_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(4);

/// A server may respond wrongly while it starts, but no longer than this, unless it says that it is not available yet.
const WRONG_GRACE: Duration = Duration::from_secs(2);

/// How long a server that did not respond may take to flush its output.
const FLUSH_GRACE: Duration = Duration::from_secs(5);

/// How long a server that is about to end may take to stop its whole tree.
const EXIT_WAIT: Duration = Duration::from_millis(500);

/// Prony looks for a message about a taken port in this many last lines of the logs.
const PORT_TAIL_LINES: usize = 100;

const MOST_PORTS: u32 = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    Right,
    /// No complete response, for this reason: refused, closed or not in time.
    NotYet(String),
    /// A response that says that the server is not available, perhaps because it still starts; the text says what was
    /// expected and what was received.
    Unavailable(String),
    /// Another response; the text says what was expected and what was received.
    Wrong(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// From the execution of its command to that response, in nanoseconds.
    pub startup_ns: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    #[error("the server {exit} before it sent the expected response; {output}")]
    ExitedEarly {
        exit: Exit,
        /// What it wrote, and the paths of its logs.
        output: String,
    },
    #[error("the server sent no complete response within {timeout:?}: {why}; {output}")]
    NeverResponded {
        timeout: Duration,
        /// Where it listens instead, or the error of the last try.
        why: String,
        /// What it wrote, and the paths of its logs.
        output: String,
    },
    #[error("the server sends a wrong response: {mismatch}; {output}")]
    WrongResponse {
        /// What was expected, and what was received last.
        mismatch: String,
        /// What it wrote, and the paths of its logs.
        output: String,
    },
    #[error("another program listens on port {port}")]
    PortTaken { port: u16 },
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

#[derive(Debug, thiserror::Error)]
pub enum BringUpError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    NotReady(#[from] NotReady),
    /// Every port that was tried was taken before the server could use it.
    #[error(
        "{tries} free ports in a row were taken before the server could use them; is another program taking ports? Last: {last}"
    )]
    PortsTaken { tries: u32, last: NotReady },
}

/// Probes a server until it sends its first expected response.
///
/// A probe must limit its own time. Prony checks that an expected response came from the server itself.
pub fn wait_ready(
    server: &mut RunningServer,
    probe: &mut dyn FnMut(SocketAddr) -> Probe,
    timeout: Duration,
    interrupt: &AtomicBool,
) -> Result<Ready, NotReady> {
    let begin = Instant::now();
    let mut patience = Patience::new(timeout);
    loop {
        let probed = probe(server.address());
        if probed == Probe::Right {
            let now = monotonic_ns();
            confirm(server)?;
            let startup_ns = now.saturating_sub(server.started_at_ns());
            return Ok(Ready { startup_ns });
        }
        fail_if_exits_within(server, Duration::ZERO)?;
        if interrupt.load(Ordering::Relaxed) {
            return Err(NotReady::Interrupted);
        }
        match patience.after(probed, begin.elapsed()) {
            Next::Pause(pause) => std::thread::sleep(pause),
            Next::Silent(last) => return Err(never_responded(server, timeout, last)),
            Next::Wrong(mismatch) => return Err(responded_wrongly(server, mismatch)),
        }
    }
}

/// Decides how long a server is probed for its first expected response. Times are those since the first probe.
pub struct Patience {
    timeout: Duration,
    /// When the first wrong response came.
    wrong_since: Option<Duration>,
    /// What was wrong with the last response.
    mismatch: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Another one, after this time.
    Pause(Duration),
    Silent(String),
    Wrong(String),
}

impl Patience {
    /// A server may take `timeout` to be ready.
    pub fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            wrong_since: None,
            mismatch: None,
        }
    }

    /// What follows a probe that ended `now` without the expected response.
    pub fn after(&mut self, probed: Probe, now: Duration) -> Next {
        let mut silence = String::new();
        match probed {
            Probe::Right => {}
            Probe::NotYet(reason) => silence = reason,
            Probe::Unavailable(mismatch) => {
                self.wrong_since = None;
                self.mismatch = Some(mismatch);
            }
            Probe::Wrong(mismatch) => {
                self.wrong_since.get_or_insert(now);
                self.mismatch = Some(mismatch);
            }
        }
        let is_late = now >= self.timeout;
        let is_over = |since: Duration| now - since >= WRONG_GRACE;
        let is_wrong = self.wrong_since.is_some_and(is_over);
        match &self.mismatch {
            Some(mismatch) if is_late || is_wrong => Next::Wrong(mismatch.clone()),
            None if is_late => Next::Silent(silence),
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
    ports: &mut dyn FnMut(IpAddr) -> io::Result<u16>,
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
    fail_if_exits_within(server, Duration::ZERO)?;
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

    fn silent(reason: &str) -> Probe {
        Probe::NotYet(reason.to_owned())
    }

    fn wrong(mismatch: &str) -> Probe {
        Probe::Wrong(mismatch.to_owned())
    }

    #[test]
    fn a_pause_is_a_twentieth_of_the_time_so_far_within_bounds() {
        let mut patience = Patience::new(ms(1000));
        let pauses = [(0, 100), (2, 100), (20, 1000), (60, 3000), (900, 4000)];
        for (after_ms, pause_us) in pauses {
            let pause = Next::Pause(Duration::from_micros(pause_us));
            let next = patience.after(silent("refused"), ms(after_ms));
            assert_eq!(next, pause, "after {after_ms} ms");
        }
    }

    #[test]
    fn a_silent_server_is_probed_until_the_timeout() {
        let mut patience = Patience::new(ms(1000));
        let next = patience.after(silent("refused"), ms(999));
        assert!(matches!(next, Next::Pause(_)));
        let next = patience.after(silent("closed"), ms(1000));
        assert_eq!(next, Next::Silent("closed".into()));
    }

    #[test]
    fn wrong_responses_are_endured_for_two_seconds_but_not_beyond_the_timeout() {
        let mut patience = Patience::new(ms(60_000));
        // The grace counts from the first wrong response, and silence in between does not extend it.
        for (probed, now) in [
            (silent("refused"), 0),
            (wrong("starting"), 500),
            (silent("closed"), 2400),
            (wrong("wrong"), 2499),
        ] {
            assert!(matches!(patience.after(probed, ms(now)), Next::Pause(_)));
        }
        let next = patience.after(silent("closed"), ms(2500));
        assert_eq!(next, Next::Wrong("wrong".into()));

        let mut short = Patience::new(ms(1000));
        let next = short.after(wrong("wrong"), ms(900));
        assert!(matches!(next, Next::Pause(_)));
        let next = short.after(wrong("wrong"), ms(1000));
        assert_eq!(next, Next::Wrong("wrong".into()));
    }

    #[test]
    fn a_server_that_says_that_it_is_unavailable_has_until_the_timeout() {
        let mut patience = Patience::new(ms(30_000));
        let unavailable = || Probe::Unavailable("503".to_owned());
        for (probed, now) in [
            (wrong("404"), 100),
            (unavailable(), 2000),
            (unavailable(), 29_000),
            // What follows has its own grace.
            (wrong("404"), 29_500),
            (unavailable(), 29_999),
        ] {
            assert!(matches!(patience.after(probed, ms(now)), Next::Pause(_)));
        }
        let next = patience.after(unavailable(), ms(30_000));
        assert_eq!(next, Next::Wrong("503".into()));
    }
}
