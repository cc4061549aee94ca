//! The queue: arrivals in, responses out when they are due.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::alarm::Alarm;
use super::connection::{Connection, Fate};
use crate::date::Date;
use crate::error::ReferenceError;
use crate::responses::Responses;
use crate::route::Reply;
use crate::script::{Script, Timeline};
use crate::shared::RECEIVE;
use crate::worker::{ACCEPT_AGAIN_MS, EVENTS_A_TURN, LISTENER, next_client};

/// The alarm's number in the event queue; connections have numbers that are never reused.
const ALARM: u64 = u64::MAX - 1;
/// How many responses are sent before looking for arrivals again; many may be due after a freeze.
const RESPONSES_A_TURN: usize = 32;

/// A request that got its response. All times count from the first arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Responded {
    /// When the request had been read.
    pub arrived: Duration,
    /// When its response was due. With several workers, an earlier request of the same connection may take longer; the
    /// response then leaves with that one's.
    pub due: Duration,
    /// Just before the response was sent: no client had it earlier.
    pub send_began: Duration,
    /// When the kernel had the response.
    pub left: Duration,
}

impl Responded {
    /// How late the response left.
    pub fn delay(&self) -> Duration {
        self.left.saturating_sub(self.due)
    }
}

/// All waiting requests, and the connections they came over.
#[derive(Debug)]
pub(super) struct Queue {
    listener: TcpListener,
    responses: Arc<Responses>,
    /// Whether it busy-waits while it has a client.
    spin: bool,
    events: Epoll,
    alarm: Alarm,
    timeline: Timeline,
    has_begun: bool,
    /// By the instants at which their responses leave, then by arrival.
    waiting: BTreeMap<(Duration, u64), Waiting>,
    arrivals: u64,
    connections: HashMap<u64, Connection>,
    next_number: u64,
    accept_again: bool,
    date: Date,
    log: File,
    random: fastrand::Rng,
}

/// A request whose response is not due yet.
#[derive(Debug)]
struct Waiting {
    connection: u64,
    reply: Reply,
    arrived: Duration,
    due: Duration,
}

impl Queue {
    pub(super) fn new(
        listener: TcpListener,
        responses: Arc<Responses>,
        script: &Script,
        spin: bool,
        log: File,
    ) -> Result<Self, ReferenceError> {
        let (events, alarm) = (Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?, Alarm::new()?);
        // Edge-triggered: a client that cannot be accepted must not make the loop spin.
        let arrivals = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        events.add(&listener, EpollEvent::new(arrivals, LISTENER))?;
        events.add(&alarm, EpollEvent::new(EpollFlags::EPOLLIN, ALARM))?;
        Ok(Self {
            timeline: script.timeline(),
            listener,
            responses,
            spin,
            events,
            alarm,
            has_begun: false,
            waiting: BTreeMap::new(),
            arrivals: 0,
            connections: HashMap::new(),
            next_number: 0,
            accept_again: false,
            date: Date::new(SystemTime::now()),
            log,
            random: fastrand::Rng::new(),
        })
    }

