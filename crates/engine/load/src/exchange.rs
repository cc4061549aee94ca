//! Single requests and their whole responses, for verification: no load, no measurement.

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use prony_kernel::tcp_info;
use prony_model::Outcome;
use prony_traffic::{
    Collect, FlowShare, HttpVersion, Rejection, Reply, RequestError, Response, ScenarioRequest,
    Sending, Traffic, Turn, User, excerpt,
};
use socket2::Socket;

use crate::engine::{Mode, socket_for};
use crate::request::{EncodedRequests, EncodedTraffic};
use crate::target::Endpoint;
use crate::tls::TlsClient;
use crate::wire::h1::{H1Wire, Ignore};
use crate::wire::h2::H2Wire;
use crate::wire::tls::Channel;
use crate::wire::{Eaten, End, Fault, OnClose, Responses, Which, Wire};

/// Why there was no whole response.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    #[error("cannot connect to {endpoint}: {source}")]
    Connect {
        endpoint: Endpoint,
        source: io::Error,
    },
    #[error("the connection failed ({source}) {received}")]
    Io {
        source: io::Error,
        received: Received,
    },
    #[error("{}{}", introduction(.0), .0)]
    Fault(#[from] Fault),
    #[error("{0}")]
    Unprocessed(Fault),
    #[error("{0}")]
    Unsent(String),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("the server closed the connection {0}")]
    Closed(Received),
    #[error("timed out after {timeout:?} {received}")]
    TimedOut {
        timeout: Duration,
        received: Received,
    },
}

/// How much of a response arrived before it was cut short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// Not even the end of the TLS handshake.
    PartOfHandshake,
    Nothing,
    PartOfHead,
    /// The head and the start of the body.
    Head {
        status: u16,
        /// The start of the body.
        body: Vec<u8>,
    },
}

impl Received {
    fn of(partial: Collect, wire: &mut dyn Wire) -> Self {
        match partial.into_response() {
            response if response.status != 0 => Self::Head {
                status: response.status,
                body: response.body,
            },
            _ if !wire.is_ready() => Self::PartOfHandshake,
            _ if wire.close() == OnClose::Truncated => Self::PartOfHead,
            _ => Self::Nothing,
        }
    }
}

impl fmt::Display for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PartOfHandshake => f.write_str("during the TLS handshake"),
            Self::Nothing => f.write_str("before any byte of a response"),
            Self::PartOfHead => f.write_str("in the middle of the response's head"),
            Self::Head { status, body } => write!(
                f,
                "in the middle of a response with status {status}, after {} bytes of its body: {}",
                body.len(),
                excerpt(body, 0)
            ),
        }
    }
}

/// Sends the first request of `traffic` over a new connection, encrypted with `tls` if given, and reads the whole
/// response.
pub fn exchange(
    endpoint: &Endpoint,
    traffic: &Traffic,
    tls: Option<&TlsClient>,
    timeout: Duration,
) -> Result<Response, ExchangeError> {
    let sent = EncodedTraffic::of(traffic)?;
    Conversation::new(endpoint, &sent, tls, timeout).request()
}

/// Lets the server choose one of the versions of HTTP that `tls` offers; one that does not choose speaks HTTP/1.1.
///
/// # Errors
///
/// If there is no connection, or the handshake fails.
pub fn negotiate(
    endpoint: &Endpoint,
    tls: &TlsClient,
    timeout: Duration,
) -> Result<HttpVersion, ExchangeError> {
    let mut link = Link::connect(endpoint, timeout)?;
    let mut channel = Channel::new(Silence, tls, None);
    channel.open();
    if let Some(fault) = channel.fault() {
        return Err(fault.into());
    }
    loop {
        let received = match link.turn(&mut channel) {
            Ok(0) => {
                return Err(match channel.close() {
                    OnClose::Failed(fault) => fault.into(),
                    _ => ExchangeError::Closed(Received::PartOfHandshake),
                });
            }
            Ok(_) => channel.eat(link.received(), &mut Ignore),
            Err(error) => return Err(link.error(error, Received::PartOfHandshake)),
        };
        if let Some(handshake) = channel.handshake() {
            return Ok(handshake.agreement.http.unwrap_or(HttpVersion::Http1));
        }
        if let Err(fault) = received {
            link.tell(&mut channel);
            return Err(fault.into());
        }
    }
}

/// Why a flow did not reach its end.
#[derive(Debug, thiserror::Error)]
pub enum FlowFault {
    /// The user stopped it, or the time is up.
    #[error("the flow took too long")]
    Unfinished,
    #[error("{0}")]
    NoRequest(String),
    #[error("{error}")]
    Exchange {
        /// The name of the request.
        entry: String,
        error: ExchangeError,
    },
    #[error("{}", rejection.detail)]
    Rejected {
        /// The name of the request.
        entry: String,
        status: u16,
        rejection: Rejection,
    },
}

