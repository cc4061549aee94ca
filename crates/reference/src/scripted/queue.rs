//! The queue: arrivals in, responses out when they are due.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::Responded;
use super::alarm::Alarm;
use super::connection::{Connection, Fate};
use crate::ReferenceError;
use crate::date::Date;
use crate::responses::{Reply, Responses};
use crate::script::{Script, Timeline};

/// The marks of the listener and the alarm; connections have numbers that never come again.
const LISTENER: u64 = u64::MAX;
const ALARM: u64 = u64::MAX - 1;
const EVENTS_A_TURN: usize = 256;
/// Responses that are sent before arrivals are looked for again, which may be many after a freeze.
const RESPONSES_A_TURN: usize = 32;
/// Received at once, in bytes.
const RECEIVE: usize = 64 * 1024;
/// How long to leave off accepting where the system had no room for one more connection.
const ACCEPT_AGAIN_MS: u16 = 100;

/// All requests that wait, and the connections they came over.
#[derive(Debug)]
pub struct Queue {
    listener: TcpListener,
    events: Epoll,
    alarm: Alarm,
    timeline: Timeline,
    has_begun: bool,
    /// By the instants at which their responses leave; of the same instant in the order of their arrival.
    waiting: BTreeMap<(Duration, u64), Waiting>,
    arrivals: u64,
    connections: HashMap<u64, Connection>,
    next_number: u64,
    accept_again: bool,
    /// Busy-wait for events and instants, while there is a client.
    spin: bool,
    responses: Arc<Responses>,
    date: Date,
    log: File,
    random: fastrand::Rng,
}

/// A request that waits for the instant of its response.
#[derive(Debug)]
struct Waiting {
    connection: u64,
    reply: Reply,
    arrived: Duration,
    due: Duration,
}

impl Queue {
    /// `listener` must not block.
    pub fn new(
        listener: TcpListener,
        responses: Arc<Responses>,
        date: Date,
        log: File,
        script: Script,
        spin: bool,
    ) -> Result<Self, ReferenceError> {
        let (events, alarm) = (Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?, Alarm::new()?);
        // Edge-triggered, so that a client that cannot be accepted does not make the loop spin.
        let arrivals = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        events.add(&listener, EpollEvent::new(arrivals, LISTENER))?;
        events.add(&alarm, EpollEvent::new(EpollFlags::EPOLLIN, ALARM))?;
        Ok(Self {
            listener,
            events,
            alarm,
            timeline: script.timeline(),
            has_begun: false,
            waiting: BTreeMap::new(),
            arrivals: 0,
            connections: HashMap::new(),
            next_number: 0,
            accept_again: false,
            spin,
            responses,
            date,
            log,
            random: fastrand::Rng::new(),
        })
    }

    /// Serves until something fails that leaves no way to go on.
    pub fn run(mut self, mut on_response: impl FnMut(Responded)) -> Result<(), ReferenceError> {
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
            self.response_what_is_due(&mut on_response)?;
        }
    }

    /// Sets the alarm for the next instant. How long to wait for events.
    fn prepare_to_wait(&mut self) -> Result<EpollTimeout, ReferenceError> {
        if self.spin && !self.connections.is_empty() {
            return Ok(EpollTimeout::ZERO);
        }
        let next = self.waiting.first_key_value();
        self.alarm.set(next.map(|(&(leaves, _), _)| leaves))?;
        Ok(match self.accept_again {
            true => ACCEPT_AGAIN_MS.into(),
            false => EpollTimeout::NONE,
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
        let mut fate = match event.intersects(EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR) {
            true => Fate::Over,
            false => Fate::Stays,
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

    /// What was read before its connection ended has arrived all the same: it takes its time.
    fn enqueue(
        &mut self,
        number: u64,
        connection: &mut Connection,
        reply: Reply,
    ) -> Result<(), ReferenceError> {
        let arrived = match self.has_begun {
            true => self.alarm.now()?,
            false => {
                self.has_begun = true;
                self.alarm.restart()?;
                Duration::ZERO
            }
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

    fn response_what_is_due(
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
            if self.response(&request)? {
                on_response(Responded {
                    arrived: request.arrived,
                    due: request.due,
                    left: self.alarm.now()?,
                });
            }
        }
        Ok(())
    }

    /// Whether there was still somebody to respond.
    fn response(&mut self, request: &Waiting) -> Result<bool, ReferenceError> {
        let Some(mut connection) = self.connections.remove(&request.connection) else {
            return Ok(false);
        };
        if let Some((method, path)) = request.reply.log_line() {
            writeln!(self.log, "{method} {path}").map_err(ReferenceError::Log)?;
        }
        let before = interest_in(&connection);
        let fate =
            connection.response(request.reply, &self.responses, &self.date, &mut self.random);
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
        self.accept_again = false;
        loop {
            match self.listener.accept() {
                Ok((socket, _)) => self.add(Connection::new(socket)),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return,
                    io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted => {}
                    _ => {
                        self.accept_again = true;
                        return;
                    }
                },
            }
        }
    }

    /// A connection that the system has no room for is closed again.
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