    /// Serves until an unrecoverable failure.
    pub(super) fn run(
        mut self,
        mut on_response: impl FnMut(Responded),
    ) -> Result<(), ReferenceError> {
        let mut events = [EpollEvent::empty(); EVENTS_A_TURN];
        let mut buffer = vec![0; RECEIVE];
        loop {
            let timeout = self.prepare_to_wait()?;
            let count = match self.events.wait(&mut events, timeout) {
                Ok(count) => count,
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            self.date.refresh(SystemTime::now());
            let mut accept = self.accept_again;
            for event in &events[..count] {
                match event.data() {
                    LISTENER => accept = true,
                    ALARM => {}
                    number => self.on_event(number, event.events(), &mut buffer)?,
                }
            }
            if accept {
                self.accept_all();
            }
            self.send_due_responses(&mut on_response)?;
        }
    }

    /// Sets the alarm for the next response; returns how long to wait for events.
    fn prepare_to_wait(&mut self) -> Result<EpollTimeout, ReferenceError> {
        if self.spin && !self.connections.is_empty() {
            return Ok(EpollTimeout::ZERO);
        }
        let next = self.waiting.first_key_value();
        self.alarm.set(next.map(|(&(leaves, _), _)| leaves))?;
        Ok(if self.accept_again {
            ACCEPT_AGAIN_MS.into()
        } else {
            EpollTimeout::NONE
        })
    }

    fn on_event(
        &mut self,
        number: u64,
        event: EpollFlags,
        buffer: &mut [u8],
    ) -> Result<(), ReferenceError> {
        let Some(mut connection) = self.connections.remove(&number) else {
            return Ok(());
        };
        let before = interest_in(&connection);
        let mut fate = if event.intersects(EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR) {
            Fate::Over
        } else {
            Fate::Stays
        };
        if fate == Fate::Stays && event.contains(EpollFlags::EPOLLOUT) {
            fate = connection.send(&self.responses);
        }
        if fate == Fate::Stays && event.contains(EpollFlags::EPOLLIN) {
            let mut requests = Vec::new();
            fate = connection.read(buffer, &mut |reply| requests.push(reply));
            for reply in requests {
                self.enqueue(number, &mut connection, reply)?;
            }
        }
        self.put_back(number, connection, before, fate)
    }

    /// Enqueues a request, even if its connection has ended: it was read, so it takes its time.
    fn enqueue(
        &mut self,
        number: u64,
        connection: &mut Connection,
        reply: Reply,
    ) -> Result<(), ReferenceError> {
        let arrived = if self.has_begun {
            self.alarm.now()?
        } else {
            self.has_begun = true;
            self.alarm.restart()?;
            Duration::ZERO
        };
        let due = self.timeline.response_due(arrived);
        let leaves = connection.leaves_after_those_before(due);
        self.arrivals += 1;
        let request = Waiting {
            connection: number,
            reply,
            arrived,
            due,
        };
        self.waiting.insert((leaves, self.arrivals), request);
        Ok(())
    }

    fn send_due_responses(
        &mut self,
        on_response: &mut impl FnMut(Responded),
    ) -> Result<(), ReferenceError> {
        for _ in 0..RESPONSES_A_TURN {
            let now = self.alarm.now()?;
            let Some(next) = self.waiting.first_entry() else {
                break;
            };
            if next.key().0 > now {
                break;
            }
            let request = next.remove();
            if self.respond(&request)? {
                on_response(Responded {
                    arrived: request.arrived,
                    due: request.due,
                    send_began: now,
                    left: self.alarm.now()?,
                });
            }
        }
        Ok(())
    }

    /// Sends a response, unless the client is gone; returns whether it was sent.
    fn respond(&mut self, request: &Waiting) -> Result<bool, ReferenceError> {
        let Some(mut connection) = self.connections.remove(&request.connection) else {
            return Ok(false);
        };
        if let Some((method, path)) = request.reply.log_line() {
            writeln!(self.log, "{method} {path}").map_err(ReferenceError::Log)?;
        }
        let before = interest_in(&connection);
        let (responses, random) = (&self.responses, &mut self.random);
        let fate = connection.respond(request.reply, responses, &self.date, random);
        self.put_back(request.connection, connection, before, fate)?;
        Ok(true)
    }

    fn put_back(
        &mut self,
        number: u64,
        connection: Connection,
        before: EpollFlags,
        fate: Fate,
    ) -> Result<(), ReferenceError> {
        if fate == Fate::Over {
            return Ok(());
        }
        let interest = interest_in(&connection);
        if interest != before {
            let mut event = EpollEvent::new(interest, number);
            self.events.modify(connection.socket(), &mut event)?;
        }
        self.connections.insert(number, connection);
        Ok(())
    }

    fn accept_all(&mut self) {
        self.accept_again = loop {
            match next_client(&self.listener) {
                Ok(Some(client)) => self.add(Connection::new(client)),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
    }

    /// Adds a connection; if the event queue has no room for it, it is closed.
    fn add(&mut self, connection: Connection) {
        let number = self.next_number;
        self.next_number += 1;
        let event = EpollEvent::new(interest_in(&connection), number);
        if self.events.add(connection.socket(), event).is_ok() {
            self.connections.insert(number, connection);
        }
    }
}

fn interest_in(connection: &Connection) -> EpollFlags {
    let mut interest = EpollFlags::empty();
    interest.set(EpollFlags::EPOLLIN, connection.wants_input());
    interest.set(EpollFlags::EPOLLOUT, connection.is_blocked());
    interest
}