/// How often a pause in a flow looks whether the user stopped it.
const LOOK: Duration = Duration::from_millis(20);

/// Sends requests, over one connection for as long as the server keeps it open.
pub struct Conversation<'a> {
    endpoint: Endpoint,
    timeout: Duration,
    wire: Box<dyn Wire + 'a>,
    traffic: &'a Traffic,
    /// Who sends the requests of a scenario; without one it is the same request each time.
    user: Option<Box<User<'a>>>,
    link: Option<Link>,
    connections: u64,
    /// What the last response took.
    received: Option<Arrived>,
}

/// What arrived over TCP for one response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) bytes: u64,
    pub(crate) segments: u64,
}

impl<'a> Conversation<'a> {
    /// With the first request each time, or with those of a user. Does not connect yet. `timeout` is for each response.
    pub fn new(
        endpoint: &Endpoint,
        sent: &'a EncodedTraffic<'a>,
        tls: Option<&TlsClient>,
        timeout: Duration,
    ) -> Self {
        let wire = match &sent.requests {
            EncodedRequests::Http1(requests) => {
                over(H1Wire::new(requests, false), tls, HttpVersion::Http1)
            }
            EncodedRequests::Http2(requests) => {
                over(H2Wire::new(requests, false), tls, HttpVersion::Http2)
            }
        };
        let traffic = &*sent.traffic;
        let scenario = traffic.scenario();
        Self {
            endpoint: endpoint.clone(),
            timeout,
            wire,
            traffic,
            user: scenario.map(|scenario| scenario.user(0, FlowShare::ALL).into()),
            link: None,
            connections: 0,
            received: None,
        }
    }

    /// How many connections were opened: more than one if the server closed one after a response, or did not process a
    /// request.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    /// What arrived over TCP from when the last request was sent until its response was whole; `None` if there was no
    /// response, or the kernel does not count this.
    pub(crate) fn arrived(&self) -> Option<Arrived> {
        self.received
    }

    /// Sends the first request of the set, or of the user's next flow, and reads the whole response. If the server closed
    /// the connection after the last response, or has certainly not processed the request, the request goes once more,
    /// over a new one.
    ///
    /// # Errors
    ///
    /// If no whole response arrives; the next request goes over a new connection.
    pub fn request(&mut self) -> Result<Response, ExchangeError> {
        let mut sending = None;
        if let Some(user) = &mut self.user {
            user.begin();
            sending = match user.next_turn() {
                Turn::Send(sending) => Some(sending),
                Turn::End => return Err(ExchangeError::Unsent("the flow has no request".into())),
                Turn::Fail(reason) => return Err(ExchangeError::Unsent(reason)),
            };
        }
        let (collect, took) = self.send(sending.as_ref())?;
        // What its user expects matters in a flow.
        let _ = self.respond(&collect, took);
        Ok(collect.into_response())
    }

    /// Goes through the next flow of the user, and returns how many requests it had. The responses must be as the user
    /// expects. Ends early if `stop` is set.
    ///
    /// # Errors
    ///
    /// If a response is missing or wrong, or the flow does not end by `until`.
    pub fn flow(&mut self, until: Instant, stop: &AtomicBool) -> Result<usize, FlowFault> {
        let mut requests = 0;
        if let Some(user) = &mut self.user {
            user.begin();
        }
        loop {
            let sending = match self.user.as_mut().map(|user| user.next_turn()) {
                Some(Turn::Send(sending)) => sending,
                Some(Turn::End) => return Ok(requests),
                Some(Turn::Fail(reason)) => return Err(FlowFault::NoRequest(reason)),
                None => return Err(FlowFault::NoRequest("only a scenario has flows".into())),
            };
            let traffic = self.traffic;
            let name = || traffic.names().swap_remove(sending.entry);
            if !pause(sending.pause, until, stop) {
                return Err(FlowFault::Unfinished);
            }
            let sent = self.send(Some(&sending));
            let (collect, took) = sent.map_err(|error| FlowFault::Exchange {
                entry: name(),
                error,
            })?;
            requests += 1;
            let taken = self.respond(&collect, took);
            taken.map_err(|rejection| FlowFault::Rejected {
                entry: name(),
                status: collect.status(),
                rejection,
            })?;
        }
    }

    /// Sends a request and reads the whole response, and how long that took.
    fn send(&mut self, sending: Option<&Sending>) -> Result<(Collect, Duration), ExchangeError> {
        self.received = None;
        let of_entry = sending.and_then(|sending| sending.timeout);
        let timeout = of_entry.map_or(self.timeout, |timeout| timeout.min(self.timeout));
        let is_idempotent = self
            .traffic
            .is_idempotent(sending.map_or(0, |sending| sending.entry));
        let kept = self.link.take().filter(|_| !self.wire.is_finished());
        let is_kept = kept.is_some();
        let mut link = match kept {
            Some(mut link) => {
                link.restart(timeout);
                link
            }
            None => self.connect(timeout)?,
        };
        let begun = Instant::now();
        let mut result = self.converse(&mut link);
        if let Err(error) = &result
            && self.may_repeat(error, is_kept && is_idempotent)
        {
            link = self.connect(link.left())?;
            result = self.converse(&mut link);
        }
        let (collect, stays_open) = result?;
        self.received = link.arrived();
        self.link = stays_open.then_some(link);
        Ok((collect, begun.elapsed()))
    }

    /// Whether the request may be sent once more, if the exchange failed with `error`; `is_harmless` if the connection was
    /// a kept one, and the server may process the request twice.
    fn may_repeat(&mut self, error: &ExchangeError, is_harmless: bool) -> bool {
        match error {
            ExchangeError::Unprocessed(_) => true,
            _ if !(is_harmless && is_close(error)) => false,
            _ => self.wire.close() == OnClose::BeforeResponse,
        }
    }

    fn connect(&mut self, timeout: Duration) -> Result<Link, ExchangeError> {
        let link = Link::connect(&self.endpoint, timeout)?;
        self.wire.open();
        self.connections += 1;
        Ok(link)
    }

    /// The user takes a response.
    fn respond(&mut self, collect: &Collect, took: Duration) -> Result<(), Rejection> {
        let Some(user) = &mut self.user else {
            return Ok(());
        };
        user.respond(&Reply {
            status: collect.status(),
            http: self.traffic.http(),
            kept: Some(collect),
            duration: took,
            server: self.endpoint.ip(),
        })
    }

    /// One request and its response, and whether the connection may be reused.
    fn converse(&mut self, link: &mut Link) -> Result<(Collect, bool), ExchangeError> {
        let wire = &mut *self.wire;
        let mut collect = Collect::default();
        let mut is_requested = false;
        loop {
            if !is_requested && wire.is_ready() && wire.room() > 0 {
                match &self.user {
                    Some(user) => wire.request_own(user.request(), false),
                    None => wire.request(Which::default()),
                }
                is_requested = true;
                link.received_before = link.received_so_far();
            }
            if !is_requested && let Some(fault) = wire.farewell() {
                link.tell(wire);
                return Err(ExchangeError::Unprocessed(fault));
            }
            if link.received().is_empty() && !wire.has_more() {
                match link.turn(wire) {
                    Ok(0) => return closed(wire, collect),
                    Ok(_) => {}
                    Err(error) => return Err(link.error(error, Received::of(collect, wire))),
                }
            }
            let eaten = wire.eat(link.received(), &mut collect);
            link.eaten += eaten.as_ref().map_or(0, |eaten| eaten.bytes);
            match eaten.map(|eaten| eaten.ended.map(|ended| ended.end)) {
                Ok(None) if wire.is_closed() => {
                    link.tell(wire);
                    return closed(wire, collect);
                }
                Ok(None) => {}
                Ok(Some(End::Whole(whole))) => {
                    return Ok((collect, whole.keep_alive));
                }
                Ok(Some(End::Unprocessed(fault))) => {
                    link.tell(wire);
                    return Err(ExchangeError::Unprocessed(fault));
                }
                Ok(Some(End::Failed(fault))) | Err(fault) => {
                    link.tell(wire);
                    return Err(fault.into());
                }
            }
        }
    }
}

/// Waits; `false` if `stop` is set or the time is up.
fn pause(pause: Duration, until: Instant, stop: &AtomicBool) -> bool {
    let end = Instant::now() + pause;
    loop {
        let now = Instant::now();
        if stop.load(Relaxed) || now >= until {
            return false;
        }
        if now >= end {
            return true;
        }
        thread::sleep(LOOK.min(end - now));
    }
}

/// What has arrived when the server closes the connection.
fn closed(wire: &mut dyn Wire, collect: Collect) -> Result<(Collect, bool), ExchangeError> {
    match wire.close() {
        OnClose::Whole(_) => Ok((collect, false)),
        OnClose::Failed(fault) => Err(fault.into()),
        OnClose::BeforeResponse | OnClose::Truncated => {
            Err(ExchangeError::Closed(Received::of(collect, wire)))
        }
    }
}

/// The wire itself, or TLS around it.
fn over<'a>(
    wire: impl Wire + 'a,
    tls: Option<&TlsClient>,
    http: HttpVersion,
) -> Box<dyn Wire + 'a> {
    match tls {
        None => Box::new(wire),
        Some(tls) => Box::new(Channel::new(wire, tls, Some(http))),
    }
}

/// A connected socket, for a limited time.
struct Link {
    socket: Socket,
    timeout: Duration,
    until: Instant,
    buffer: Vec<u8>,
    /// How many bytes of the buffer the last turn received.
    received: usize,
    /// How many of these a wire has eaten: it stops at the end of a response.
    eaten: usize,
    /// What had arrived before the last request was sent.
    received_before: Option<Arrived>,
}

impl Link {
    fn connect(endpoint: &Endpoint, timeout: Duration) -> Result<Self, ExchangeError> {
        let no_connection = |source| ExchangeError::Connect {
            endpoint: endpoint.clone(),
            source,
        };
        let (socket, address) =
            socket_for(endpoint, None, Mode::Blocking).map_err(no_connection)?;
        socket
            .connect_timeout(&address, timeout)
            .and_then(|()| socket.set_write_timeout(Some(timeout)))
            .map_err(no_connection)?;
        Ok(Self {
            socket,
            timeout,
            until: Instant::now() + timeout,
            buffer: vec![0; 64 * 1024],
            received: 0,
            eaten: 0,
            received_before: None,
        })
    }

    /// What the kernel has received so far; `None` if it does not count that.
    fn received_so_far(&self) -> Option<Arrived> {
        let info = tcp_info(&self.socket).ok()?;
        Some(Arrived {
            bytes: info.bytes_received?,
            segments: info.data_segments_in?.into(),
        })
    }

    /// What has arrived since the last request was sent.
    fn arrived(&self) -> Option<Arrived> {
        let (before, now) = (self.received_before?, self.received_so_far()?);
        Some(Arrived {
            bytes: now.bytes - before.bytes,
            // The kernel's counter has 32 bits.
            segments: u64::from((now.segments as u32).wrapping_sub(before.segments as u32)),
        })
    }

    /// Starts the time for another response.
    fn restart(&mut self, timeout: Duration) {
        (self.timeout, self.until) = (timeout, Instant::now() + timeout);
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Sends what the wire has to send, and waits for bytes from the server. Returns how many there are; 0 if the
    /// server closed the connection.
    fn turn(&mut self, wire: &mut dyn Wire) -> io::Result<usize> {
        loop {
            let left = self.left();
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.send(wire)?;
            self.socket.set_read_timeout(Some(left))?;
            match self.socket.read(&mut self.buffer) {
                Err(error) if is_transient(&error) => {}
                result => {
                    self.received = *result.as_ref().unwrap_or(&0);
                    self.eaten = 0;
                    return result;
                }
            }
        }
    }

    /// What the last turn received and nobody has eaten.
    fn received(&self) -> &[u8] {
        &self.buffer[self.eaten..self.received]
    }

    fn send(&mut self, wire: &mut dyn Wire) -> io::Result<()> {
        loop {
            let unsent = wire.unsent();
            if unsent.is_empty() {
                return Ok(());
            }
            let length = self.socket.write(unsent)?;
            wire.sent(length);
        }
    }

    /// Tells the server why the connection ends, if the wire has something to say. Whether it arrives makes no
    /// difference here.
    fn tell(&mut self, wire: &mut dyn Wire) {
        let _ = self.send(wire);
    }

    fn error(&self, source: io::Error, received: Received) -> ExchangeError {
        match source.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => ExchangeError::TimedOut {
                timeout: self.timeout,
                received,
            },
            _ => ExchangeError::Io { source, received },
        }
    }
}

/// A wire that sends nothing, and takes whatever arrives.
struct Silence;

impl Wire for Silence {
    fn open(&mut self) {}

    fn request(&mut self, _: Which) {}

    fn request_own(&mut self, _: &ScenarioRequest, _: bool) {}

    fn unsent(&mut self) -> &[u8] {
        &[]
    }

    fn sent(&mut self, _: usize) {}

    fn eat(&mut self, bytes: &[u8], _: &mut dyn Responses) -> Result<Eaten, Fault> {
        Ok(Eaten {
            bytes: bytes.len(),
            ended: None,
        })
    }

    fn close(&mut self) -> OnClose {
        OnClose::BeforeResponse
    }
}

/// What to say before a fault that does not say it itself.
fn introduction(fault: &Fault) -> &'static str {
    match fault.outcome() {
        Outcome::Malformed => "malformed response: ",
        _ => "",
    }
}

/// Whether the server closed the connection.
fn is_close(error: &ExchangeError) -> bool {
    match error {
        ExchangeError::Closed(_) => true,
        ExchangeError::Io { source, .. } => matches!(
            source.kind(),
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
        ),
        _ => false,
    }
}

/// A signal, or the read timeout, which the caller checks itself.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
